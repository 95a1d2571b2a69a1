"""What the kubelet's listener shows and whom it believes; either may change while it listens."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from dataclasses import dataclass, field, replace

from hanse.kube.auth.certificates import check_authority
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.log import Log
from hanse.kube.manifest import dig
from hanse.kube.resources import CONFIGMAPS

_AUTHENTICATION = "extension-apiserver-authentication"
log = Log("hanse")


@dataclass(frozen=True, slots=True)
class ServingPair:
    """A serving certificate and its key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Keys:
    """A certificate to show, and the authority whose client certificates count; b"" where that is not known."""

    pair: ServingPair
    authority: bytes = b""

    def tls_context(self) -> ssl.SSLContext:
        """Return the listener's TLS; clients without a certificate get as far as being told that they need one."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # The ssl module reads key pairs from files alone; this one is private and lives for a moment.
        with tempfile.NamedTemporaryFile() as pem:
            pem.write(self.pair.certificate + b"\n" + self.pair.key)
            pem.flush()
            context.load_cert_chain(pem.name)
        if self.authority:
            context.load_verify_locations(cadata=self.authority.decode())
            context.verify_mode = ssl.CERT_OPTIONAL
            # As API servers do: an intermediate may be the root of trust.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.set_alpn_protocols(["http/1.1"])
        return context


class KeyRing:
    """The keys as they are now, and a way to wait for others."""

    def __init__(self, pair: ServingPair) -> None:
        self.current = Keys(pair)
        self._changed = asyncio.Event()

    def show(self, pair: ServingPair) -> None:
        """Show another certificate from now on."""
        self._set(replace(self.current, pair=pair))

    def believe(self, authority: bytes) -> None:
        """Believe the client certificates of another authority from now on."""
        self._set(replace(self.current, authority=authority))

    async def wait_other(self, keys: Keys) -> None:
        """Wait until the keys are no longer these."""
        while self.current == keys:
            self._changed.clear()
            await self._changed.wait()

    def _set(self, keys: Keys) -> None:
        self.current = keys
        self._changed.set()


class ClientAuthority:
    """Follows the authority of a cluster's client certificates, which every API server publishes."""

    def __init__(self, client: Client, ring: KeyRing) -> None:
        self._ring = ring
        self._cache = Cache(client, CONFIGMAPS, namespace="kube-system", fields=f"metadata.name={_AUTHENTICATION}")
        self._cache.subscribe(self._changed)

    async def run(self) -> None:
        """Follow until cancelled."""
        await self._cache.run()

    def _changed(self, change: Change) -> None:
        authority = str(dig(change.new, "data", "client-ca-file", default="") or "").encode()
        try:
            if authority:
                check_authority(authority)
        except ValueError as error:
            # Better those that were believed before than everybody or nobody.
            log.warning("The client authority was not changed", configmap=_AUTHENTICATION, error=str(error))
            return
        self._ring.believe(authority)
