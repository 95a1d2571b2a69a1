"""EndpointSlices for Endpoints that a person wrote: those of Services without a selector, slice by subset."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.kube.cache import Change
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import (
    Key,
    Obj,
    annotations_of,
    dig,
    is_deleting,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
)
from hanse.kube.resources import ENDPOINT_SLICES, ENDPOINTS, SERVICES
from hanse.simulator.index import Index
from hanse.simulator.networking.endpoint_manifests import MANAGED_BY, SERVICE_NAME
from hanse.simulator.world import World
from hanse.simulator.writing import changed_fields, write

_MIRROR = "endpointslicemirroring-controller.k8s.io"
_SKIP = "endpointslice.kubernetes.io/skip-mirror"
# Endpoints that bear this are a lock, and lead nowhere.
_LEADER = "control-plane.alpha.kubernetes.io/leader"
_OWN_FIELDS = ("endpoints", "ports")
_AGAIN_SECONDS = 1.0


class EndpointMirrors:
    """Keeps the slices of Endpoints that nobody but their author keeps."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("endpoint-slice-mirroring", self._reconcile, owners=ENDPOINTS)
        self._client = world.client
        self._services = world.cache(SERVICES)
        self._endpoints = world.cache(ENDPOINTS)
        self._slices = Index(world.cache(ENDPOINT_SLICES), _mirrored_by)
        self._services.subscribe(self._changed)
        self._endpoints.subscribe(self._changed)

    def _changed(self, change: Change) -> None:
        service = self._services.get(change.key)
        # Those of a Service with a selector are kept from its pods, and are the many.
        if service is None or not dig(service, "spec", "selector"):
            self.controller.queue.add(change.key)

    async def _reconcile(self, key: Key) -> float | None:
        service, endpoints = self._services.get(key), self._endpoints.get(key)
        wanted = mirrors_of(service, endpoints)
        present = {name_of(one): one for one in self._slices.objects(str(key))}
        for made in wanted:
            held = present.pop(name_of(made), None)
            if held is None:
                try:
                    await self._client.create(ENDPOINT_SLICES, made)
                except AlreadyExists:
                    return _AGAIN_SECONDS
                continue
            ours = {name: made[name] for name in _OWN_FIELDS}
            if patch := changed_fields({name: held.get(name) for name in _OWN_FIELDS}, ours):
                await write(self._client, ENDPOINT_SLICES, held, patch)
        for name in present:
            try:
                await self._client.delete(ENDPOINT_SLICES, name, key.namespace)
            except NotFound:
                continue
        return None


def mirrors_of(service: Obj | None, endpoints: Obj | None) -> Sequence[Obj]:
    """Return the slices that tell what Endpoints tell; none where somebody else keeps them, or nobody looks."""
    if service is None or endpoints is None or is_deleting(endpoints) or dig(service, "spec", "selector"):
        return ()
    if labels_of(endpoints).get(_SKIP) == "true" or _LEADER in annotations_of(endpoints):
        return ()
    subsets = endpoints.get("subsets") or []
    return [_slice(endpoints, subset, number) for number, subset in enumerate(subsets) if _endpoints(subset)]


def _slice(endpoints: Obj, subset: Obj, number: int) -> Obj:
    found = _endpoints(subset)
    labels = {**labels_of(endpoints), SERVICE_NAME: name_of(endpoints), MANAGED_BY: _MIRROR}
    return {
        "apiVersion": ENDPOINT_SLICES.api_version,
        "kind": ENDPOINT_SLICES.kind,
        "metadata": {
            "name": f"{name_of(endpoints)}-mirror-{number}",
            "namespace": namespace_of(endpoints),
            "labels": labels,
            "ownerReferences": [owner_reference(endpoints)],
        },
        "addressType": "IPv6" if ":" in found[0]["addresses"][0] else "IPv4",
        "endpoints": found,
        "ports": [{"name": "", "protocol": "TCP", **port} for port in subset.get("ports") or ()],
    }


def _endpoints(subset: Obj) -> list[Obj]:
    return [
        _endpoint(address, ready=ready)
        for field, ready in (("addresses", True), ("notReadyAddresses", False))
        for address in subset.get(field) or ()
    ]


def _endpoint(address: Obj, *, ready: bool) -> Obj:
    kept = {name: address[name] for name in ("hostname", "nodeName", "targetRef") if address.get(name)}
    return {"addresses": [address["ip"]], "conditions": {"ready": ready}, **kept}


def _mirrored_by(endpoint_slice: Obj) -> str:
    labels = labels_of(endpoint_slice)
    if labels.get(MANAGED_BY) != _MIRROR:
        return ""
    return str(key_of(endpoint_slice)._replace(name=labels.get(SERVICE_NAME, "")))
