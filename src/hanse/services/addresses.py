"""A federation's service as a `ServiceAddresses` object, both ways: what is read is what was written."""

from __future__ import annotations

from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.kube.manifest import Obj, key_of
from hanse.services.presence import DEFAULT_TTL_SECONDS, FederatedService, Port, Presence


def addresses_manifest(service: FederatedService, hostname: str = "", owner: Obj | None = None) -> Obj:
    """Write down where a service is found; `owner` is the reference to the object that it goes with."""
    metadata: Obj = {"name": service.key.name, "namespace": service.key.namespace}
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    return {
        "apiVersion": SERVICE_ADDRESSES.api_version,
        "kind": SERVICE_ADDRESSES.kind,
        "metadata": metadata,
        "spec": {
            **({"hostname": hostname} if hostname else {}),
            "published": service.published,
            "ttlSeconds": service.ttl,
            "serving": len(service.serving),
            **({"front": list(service.front)} if service.front else {}),
            "ports": [_port_entry(port) for port in service.ports],
            "clusters": [_cluster_entry(each) for each in service.presences],
        },
    }


def parse_addresses(obj: Obj) -> FederatedService:
    """Read where a service is found."""
    spec = obj.get("spec") or {}
    return FederatedService(
        key=key_of(obj),
        ports=tuple(map(_port, spec.get("ports") or ())),
        presences=tuple(map(_presence, spec.get("clusters") or ())),
        ttl=int(spec.get("ttlSeconds", DEFAULT_TTL_SECONDS)),
        front=tuple(spec.get("front") or ()),
        published=bool(spec.get("published", False)),
    )


def _port_entry(port: Port) -> Obj:
    named = {"name": port.name} if port.name else {}
    return {**named, "protocol": port.protocol, "port": port.number}


def _port(entry: Obj) -> Port:
    return Port(entry.get("name") or "", entry["protocol"], entry["port"])


def _cluster_entry(presence: Presence) -> Obj:
    entry: Obj = {"name": presence.cluster}
    if presence.release:
        entry["release"] = presence.release
    if presence.addresses:
        entry["addresses"] = list(presence.addresses)
    if presence.cluster_ips:
        entry["clusterIPs"] = list(presence.cluster_ips)
    if presence.dead:
        entry["dead"] = list(presence.dead)
    if presence.backends is not None:
        entry["backends"] = presence.backends
    entry["serving"] = presence.serving
    if presence.doubtful:
        entry["doubtful"] = True
    if presence.why:
        entry["why"] = presence.why
    if presence.weight != 1:
        entry["weight"] = presence.weight
    return entry


def _presence(entry: Obj) -> Presence:
    return Presence(
        cluster=entry["name"],
        addresses=tuple(entry.get("addresses") or ()),
        cluster_ips=tuple(entry.get("clusterIPs") or ()),
        dead=tuple(entry.get("dead") or ()),
        backends=entry.get("backends"),
        serving=bool(entry["serving"]),
        why=entry.get("why") or "",
        weight=int(entry.get("weight", 1)),
        doubtful=bool(entry.get("doubtful", False)),
        release=entry.get("release") or "",
    )
