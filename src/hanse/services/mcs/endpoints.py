"""EndpointSlices of one cluster as the others hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hanse.api.mcs import SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL
from hanse.kube.manifest import Key, Obj, dig, is_deleting, labels_of, name_of
from hanse.kube.patches.differences import digest
from hanse.kube.resources import ENDPOINT_SLICES
from hanse.services.mcs.exports import Export
from hanse.services.mcs.merging import Merged

SERVICE_LABEL = "kubernetes.io/service-name"
MANAGED_BY_LABEL = "endpointslice.kubernetes.io/managed-by"
# Says to the cluster's own controllers that these slices are looked after.
MANAGED_BY = "multicluster.hanse.dev"

# What an endpoint is anywhere; its node and its pod are nothing to another cluster.
_FIELDS = ("addresses", "conditions", "hostname", "zone")


def has_ready(slices: Iterable[Obj]) -> bool:
    """Tell whether any endpoint takes clients."""
    return any(
        dig(endpoint, "conditions", "ready", default=True)
        for entry in slices
        for endpoint in entry.get("endpoints") or ()
    )


def leading_clusters(slices: Mapping[str, Sequence[Obj]], lost: frozenset[str]) -> frozenset[str]:
    """Return the clusters whose endpoints clients are led to: not lost ones, unless nobody else has any."""
    there = frozenset(cluster for cluster in slices if cluster not in lost)
    return there if any(has_ready(slices[cluster]) for cluster in there) else frozenset(slices)


def derived_slices(key: Key, merged: Merged, export: Export, slices: Iterable[Obj], service: str) -> list[Obj]:
    """Return what the others hold of a cluster's slices; `service` is what routes to them there, "" if nothing does.

    A port that lost a conflict is not among them: behind the number that clients are told there is something else.
    """
    agreed = {port.name for port in export.ports if port in merged.ports}
    found = []
    for source in slices:
        if is_deleting(source) or not source.get("endpoints"):
            continue
        ports = [port for port in source.get("ports") or () if (port.get("name") or "") in agreed]
        if export.ports and not ports:
            continue
        found.append(_derived(key, export.cluster, source, ports, service))
    return found


def _derived(key: Key, cluster: str, source: Obj, ports: list[Obj], service: str) -> Obj:
    mark = digest({"cluster": cluster, "slice": name_of(source)})[:10]
    labels = {SERVICE_NAME_LABEL: key.name, SOURCE_CLUSTER_LABEL: cluster, MANAGED_BY_LABEL: MANAGED_BY}
    if service:
        labels[SERVICE_LABEL] = service
    return {
        "apiVersion": ENDPOINT_SLICES.api_version,
        "kind": ENDPOINT_SLICES.kind,
        "metadata": {
            "name": f"{key.name}-{cluster}-{mark}",
            "namespace": key.namespace,
            "labels": labels,
        },
        "addressType": source["addressType"],
        "endpoints": [{name: each[name] for name in _FIELDS if name in each} for each in source["endpoints"]],
        "ports": ports,
    }


def source_of(derived: Obj) -> str:
    """Return the cluster from which a derived slice came."""
    return labels_of(derived).get(SOURCE_CLUSTER_LABEL, "")
