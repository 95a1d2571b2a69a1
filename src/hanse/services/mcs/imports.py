"""What a cluster holds of a service that others export: a ServiceImport, and a Service that gives it an address there.

The Service has no selector; the EndpointSlices that came from the exporting clusters bear its name, so that whatever
routes to Services in the cluster routes to them.
"""

from __future__ import annotations

from hanse.api.mcs import SERVICE_IMPORTS, SERVICE_NAME_LABEL
from hanse.api.names import MANAGED_LABEL, OWNER_ANNOTATION, RENDERED_ANNOTATION
from hanse.kube.conditions import merge_conditions
from hanse.kube.manifest import Key, Obj, annotations_of, dig, labels_of, owner_reference
from hanse.kube.patches.differences import digest
from hanse.kube.resources import SERVICES
from hanse.services.mcs.exports import ExportedPort
from hanse.services.mcs.merging import Merged

# In place of a source's uid: by this an import is known as Hanse's, and found when the cluster leaves.
_OWNER = "multi-cluster-services"


def is_ours(found: Obj) -> bool:
    """Tell whether a ServiceImport is Hanse's."""
    return labels_of(found).get(MANAGED_LABEL) == "true" and annotations_of(found).get(OWNER_ANNOTATION) == _OWNER


def service_name(key: Key) -> str:
    """Return the name of the Service that gives an import its address in a cluster."""
    return f"derived-{digest({'namespace': key.namespace, 'name': key.name})[:10]}"


def import_manifest(key: Key, merged: Merged, service: Obj | None) -> Obj:
    """Return the ServiceImport of a cluster; `service` is what gives it an address there, None before it does."""
    model = merged.model
    spec: Obj = {"type": model.type, "ports": list(map(_port, merged.ports))}
    if merged.headless:
        spec["ipFamilies"] = list(merged.families)
    elif service is not None and (addresses := dig(service, "spec", "clusterIPs")):
        spec |= {"ips": addresses, "ipFamilies": dig(service, "spec", "ipFamilies", default=["IPv4"])}
    spec |= _behaviour(merged)
    manifest: Obj = {
        "apiVersion": SERVICE_IMPORTS.api_version,
        "kind": SERVICE_IMPORTS.kind,
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "labels": {**model.labels, MANAGED_LABEL: "true"},
            "annotations": {**model.annotations, OWNER_ANNOTATION: _OWNER},
        },
        "spec": spec,
    }
    return _sealed(manifest)


def service_manifest(key: Key, merged: Merged, owner: Obj) -> Obj:
    """Return the Service that gives an import, its owner, an address."""
    families: Obj = {"ipFamilyPolicy": "PreferDualStack"}
    if len(merged.families) == 1:
        families = {"ipFamilyPolicy": "SingleStack", "ipFamilies": list(merged.families)}
    manifest: Obj = {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": {
            "name": service_name(key),
            "namespace": key.namespace,
            "labels": {SERVICE_NAME_LABEL: key.name},
            "annotations": {},
            "ownerReferences": [_belonging_to(owner)],
        },
        "spec": {"type": "ClusterIP", "ports": list(map(_port, merged.ports)), **families, **_behaviour(merged)},
    }
    return _sealed(manifest)


def owned_slice(derived: Obj, owner: Obj) -> Obj:
    """Return a derived EndpointSlice that goes with the import."""
    return {**derived, "metadata": {**derived["metadata"], "ownerReferences": [_belonging_to(owner)]}}


def import_status(old: Obj, merged: Merged, ready: Obj, now: str) -> Obj:
    """Return the status of a ServiceImport."""
    return {
        **old,
        "clusters": [{"cluster": cluster} for cluster in merged.clusters],
        "endpointSliceObjects": "Present",
        "conditions": merge_conditions(old.get("conditions"), [ready], now),
    }


def exporters(import_: Obj) -> frozenset[str]:
    """Return the clusters that a ServiceImport names as its sources."""
    listed = dig(import_, "status", "clusters", default=[])
    return frozenset(entry["cluster"] for entry in listed)


def _belonging_to(owner: Obj) -> Obj:
    return owner_reference({**owner, "apiVersion": SERVICE_IMPORTS.api_version, "kind": SERVICE_IMPORTS.kind})


def _port(port: ExportedPort) -> Obj:
    entry: Obj = {"port": port.number, "protocol": port.protocol}
    if port.name:
        entry["name"] = port.name
    if port.app_protocol:
        entry["appProtocol"] = port.app_protocol
    return entry


def _behaviour(merged: Merged) -> Obj:
    """Return how clients are divided over the endpoints; of a headless service nobody divides them."""
    model = merged.model
    if merged.headless:
        return {}
    wanted = {
        "sessionAffinity": model.affinity,
        "sessionAffinityConfig": model.affinity_config,
        "internalTrafficPolicy": model.traffic_policy,
        "trafficDistribution": model.traffic_distribution,
    }
    return {name: value for name, value in wanted.items() if value}


def _sealed(manifest: Obj) -> Obj:
    """Give a manifest its fingerprint, which tells when a field was taken out of it."""
    manifest["metadata"]["annotations"][RENDERED_ANNOTATION] = digest(manifest)
    return manifest
