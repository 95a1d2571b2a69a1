"""The ClusterTargets with which a source begins: one for every registered cluster in which its pods may run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hanse.api.admiralty.kinds import CLUSTER_TARGETS
from hanse.kube.manifest import Obj, dig, labels_of, name_of
from hanse.pods.installing.rights import DOOR_LABEL, door_labels


def target_manifests(source: str, targets: Sequence[str]) -> list[Obj]:
    """Return a ClusterTarget for each of these clusters, of the same name; the source itself is its own."""
    return [
        {
            "apiVersion": CLUSTER_TARGETS.api_version,
            "kind": CLUSTER_TARGETS.kind,
            "metadata": {"name": name, "labels": door_labels(source)},
            "spec": {"self": True} if name == source else {"clusterName": name},
        }
        for name in targets
    ]


def not_ours(found: Iterable[Obj], wanted: Sequence[str]) -> list[str]:
    """Return the wanted names under which somebody else has a ClusterTarget, which stays as it is."""
    return sorted(name_of(obj) for obj in found if name_of(obj) in wanted and DOOR_LABEL not in labels_of(obj))


def clusters_in(found: Iterable[Obj]) -> set[str]:
    """Return the registered clusters that targets name."""
    named = (dig(obj, "spec", "clusterName", default="") for obj in found)
    return {str(name) for name in named if name}
