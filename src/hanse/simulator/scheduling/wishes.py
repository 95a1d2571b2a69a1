"""What a pod that waits asks of a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hanse.kube.manifest import Key, Obj, controller_of, dig, key_of, labels_of, uid_of
from hanse.simulator.scheduling.amounts import Amounts, pod_requests
from hanse.simulator.scheduling.board import HostPort, claims_of, host_ports
from hanse.simulator.scheduling.terms import NodeTerm, PodTerm, Spread

Toleration = Mapping[str, str]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Wish:
    """A pod without a node, read for scheduling."""

    key: Key
    uid: str
    labels: Mapping[str, str]
    requests: Amounts
    owner_uid: str
    priority: int
    preempts: bool
    nominated: str
    node_selector: Mapping[str, str]
    # None where the pod has no required node affinity; one of the terms must match.
    node_terms: tuple[NodeTerm, ...] | None
    preferred_nodes: tuple[NodeTerm, ...]
    tolerations: tuple[Toleration, ...]
    ports: frozenset[HostPort]
    near: tuple[PodTerm, ...]
    apart: tuple[PodTerm, ...]
    preferred_pods: tuple[PodTerm, ...]
    spreads: tuple[Spread, ...]
    claims: tuple[str, ...]

    @property
    def namespace(self) -> str:
        """The namespace it is in."""
        return self.key.namespace

    @property
    def minds_others(self) -> bool:
        """Whether a pod that is placed elsewhere can make it fit."""
        return bool(self.near) or any(spread.hard for spread in self.spreads)

    @classmethod
    def of(cls, pod: Obj) -> Wish:
        """Read a pod's manifest."""
        spec = pod["spec"]
        affinity = spec.get("affinity") or {}
        of_nodes = affinity.get("nodeAffinity") or {}
        required: Obj | None = of_nodes.get(_REQUIRED)
        who = _Who(key_of(pod).namespace, labels_of(pod))
        return cls(
            key=key_of(pod),
            uid=uid_of(pod),
            labels=who.labels,
            requests=pod_requests(spec),
            owner_uid=(controller_of(pod) or {}).get("uid", ""),
            priority=int(spec.get("priority") or 0),
            preempts=spec.get("preemptionPolicy") != "Never",
            nominated=dig(pod, "status", "nominatedNodeName", default=""),
            node_selector=spec.get("nodeSelector") or {},
            node_terms=None if required is None else tuple(map(NodeTerm.of, required["nodeSelectorTerms"])),
            preferred_nodes=tuple(
                NodeTerm.of(entry["preference"], entry["weight"]) for entry in of_nodes.get(_PREFERRED) or ()
            ),
            tolerations=tuple(spec.get("tolerations") or ()),
            ports=host_ports(spec),
            near=_required(affinity.get("podAffinity"), who),
            apart=_required(affinity.get("podAntiAffinity"), who),
            preferred_pods=(
                *_preferred(affinity.get("podAffinity"), who, 1),
                *_preferred(affinity.get("podAntiAffinity"), who, -1),
            ),
            spreads=tuple(Spread.of(entry, who.labels) for entry in spec.get("topologySpreadConstraints") or ()),
            claims=tuple(claims_of(spec)),
        )


@dataclass(frozen=True, slots=True)
class _Who:
    namespace: str
    labels: Mapping[str, str]


def _required(affinity: Obj | None, who: _Who) -> tuple[PodTerm, ...]:
    return tuple(PodTerm.of(term, who) for term in (affinity or {}).get(_REQUIRED) or ())


def _preferred(affinity: Obj | None, who: _Who, sign: int) -> Iterable[PodTerm]:
    for entry in (affinity or {}).get(_PREFERRED) or ():
        yield PodTerm.of(entry["podAffinityTerm"], who, sign * int(entry["weight"]))


def tolerated(taint: Mapping[str, str], tolerations: Iterable[Toleration]) -> bool:
    """Tell whether any toleration puts up with a taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates(toleration: Toleration, taint: Mapping[str, str]) -> bool:
    """Tell whether one toleration puts up with a taint."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")
