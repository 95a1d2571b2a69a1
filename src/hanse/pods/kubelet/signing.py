"""Has a cluster sign the kubelet's serving certificate, and again before it ends.

Until it is signed, and where it never is, the certificate that the kubelet made itself is shown: API servers that check
no kubelet's certificate take it, and those that do say in their error that they do not know its authority.
"""

from __future__ import annotations

import base64
import binascii

from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.errors import ApiError, Conflict, NotFound
from hanse.kube.log import Log
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.runtime import timestamp
from hanse.kube.transport import Unreachable
from hanse.pods.kubelet.certificates import REQUESTS, renewal_after, self_made, signing_request
from hanse.pods.kubelet.keys import KeyRing, ServingPair

KUBELET_SIGNER = "kubernetes.io/kubelet-serving"
_SIGNED_WITHIN_SECONDS = 30.0
_LOOK_SECONDS = 0.5
_AGAIN_SECONDS = 600.0

log = Log("hanse")


class Signature:
    """Keeps a signed certificate on a key ring; `signer` says who signs, "" that nobody is asked."""

    def __init__(self, client: Client, host: str, ring: KeyRing, signer: str = KUBELET_SIGNER) -> None:
        self._client = client
        self._runtime = client.runtime
        self._host = host
        self._ring = ring
        self._signer = signer

    async def run(self) -> None:
        """Have certificates signed until cancelled, or where nobody signs, make another before the present one ends."""
        while self._signer:
            if (pair := await self._signed()) is not None:
                self._ring.show(pair)
                await self._wait_for_renewal()
            elif self._signer:
                log.warning(
                    "The kubelet's certificate was not signed; API servers that check it refuse logs and exec",
                    signer=self._signer,
                    host=self._host,
                )
                await self._runtime.sleep(_AGAIN_SECONDS)
        while True:
            await self._wait_for_renewal()
            self._ring.show(own_certificate(self._client, self._host))

    async def _wait_for_renewal(self) -> None:
        await self._runtime.sleep(renewal_after(self._ring.current.pair.certificate, self._runtime.now()))

    async def _signed(self) -> ServingPair | None:
        request, key = signing_request(self._host, self._signer, self._runtime.uid()[:8])
        try:
            made = await self._client.create(REQUESTS, request)
        except NotFound:
            # An API server that takes no requests signs none, and checks no kubelet's certificate either.
            self._signer = ""
            return None
        except (ApiError, Unreachable, TimeoutError) as error:
            log.warning("A certificate cannot be asked for now", signer=self._signer, error=str(error))
            return None
        try:
            await self._approve(made)
            certificate = await self._wait_for(name_of(made))
            if certificate is None:
                await self._client.delete(REQUESTS, name_of(made))
                return None
        except (ApiError, Unreachable, TimeoutError) as error:
            log.warning("A certificate cannot be asked for now", signer=self._signer, error=str(error))
            return None
        return ServingPair(certificate, key)

    async def _approve(self, request: Obj) -> None:
        now = timestamp(self._runtime.now())
        approval = {
            "type": "Approved",
            "status": "True",
            "reason": "HanseVirtualNodes",
            "message": "the kubelet of virtual nodes asks for its own serving certificate",
            "lastUpdateTime": now,
        }
        try:
            status = {**(request.get("status") or {}), "conditions": [approval]}
            await self._client.update(REQUESTS, {**request, "status": status}, subresource="approval")
        except Conflict:
            # Somebody else has looked at it already; what they decided shows in what becomes of it.
            return

    async def _wait_for(self, name: str) -> bytes | None:
        until = self._runtime.monotonic() + _SIGNED_WITHIN_SECONDS
        while self._runtime.monotonic() < until:
            try:
                request = await self._client.get(REQUESTS, name)
            except NotFound:
                return None
            conditions = dig(request, "status", "conditions")
            if find_condition(conditions, "Denied") or find_condition(conditions, "Failed"):
                return None
            if encoded := dig(request, "status", "certificate", default=""):
                return _decoded(encoded)
            await self._runtime.sleep(_LOOK_SECONDS)
        return None


def own_certificate(client: Client, host: str) -> ServingPair:
    """Make a certificate that nobody else has signed."""
    serial = int(client.runtime.uid().replace("-", ""), 16)
    return self_made(host, client.runtime.now(), serial)


def _decoded(encoded: str) -> bytes | None:
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        return None
