"""How a webhook is trusted and how it knows us: the Secrets and ConfigMaps that a controller names, read once.

What is secret stays out of every sentence: those name the Secret and the key, never what is in it.
"""

from __future__ import annotations

import base64
import binascii
import ssl
from dataclasses import dataclass, field

from hanse.composite.hooks.calling import HookParts, HookUnusable, Objects
from hanse.composite.spec import Endpoint, SecretKey
from hanse.kube.auth.certificates import tls_context
from hanse.kube.auth.endpoint import Endpoint as Server
from hanse.kube.auth.endpoint import KubeconfigError

_HIDDEN = "[hidden]"
# Shorter ones would be found in any text.
_SHORTEST_SECRET = 4


@dataclass(frozen=True, slots=True)
class Access:
    """What is needed to call a webhook: TLS other than the system's, the Authorization header, and what to hide."""

    tls: ssl.SSLContext | None = None
    authorization: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def without_secrets(self, text: str) -> str:
        """Return a foreign text in which nothing of ours is quoted back."""
        for secret in self.secrets:
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, _HIDDEN)
        return text


async def open_endpoint(url: str, endpoint: Endpoint | None, parts: HookParts) -> Access:
    """Read what an endpoint names; raises HookUnusable."""
    wanted = endpoint or Endpoint()
    header, secrets = await _authorization(wanted, parts.objects)
    return Access(await _tls(url, wanted, parts), header, secrets)


async def _tls(url: str, wanted: Endpoint, parts: HookParts) -> ssl.SSLContext | None:
    objects = parts.objects
    ca = wanted.ca_inline.encode() or None
    if wanted.ca_secret is not None:
        ca = await _from_secret(wanted.ca_secret, objects)
    elif wanted.ca_config_map is not None:
        ca = await _from_config_map(wanted.ca_config_map, objects)
    certificate = key = None
    if wanted.certificate is not None and wanted.private_key is not None:
        certificate = await _from_secret(wanted.certificate, objects)
        key = await _from_secret(wanted.private_key, objects)
    if ca is None and certificate is None:
        return None
    try:
        # Reading the system's authorities takes its time.
        return await parts.runtime.in_thread(lambda: tls_context(Server(url, ca=ca), certificate, key))
    except KubeconfigError as error:
        raise HookUnusable(str(error)) from error


async def _authorization(wanted: Endpoint, objects: Objects) -> tuple[str, tuple[str, ...]]:
    if wanted.authorization is not None:
        token = await _text(wanted.authorization, objects)
        return f"{wanted.authorization_type or 'Bearer'} {token}", (token,)
    if wanted.username is not None and wanted.password is not None:
        username, password = await _text(wanted.username, objects), await _text(wanted.password, objects)
        if ":" in username:
            raise HookUnusable(
                f'{_title("Secret", wanted.username)} is a username with a ":", which basicAuth cannot say'
            )
        encoded = base64.b64encode(f"{username}:{password}".encode()).decode()
        return f"Basic {encoded}", (encoded, password)
    return "", ()


async def _text(wanted: SecretKey, objects: Objects) -> str:
    value = (await _from_secret(wanted, objects)).strip()
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = ""
    if not text or not text.isprintable():
        raise HookUnusable(f"{_title('Secret', wanted)} is empty or not a text on one line, as a header wants")
    return text


async def _from_secret(wanted: SecretKey, objects: Objects) -> bytes:
    found = await objects.secret(wanted.namespace, wanted.name)
    value = None if found is None else (found.get("data") or {}).get(wanted.key)
    if value is None:
        raise _missing("Secret", wanted, there=found is not None)
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise HookUnusable(f"{_title('Secret', wanted)} is not base64") from error


async def _from_config_map(wanted: SecretKey, objects: Objects) -> bytes:
    found = await objects.config_map(wanted.namespace, wanted.name)
    value = None if found is None else (found.get("data") or {}).get(wanted.key)
    if value is None:
        raise _missing("ConfigMap", wanted, there=found is not None)
    return str(value).encode()


def _missing(kind: str, wanted: SecretKey, *, there: bool) -> HookUnusable:
    if there:
        return HookUnusable(
            f'{kind} {wanted.namespace}/{wanted.name} has no key "{wanted.key}", which the webhook needs'
        )
    return HookUnusable(f"{kind} {wanted.namespace}/{wanted.name} does not exist, and the webhook needs it")


def _title(kind: str, wanted: SecretKey) -> str:
    return f'key "{wanted.key}" of {kind} {wanted.namespace}/{wanted.name}'
