"""Keeping the admission server's certificate in a Secret that its replicas share, and renewing it before it ends.

A new authority is trusted before anything is shown that it signed: first the webhooks are told of it beside the old
one, then the Secret changes. Whichever replica comes first does it; the others find it done.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.kube.client import Client, PatchType
from hanse.kube.errors import AlreadyExists, Conflict
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj, version_of
from hanse.kube.resources import SECRETS, Resource
from hanse.kube.runtime import Runtime
from hanse.pods.admission.certificates import (
    Authority,
    ServingCertificate,
    is_due,
    new_authority,
    new_certificate,
    serves,
)

log = Log("hanse")

MUTATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
CONFIGURATION_NAME = "pods.hanse.dev"
SECRET = Key(SYSTEM_NAMESPACE, "hanse-admission")
_CERTIFICATE, _KEY, _TRUSTED, _SIGNER, _SIGNER_KEY = "tls.crt", "tls.key", "ca.crt", "signer.crt", "signer.key"
_TRIES = 5


def certificate_data(names: Sequence[str], runtime: Runtime) -> dict[str, str]:
    """Return the `data` of a new Secret for a server of these names."""
    authority = new_authority(runtime)
    return _data(authority, new_certificate(authority, names, runtime))


def read_certificate(secret: Obj) -> ServingCertificate | None:
    """Return the certificate in a Secret; None where there is none."""
    data = secret.get("data") or {}
    if not all(data.get(name) for name in (_CERTIFICATE, _KEY, _TRUSTED)):
        return None
    return ServingCertificate(*(base64.b64decode(data[name]) for name in (_CERTIFICATE, _KEY, _TRUSTED)))


class CertificateSecret:
    """The Secret with a server's certificate; `current` renews what nears its end."""

    def __init__(self, client: Client, names: Sequence[str], secret: Key = SECRET) -> None:
        self._client = client
        self._names = tuple(names)
        self._key = secret

    async def current(self) -> ServingCertificate:
        """Return the certificate to serve with; made or renewed where that is due."""
        for _ in range(_TRIES):
            secret = await self._client.find(SECRETS, self._key.name, self._key.namespace)
            try:
                found = await self._looked_after(secret)
            except (AlreadyExists, Conflict):
                continue
            return found
        raise RuntimeError(f"Secret {self._key} changes all the time, so that its certificate cannot be renewed")

    async def _looked_after(self, secret: Obj | None) -> ServingCertificate:
        runtime = self._client.runtime
        if secret is None:
            return await self._created(certificate_data(self._names, runtime))
        found, authority = read_certificate(secret), _authority_in(secret)
        now = runtime.now()
        if found is None or authority is None:
            return await self._renewed(secret, new_authority(runtime), b"")
        if is_due(authority.certificate_pem, now):
            return await self._renewed(secret, new_authority(runtime), authority.certificate_pem)
        if is_due(found.certificate_pem, now) or not serves(found.certificate_pem, self._names):
            trusted = found.authority_pem.removeprefix(authority.certificate_pem)
            return await self._renewed(secret, authority, trusted)
        return found

    async def _created(self, data: dict[str, str]) -> ServingCertificate:
        metadata = {"name": self._key.name, "namespace": self._key.namespace}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
        made = await self._client.create(SECRETS, secret)
        return _certificate_of(made)

    async def _renewed(self, secret: Obj, authority: Authority, trusted: bytes) -> ServingCertificate:
        made = new_certificate(authority, self._names, self._client.runtime, trusted=trusted)
        await trust(self._client, made.authority_pem)
        patch = {"metadata": {"resourceVersion": version_of(secret)}, "data": _data(authority, made)}
        written = await self._client.patch(SECRETS, self._key.name, patch, self._key.namespace)
        log.info("The certificate of the admission server was renewed", secret=str(self._key))
        return _certificate_of(written)


async def trust(client: Client, authorities_pem: bytes) -> None:
    """Have the cluster's API server trust these authorities when it asks our webhooks; silent where it does already."""
    configuration = await client.find(MUTATING_WEBHOOKS, CONFIGURATION_NAME)
    if configuration is None:
        return
    bundle = base64.b64encode(authorities_pem).decode()
    changed = [
        {"name": hook["name"], "clientConfig": {"caBundle": bundle}}
        for hook in configuration.get("webhooks") or ()
        if hook["clientConfig"].get("caBundle") != bundle
    ]
    if not changed:
        return
    await client.patch(MUTATING_WEBHOOKS, CONFIGURATION_NAME, {"webhooks": changed}, patch_type=PatchType.STRATEGIC)


def _authority_in(secret: Obj) -> Authority | None:
    data = secret.get("data") or {}
    if not (data.get(_SIGNER) and data.get(_SIGNER_KEY)):
        return None
    return Authority(base64.b64decode(data[_SIGNER]), base64.b64decode(data[_SIGNER_KEY]))


def _certificate_of(secret: Obj) -> ServingCertificate:
    found = read_certificate(secret)
    if found is None:
        raise ValueError("the Secret of the admission server lost its certificate while it was written")
    return found


def _data(authority: Authority, certificate: ServingCertificate) -> dict[str, str]:
    content = {
        _CERTIFICATE: certificate.certificate_pem,
        _KEY: certificate.key_pem,
        _TRUSTED: certificate.authority_pem,
        _SIGNER: authority.certificate_pem,
        _SIGNER_KEY: authority.key_pem,
    }
    return {name: base64.b64encode(value).decode() for name, value in content.items()}
