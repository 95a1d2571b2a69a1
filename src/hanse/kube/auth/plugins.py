"""Credentials from a command: the client.authentication.k8s.io protocol.

A plugin runs without a terminal, one run at a time, with a deadline; what it writes on standard error is thrown away,
because nobody can tell whether a secret is in it. Its answer is kept until it expires or a server refuses it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from typing import Any

import orjson

from hanse.kube.auth.certificates import check_key_pair
from hanse.kube.auth.credentials import Credential, CredentialsError
from hanse.kube.auth.endpoint import Endpoint, ExecPlugin
from hanse.kube.auth.shared_run import SharedRun
from hanse.kube.runtime import Runtime, parse_timestamp

PLUGIN_SECONDS = 30.0
# A refusal may make a plugin run again, but not one run for every request of a user whom the server never accepts.
_RENEWAL_SECONDS = 10.0
_FAILURE_SECONDS = 5.0
_OUTPUT_BYTES = 1024 * 1024


class PluginCredentials:
    """What an exec plugin printed, for as long as that holds."""

    def __init__(
        self, endpoint: Endpoint, plugin: ExecPlugin, runtime: Runtime, *, seconds: float = PLUGIN_SECONDS
    ) -> None:
        self._plugin = plugin
        self._name = endpoint.origin.user_field("exec")
        self._runtime = runtime
        self._seconds = seconds
        self._held: Credential | None = None
        self._expires: float | None = None
        self._renewable = 0.0
        self._failure = ""
        self._failed_until = 0.0
        self._run = SharedRun(self._ask)

    async def current(self) -> Credential:
        """Return the plugin's credential, running it where there is none that holds."""
        if self._held is not None and (self._expires is None or self._runtime.now() < self._expires):
            return self._held
        return await self._obtain()

    async def renewed(self, refused: Credential) -> Credential | None:
        """Run the plugin again, unless that has just been done; None where it has nothing else to show."""
        if self._held is None or self._held == refused:
            if not self._run.running and self._runtime.monotonic() < self._renewable:
                return None
            self._renewable = self._runtime.monotonic() + _RENEWAL_SECONDS
            await self._obtain()
        return self._held if self._held != refused else None

    def pending(self) -> str:
        """Say that the plugin has not answered yet, if it is running."""
        if not self._run.running:
            return ""
        return self._sentence("has not answered yet; run it by hand to see what it waits for")

    async def close(self) -> None:
        """End the plugin if it is running."""
        await self._run.close()

    async def _obtain(self) -> Credential:
        if not self._run.running and self._runtime.monotonic() < self._failed_until:
            raise CredentialsError(self._failure)
        return await self._run.result()

    async def _ask(self) -> Credential:
        try:
            output = await self._output()
            try:
                credential, self._expires = read_exec_credential(output, self._plugin.api_version)
            except ValueError as error:
                raise CredentialsError(self._sentence(str(error))) from error
        except CredentialsError as error:
            self._failure = str(error)
            self._failed_until = self._runtime.monotonic() + _FAILURE_SECONDS
            raise
        what = f"what the plugin {self._plugin.command} of {self._name} printed"
        self._held = Credential(what, "sign in again with the tool that it belongs to", **credential)
        return self._held

    async def _output(self) -> bytes:
        plugin, loop = self._plugin, asyncio.get_running_loop()
        try:
            process, printed = await loop.subprocess_exec(
                _Printed,
                plugin.command,
                *plugin.arguments,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=DEVNULL,
                env={**os.environ, **dict(plugin.environment), "KUBERNETES_EXEC_INFO": exec_info(plugin)},
                # A group of its own, so that what the plugin started ends with it.
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise CredentialsError(self._sentence(f"was not found; {plugin.install_hint or 'install it'}")) from error
        except OSError as error:
            raise CredentialsError(self._sentence(f"cannot be run: {error.strerror}")) from error
        try:
            async with asyncio.timeout(self._seconds):
                await printed.complete.wait()
        except TimeoutError as error:
            why = f"did not answer within {self._seconds:g} s; run it by hand to see what it waits for"
            raise CredentialsError(self._sentence(why)) from error
        finally:
            await _end(process, printed)
        if len(printed.output) > _OUTPUT_BYTES:
            raise CredentialsError(
                self._sentence(f"printed more than {_OUTPUT_BYTES} bytes, which is no ExecCredential")
            )
        if code := process.get_returncode():
            raise CredentialsError(self._sentence(f"ended with code {code}; run it by hand to see why"))
        return bytes(printed.output)

    def _sentence(self, why: str) -> str:
        return f"{self._name}: the plugin {self._plugin.command} {why}"


def exec_info(plugin: ExecPlugin) -> str:
    """Return what a plugin is told in KUBERNETES_EXEC_INFO."""
    spec: dict[str, Any] = {"interactive": False}
    if plugin.cluster_info:
        spec["cluster"] = orjson.loads(plugin.cluster_info)
    info = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
    return orjson.dumps(info).decode()


def read_exec_credential(output: bytes, api_version: str) -> tuple[dict[str, Any], float | None]:
    """Read what a plugin printed: the fields of a Credential, and when they expire; None for never.

    Raises ValueError with the end of a sentence that begins with the plugin's name, and never quotes the output.
    """
    status = _status(output, api_version)
    token, certificate, key = (_secret(status, name) for name in ("token", "clientCertificateData", "clientKeyData"))
    if bool(certificate) != bool(key):
        raise ValueError("printed a certificate or a key, but not both")
    if not token and not certificate:
        raise ValueError("printed neither a token nor a client certificate")
    if not token.isprintable():
        raise ValueError("printed a token with a line break in it")
    if certificate:
        try:
            check_key_pair(certificate.encode(), key.encode())
        except ValueError as error:
            raise ValueError(f"printed a client certificate that cannot be used: it {error}") from error
    credential = {
        "authorization": f"Bearer {token}" if token else "",
        "certificate": certificate.encode() or None,
        "key": key.encode() or None,
    }
    return credential, _expiration(status)


def _status(output: bytes, api_version: str) -> dict[str, Any]:
    try:
        printed = orjson.loads(output)
    except orjson.JSONDecodeError:
        # Not chained: the decoder's error holds the document, and with it perhaps a token.
        raise ValueError(
            f"printed something that is not JSON; it must print an ExecCredential of {api_version}"
        ) from None
    if not isinstance(printed, dict) or printed.get("kind") != "ExecCredential":
        raise ValueError(f"printed something else than an ExecCredential of {api_version}")
    if printed.get("apiVersion") != api_version:
        raise ValueError(
            f"printed apiVersion {str(printed.get('apiVersion'))[:80]!r} where {api_version} was asked for"
        )
    status = printed.get("status")
    if not isinstance(status, dict):
        raise ValueError("printed an ExecCredential without status")  # noqa: TRY004 - the plugin's fault, not a caller's
    return status


def _secret(status: dict[str, Any], name: str) -> str:
    value = status.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"printed a status.{name} that is not a string")
    return value or ""


def _expiration(status: dict[str, Any]) -> float | None:
    text = status.get("expirationTimestamp")
    if text is None:
        return None
    try:
        return parse_timestamp(text)
    except (TypeError, ValueError):
        raise ValueError("printed a status.expirationTimestamp that is not a time") from None


class _Printed(asyncio.SubprocessProtocol):
    """What a plugin prints, and when there is no more to wait for."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.complete = asyncio.Event()
        self.exited = asyncio.Event()
        self.orderly = False

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.output += data
        if len(self.output) > _OUTPUT_BYTES:
            self.complete.set()

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.orderly = not self.complete.is_set()
        self.complete.set()


async def _end(process: asyncio.SubprocessTransport, printed: _Printed) -> None:
    # One that ended by itself may leave an agent of its own behind.
    if not printed.orderly:
        _kill(process.get_pid())
    # Closed rather than drained: somebody outside the group may hold the pipe open for ever.
    process.close()
    await printed.exited.wait()


def _kill(group: int) -> None:
    # The group may outlive its leader; once it is empty there is nothing to kill.
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
