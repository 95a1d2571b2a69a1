"""Decides on which node a pod fits best, or says why on none: the scheduler's rules without its loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hanse.kube.manifest import Obj, dig, labels_of, name_of
from hanse.kube.quantities import millicores, whole_units

_UNSCHEDULABLE_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_KEEPS_OUT = ("NoSchedule", "NoExecute")

# Why a node is refused; another pod's removal can only help with the last three.
_CORDONED = "node(s) were unschedulable"
_TAINTED = "node(s) had untolerated taint(s)"
_NOT_SELECTED = "node(s) didn't match Pod's node affinity/selector"
_TOO_MANY_PODS = "Too many pods"
_NO_CPU = "Insufficient cpu"
_NO_MEMORY = "Insufficient memory"
_HOPELESS = frozenset({_CORDONED, _TAINTED, _NOT_SELECTED})


@dataclass(frozen=True, slots=True)
class Room:
    """Amounts of what nodes have and pods ask for."""

    cpu_millicores: int = 0
    memory_bytes: int = 0
    pods: int = 0

    def __add__(self, other: Room) -> Room:
        return Room(
            self.cpu_millicores + other.cpu_millicores,
            self.memory_bytes + other.memory_bytes,
            self.pods + other.pods,
        )

    def __sub__(self, other: Room) -> Room:
        return Room(
            self.cpu_millicores - other.cpu_millicores,
            self.memory_bytes - other.memory_bytes,
            self.pods - other.pods,
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node as the scheduler sees it: what it is, what it has, what is taken, and how many siblings run there."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    cordoned: bool
    capacity: Room
    taken: Room = Room()
    siblings: int = 0


@dataclass(frozen=True, slots=True)
class Wish:
    """What a pod asks of a node."""

    room: Room
    node_selector: Mapping[str, str]
    tolerations: tuple[Mapping[str, str], ...]

    @classmethod
    def of(cls, pod: Obj, room: Room) -> Wish:
        """Read a pod's wish."""
        spec = pod["spec"]
        return cls(room, spec.get("nodeSelector") or {}, tuple(spec.get("tolerations") or ()))


def candidate(node: Obj) -> Candidate:
    """Read a node's manifest; nothing is taken yet."""
    spec = node.get("spec") or {}
    allocatable = dig(node, "status", "allocatable", default={})
    capacity = Room(
        millicores(allocatable.get("cpu", 0)),
        whole_units(allocatable.get("memory", 0)),
        whole_units(allocatable.get("pods", 0)),
    )
    taints = tuple(spec.get("taints") or ())
    return Candidate(name_of(node), labels_of(node), taints, bool(spec.get("unschedulable")), capacity)


def refusals(wish: Wish, node: Candidate) -> list[str]:
    """Return why a node cannot take a pod; empty when it can. Only room is refused for several reasons at once."""
    if node.cordoned and not _tolerated(_UNSCHEDULABLE_TAINT, wish.tolerations):
        return [_CORDONED]
    if any(taint.get("effect") in _KEEPS_OUT and not _tolerated(taint, wish.tolerations) for taint in node.taints):
        return [_TAINTED]
    if any(node.labels.get(key) != value for key, value in wish.node_selector.items()):
        return [_NOT_SELECTED]
    after = node.taken + wish.room
    found = []
    if after.pods > node.capacity.pods:
        found.append(_TOO_MANY_PODS)
    if wish.room.cpu_millicores and after.cpu_millicores > node.capacity.cpu_millicores:
        found.append(_NO_CPU)
    if wish.room.memory_bytes and after.memory_bytes > node.capacity.memory_bytes:
        found.append(_NO_MEMORY)
    return found


def _tolerated(taint: Mapping[str, str], tolerations: Iterable[Mapping[str, str]]) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Mapping[str, str], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def choose_node(wish: Wish, nodes: Sequence[Candidate]) -> Candidate | None:
    """Return the best node that can take a pod: fewest siblings first, then the emptiest; None where none can."""
    fitting = [node for node in nodes if not refusals(wish, node)]
    return min(fitting, key=lambda node: (node.siblings, _fullness(wish, node), node.name), default=None)


def _fullness(wish: Wish, node: Candidate) -> tuple[float, int]:
    after = node.taken + wish.room
    cpu = after.cpu_millicores / max(1, node.capacity.cpu_millicores)
    memory = after.memory_bytes / max(1, node.capacity.memory_bytes)
    return cpu + memory, after.pods


def unschedulable_message(wish: Wish, nodes: Sequence[Candidate]) -> str:
    """Say why no node takes a pod, in kube-scheduler's words."""
    if not nodes:
        return "no nodes available to schedule pods"
    found = [refusals(wish, node) for node in nodes]
    total = len(nodes)
    hopeless = sum(1 for reasons in found if not _HOPELESS.isdisjoint(reasons))
    preemption = Counter({"Preemption is not helpful for scheduling": hopeless})
    preemption["No preemption victims found for incoming pod"] = total - hopeless
    return (
        f"0/{total} nodes are available: {_histogram(reason for reasons in found for reason in reasons)}. "
        f"preemption: 0/{total} nodes are available: {_histogram(preemption.elements())}."
    )


def _histogram(reasons: Iterable[str]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in Counter(reasons).items()))
