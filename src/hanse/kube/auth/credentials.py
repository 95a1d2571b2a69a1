"""What is shown to an API server, kept fresh while the process runs.

Tokens in files are replaced under us, and plugins hand out credentials that expire. A transport asks for the present
`Credential` before each request, and once more after a 401; everything else is decided here.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hanse.kube.auth.endpoint import Endpoint, Impersonation
from hanse.kube.auth.shared_run import SharedRun
from hanse.kube.runtime import Runtime

# The kubelet replaces a projected token minutes before the old one ends.
TOKEN_FILE_SECONDS = 10.0

# What a header's name may hold (RFC 9110, token), without the percent sign that escapes the rest.
_HEADER_NAME = frozenset(b"!#$&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


class CredentialsError(Exception):
    """There is nothing to show to the server now, said in one sentence."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What one request shows to the server; `what` names it and `remedy` says what to do when it is refused."""

    what: str
    remedy: str
    authorization: str = field(default="", repr=False)
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)


class Credentials(Protocol):
    """Where the credential of the next request comes from."""

    async def current(self) -> Credential:
        """Return what to show now; raises CredentialsError."""

    async def renewed(self, refused: Credential) -> Credential | None:
        """Return what to show instead of what the server refused; None where there is nothing else to show."""

    def pending(self) -> str:
        """Say what is being waited for; "" where nothing is."""

    async def close(self) -> None:
        """End whatever is under way."""


class FixedCredentials:
    """Credentials that never change."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def current(self) -> Credential:
        """Return the one there is."""
        return self._credential

    async def renewed(self, refused: Credential) -> Credential | None:
        """Return None: there is no other."""
        return None

    def pending(self) -> str:
        """Return "": nothing is ever waited for."""
        return ""

    async def close(self) -> None:
        """Do nothing."""


class TokenFileCredentials:
    """A bearer token in a file that somebody else replaces."""

    def __init__(self, endpoint: Endpoint, runtime: Runtime) -> None:
        self._path = Path(endpoint.token_file)
        self._name = endpoint.origin.user_field("tokenFile")
        self._runtime = runtime
        self._look = SharedRun(self._read)
        self._due = 0.0
        self._pair = endpoint.client_certificate, endpoint.client_key
        # A token beside the file counts until the file has been read once, as in kubectl.
        self._held = self._credential(endpoint.token) if endpoint.token else None

    async def current(self) -> Credential:
        """Return the token, read again where the last look is a while ago."""
        # While one request looks, the others go on with what is known: a slow disk must not stop them.
        if self._held is not None and (self._look.running or self._runtime.monotonic() < self._due):
            return self._held
        return await self._look.result()

    async def renewed(self, refused: Credential) -> Credential | None:
        """Look into the file at once; None where it still holds what was refused."""
        if self._held == refused:
            await self._look.result()
        return self._held if self._held != refused else None

    def pending(self) -> str:
        """Say that the file is being read, if it is."""
        return f"{self._name}: {self._path} cannot be read: its disk does not answer" if self._look.running else ""

    async def close(self) -> None:
        """Wait for the file no longer."""
        await self._look.close()

    async def _read(self) -> Credential:
        self._due = self._runtime.monotonic() + TOKEN_FILE_SECONDS
        try:
            token = (await self._runtime.in_thread(self._path.read_bytes)).decode("ascii").strip()
        except OSError as error:
            return self._last_known(f"cannot be read: {error.strerror}", error)
        except UnicodeDecodeError as error:
            return self._last_known("does not hold a token", error)
        if not token or not token.isprintable():
            return self._last_known("does not hold a token" if token else "is empty")
        self._held = self._credential(token)
        return self._held

    def _last_known(self, why: str, cause: Exception | None = None) -> Credential:
        # The file may be away for the moment of its replacement; an old token shows itself by a 401.
        if self._held is None:
            raise CredentialsError(f"{self._name}: {self._path} {why}; write a token there") from cause
        return self._held

    def _credential(self, token: str) -> Credential:
        remedy = "see why nobody renews that file"
        return Credential(f"the token in {self._path}", remedy, f"Bearer {token}", *self._pair)


def fixed_credential(endpoint: Endpoint) -> Credential | None:
    """Return what an endpoint's own fields show to the server; None where they hold nothing."""
    origin, certificate, key = endpoint.origin, endpoint.client_certificate, endpoint.client_key
    if endpoint.token:
        what, remedy = f"the token in {origin.user_field('token')}", "put one there that is valid for this cluster"
        return Credential(what, remedy, f"Bearer {endpoint.token}", certificate, key)
    if endpoint.username:
        pair = base64.b64encode(f"{endpoint.username}:{endpoint.password}".encode()).decode()
        what = f"the user name and password in {origin.user_field('username')}"
        remedy = "use a token or a client certificate, since Kubernetes itself knows no passwords"
        return Credential(what, remedy, f"Basic {pair}", certificate, key)
    if certificate and key:
        what = f"the client certificate in {origin.user_field('client-certificate')}"
        remedy = "put one there that this cluster's authority has signed"
        return Credential(what, remedy, certificate=certificate, key=key)
    return None


def anonymous_credential(endpoint: Endpoint) -> Credential:
    """Return what is shown where there is nothing to show."""
    what = "a request without credentials"
    if endpoint.server.startswith("http://"):
        return Credential(what, "write https:// in the server address, since none are sent over plain HTTP")
    return Credential(what, f"put one into {endpoint.origin.user_field('token')}")


def impersonation_headers(impersonation: Impersonation | None) -> list[tuple[str, str]]:
    """Return the headers that ask the server to take us for somebody else."""
    if impersonation is None:
        return []
    headers = [("Impersonate-User", impersonation.user)]
    if impersonation.uid:
        headers.append(("Impersonate-Uid", impersonation.uid))
    headers += [("Impersonate-Group", group) for group in impersonation.groups]
    for key, values in impersonation.extra:
        headers += [(f"Impersonate-Extra-{_header_name(key)}", value) for value in values]
    return headers


def with_credential(
    headers: Mapping[str, str], credential: Credential, impersonation: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return a request's headers with the proof of who is asking; what the request itself says comes first."""
    full = list(headers.items())
    if credential.authorization and "authorization" not in headers:
        full.append(("Authorization", credential.authorization))
    if "impersonate-user" not in headers:
        full += impersonation
    return full


def _header_name(key: str) -> str:
    return "".join(chr(byte) if byte in _HEADER_NAME else f"%{byte:02X}" for byte in key.encode())
