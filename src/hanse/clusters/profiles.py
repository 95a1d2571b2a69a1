"""ClusterProfiles (multicluster.x-k8s.io) for other tools: the registry told in the words of SIG Multicluster.

Published on hosts that serve the kind. They are made from Clusters and never read: whoever changes one gets it back.
"""

from __future__ import annotations

import asyncio

from hanse.api.clusters import CLUSTERS, Cluster, parse_cluster
from hanse.api.names import REGION_LABEL, SYSTEM_NAMESPACE, ZONE_LABEL
from hanse.clusters.serving import served_by
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.controller import Controller
from hanse.kube.manifest import Key, Obj, dig, labels_of, name_of, uid_of
from hanse.kube.patches.merge_patch import merge_patch_between
from hanse.kube.resources import Resource

CLUSTER_PROFILES = Resource("multicluster.x-k8s.io", "v1alpha1", "clusterprofiles", "ClusterProfile")
_MANAGER = "hanse"
_MANAGER_LABEL = "x-k8s.io/cluster-manager"


def profile_of(obj: Obj) -> tuple[Obj, Obj]:
    """Return the profile of a Cluster and its status."""
    cluster = parse_cluster(obj)
    owner = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind, "name": name_of(obj), "uid": uid_of(obj)}
    profile = {
        "apiVersion": CLUSTER_PROFILES.api_version,
        "kind": CLUSTER_PROFILES.kind,
        "metadata": {
            "name": cluster.name,
            "namespace": SYSTEM_NAMESPACE,
            "labels": {**cluster.labels, _MANAGER_LABEL: _MANAGER},
            "ownerReferences": [owner],
        },
        "spec": {"displayName": cluster.name, "clusterManager": {"name": _MANAGER}},
    }
    return profile, _status(obj, cluster)


def _status(obj: Obj, cluster: Cluster) -> Obj:
    told: Obj = {"conditions": [], "properties": _properties(cluster)}
    ready = find_condition(dig(obj, "status", "conditions"), "Ready")
    if ready is not None:
        told["conditions"] = [{**ready, "type": "ControlPlaneHealthy"}]
    if cluster.version:
        told["version"] = {"kubernetes": cluster.version}
    return told


def _properties(cluster: Cluster) -> list[Obj]:
    values = {
        "cluster.clusterset.k8s.io": cluster.name,
        "cluster-uid.hanse.dev": cluster.uid,
        REGION_LABEL: cluster.region,
        ZONE_LABEL: ",".join(cluster.zones),
        "nodes.hanse.dev": str(cluster.nodes or ""),
        **{f"{name}.capacity.hanse.dev": amount for name, amount in cluster.capacity.items()},
    }
    return [{"name": name, "value": value} for name, value in sorted(values.items()) if value]


class Profiles:
    """Publishes a ClusterProfile for each Cluster, where the host serves the kind."""

    def __init__(self, host: Client, clusters: Cache) -> None:
        self._host = host
        self._clusters = clusters
        self._profiles = Cache(host, CLUSTER_PROFILES, namespace=SYSTEM_NAMESPACE)
        # Labels that others add are theirs; those that a Cluster has lost are told from them by what was applied last.
        self._applied: dict[str, Obj] = {}
        self._controller: Controller[str] = Controller("cluster profiles", self._reconcile, host.runtime, workers=1)

    async def run(self) -> None:
        """Publish until cancelled; returns at once on a host without the kind."""
        if CLUSTER_PROFILES not in await served_by(self._host):
            return
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._profiles.run())
            await self._clusters.wait_synced()
            await self._profiles.wait_synced()
            self._clusters.subscribe(self._changed)
            self._profiles.subscribe(self._changed)
            tasks.create_task(self._controller.run())

    def _changed(self, change: Change) -> None:
        self._controller.queue.add(change.key.name)

    async def _reconcile(self, name: str) -> None:
        obj = self._clusters.get(Key("", name))
        # The profile of a Cluster that is gone goes with it: it is owned by it.
        if obj is None or dig(obj, "metadata", "deletionTimestamp"):
            return
        wanted, status = profile_of(obj)
        present = self._profiles.get(Key(SYSTEM_NAMESPACE, name))
        if present is None or not _says(present, wanted) or self._applied.get(name, wanted) != wanted:
            present = await self._host.apply(CLUSTER_PROFILES, wanted)
        self._applied[name] = wanted
        old = present.get("status") or {}
        if old != status:
            patch = {"status": merge_patch_between(old, status)}
            await self._host.patch(CLUSTER_PROFILES, name, patch, SYSTEM_NAMESPACE, subresource="status")


def _says(present: Obj, wanted: Obj) -> bool:
    return present["spec"] == wanted["spec"] and labels_of(wanted).items() <= labels_of(present).items()
