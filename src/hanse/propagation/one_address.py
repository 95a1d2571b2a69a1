"""Ingresses whose clusters share one address: one cluster comes first, the others follow once the address has a name.

That is so where clusters' ingress controllers name what they make in a cloud by one uid (`services/ingress/uids.py`
says which those are). Anywhere else an Ingress goes to every cluster at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hanse.api.clusters import Cluster
from hanse.kube.manifest import Obj, annotations_of

# On the federation's Ingress: the cluster that gets it first, written by Hanse.
FIRST_CLUSTER_ANNOTATION = "ingress.federation.kubernetes.io/first-cluster"
# On the federation's Ingress, by its user or by Hanse: the name of the address that all clusters share.
STATIC_IP_ANNOTATION = "kubernetes.io/ingress.global-static-ip-name"

UNDECIDED = "it waits until one of the clusters that share the address is first"
_UNKNOWN = "it waits until it is known whether it shares the uid of ingress controllers"


@dataclass(frozen=True, slots=True)
class OneAddress:
    """What an Ingress says of the address that its clusters share: whether it has a name, else who gets it first."""

    named: bool = False
    first: str = ""

    def held_back(self, clusters: Sequence[Cluster], chosen: Collection[str]) -> dict[str, str]:
        """Return the clusters that get no Ingress yet, each with the sentence that says why."""
        if not any(cluster.ingress_uid for cluster in clusters):
            return {}
        sharing = {each.name for each in clusters if each.ingress_uid and not each.refusal and each.name in chosen}
        held: dict[str, str] = {}
        for cluster in clusters:
            if not cluster.ingress_uid:
                held |= {} if cluster.own_ingress else {cluster.name: _UNKNOWN}
            elif not self.named and self.first not in sharing:
                held[cluster.name] = UNDECIDED
            elif not self.named and cluster.name != self.first:
                held[cluster.name] = f"it waits for the name of the address that {self.first} gets"
        return held


def one_address(source: Obj) -> OneAddress:
    """Read what an Ingress of the federation says of its address."""
    annotations = annotations_of(source)
    return OneAddress(bool(annotations.get(STATIC_IP_ANNOTATION)), annotations.get(FIRST_CLUSTER_ANNOTATION, ""))
