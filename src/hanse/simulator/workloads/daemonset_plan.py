"""Decides on which nodes a DaemonSet's pods are made and removed next, and what its status says.

First every node gets what it lacks and loses what is too much; only when there is nothing of that to do does the
rolling update take its next step. The rules are upstream's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hanse.kube.manifest import Obj, dig
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.controller_revisions import POD_REVISION
from hanse.simulator.workloads.daemonset_nodes import TEMPLATE_GENERATION, DaemonNode, template_generation
from hanse.simulator.workloads.replicas import is_available, min_ready_seconds
from hanse.simulator.workloads.rollout import share_of


@dataclass(frozen=True, slots=True)
class DaemonSetPlan:
    """The next step of a DaemonSet: nodes that get a pod, and pods that go."""

    create: tuple[str, ...] = ()
    delete: tuple[PodFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class DaemonSituation:
    """A DaemonSet, the nodes, its pods, and the hash of its present revision."""

    daemon_set: Obj
    nodes: Sequence[DaemonNode]
    pods: Sequence[PodFacts]
    revision_hash: str
    now: float

    def on(self, node: str) -> list[PodFacts]:
        """Return the pods for a node, the one that counts first; what has ended and is going is nobody's."""
        found = [pod for pod in self.pods if target_of(pod) == node and not (pod.finished and pod.deleting)]
        return sorted(found, key=lambda pod: (not pod.node, pod.created, pod.key.name))

    def is_present(self, pod: PodFacts) -> bool:
        """Tell whether a pod is of the DaemonSet's present template."""
        generation = template_generation(self.daemon_set)
        by_generation = bool(generation) and pod.labels.get(TEMPLATE_GENERATION) == generation
        return by_generation or pod.labels.get(POD_REVISION) == self.revision_hash

    def is_available(self, pod: PodFacts) -> bool:
        """Tell whether a pod has been ready for long enough."""
        return is_available(pod, min_ready_seconds(self.daemon_set), self.now)

    def share(self, field: str, *, default: int) -> int:
        """Return maxSurge or maxUnavailable as a number of nodes; zero unless the strategy is a rolling update."""
        strategy: Obj = dig(self.daemon_set, "spec", "updateStrategy", default={})
        if strategy.get("type") != "RollingUpdate":
            return 0
        wanted = sum(1 for node in self.nodes if node.starts)
        return share_of(dig(strategy, "rollingUpdate", field, default=default), wanted, up=True)

    @property
    def surges(self) -> bool:
        """Whether a node may have an old and a new pod at once."""
        rolling: Obj = dig(self.daemon_set, "spec", "updateStrategy", default={})
        surge = dig(rolling, "rollingUpdate", "maxSurge", default=0)
        return rolling.get("type") == "RollingUpdate" and share_of(surge, 1, up=True) > 0


def target_of(pod: PodFacts) -> str:
    """Return the node that a pod is on, or is meant for."""
    return pod.node or pod.bound_for


def plan_daemonset(here: DaemonSituation) -> DaemonSetPlan:
    """Compare a DaemonSet's pods with its nodes."""
    filled = _fill(here)
    if filled.create or filled.delete:
        return filled
    if dig(here.daemon_set, "spec", "updateStrategy", "type") != "RollingUpdate":
        return filled
    return _surge(here) if here.share("maxSurge", default=0) else _replace(here)


def _fill(here: DaemonSituation) -> DaemonSetPlan:
    create: list[str] = []
    delete: list[PodFacts] = []
    for node in here.nodes:
        pods = here.on(node.name)
        staying = [pod for pod in pods if not pod.deleting]
        if node.starts and not pods:
            create.append(node.name)
        elif not node.stays:
            delete += staying
        else:
            delete += [pod for pod in staying if pod.finished]
            running = [pod for pod in staying if not pod.finished]
            if not running and here.surges and node.starts:
                create.append(node.name)
            delete += _surplus(here, running)
    known = {node.name for node in here.nodes}
    delete += [pod for pod in here.pods if not pod.node and not pod.deleting and target_of(pod) not in known]
    return DaemonSetPlan(tuple(create), tuple(delete))


def _surplus(here: DaemonSituation, running: Sequence[PodFacts]) -> list[PodFacts]:
    """Return which of a node's running pods are too many; where pods may surge, one old and one new may stay."""
    if not here.surges:
        return list(running[1:])
    new, old = ([pod for pod in running if (_hash(pod) == here.revision_hash) is wanted] for wanted in (True, False))
    surplus = [*new[1:], *old[1:]]
    if new and old and (not old[0].ready or here.is_available(new[0])):
        surplus.append(old[0])
    return surplus


def _hash(pod: PodFacts) -> str:
    return pod.labels.get(POD_REVISION, "")


@dataclass(frozen=True, slots=True)
class _OnNode:
    node: DaemonNode
    new: tuple[PodFacts, ...]
    old: tuple[PodFacts, ...]

    @property
    def crowded(self) -> bool:
        return len(self.new) > 1 or len(self.old) > 1


def _by_node(here: DaemonSituation) -> Iterable[_OnNode]:
    for node in here.nodes:
        pods = here.on(node.name)
        if pods or node.starts:
            staying = [pod for pod in pods if not pod.deleting]
            yield _OnNode(
                node,
                tuple(pod for pod in staying if here.is_present(pod)),
                tuple(pod for pod in staying if not here.is_present(pod)),
            )


def _replace(here: DaemonSituation) -> DaemonSetPlan:
    """Remove old pods as far as the nodes without an available one allow; what is not available goes anyway."""
    unavailable = 0
    broken: list[PodFacts] = []
    candidates: list[PodFacts] = []
    for found in _by_node(here):
        if found.crowded or bool(found.new) == bool(found.old):
            unavailable += 1
        elif found.new:
            unavailable += not here.is_available(found.new[0])
        elif not here.is_available(found.old[0]):
            broken.append(found.old[0])
            unavailable += 1
        else:
            candidates.append(found.old[0])
    # Neither surge nor unavailability would mean no update ever.
    room = max(0, (here.share("maxUnavailable", default=1) or 1) - unavailable)
    return DaemonSetPlan(delete=(*broken, *candidates[:room]))


def _surge(here: DaemonSituation) -> DaemonSetPlan:
    """Start new pods beside old ones as far as the surge allows; an old one goes when its successor is available."""
    surging = available = 0
    urgent: list[str] = []
    candidates: list[str] = []
    delete: list[PodFacts] = []
    unwanted: list[PodFacts] = []
    for found in _by_node(here):
        if found.crowded:
            surging += 1
            continue
        available += any(here.is_available(pod) for pod in (found.old or found.new))
        if not found.old:
            continue
        old = found.old[0]
        if found.new:
            if here.is_available(found.new[0]):
                delete.append(old)
            else:
                surging += 1
        elif here.is_available(old):
            if found.node.starts:
                candidates.append(found.node.name)
            else:
                unwanted.append(old)
        elif found.node.starts:
            urgent.append(found.node.name)
        else:
            delete.append(old)
    wanted = sum(1 for node in here.nodes if node.starts)
    delete += unwanted[: max(0, available - wanted)]
    room = max(0, here.share("maxSurge", default=0) - surging)
    return DaemonSetPlan(create=(*urgent, *candidates[:room]), delete=tuple(delete))


def daemonset_status(here: DaemonSituation) -> Obj:
    """Return the status that a DaemonSet shall show; counts of zero that upstream leaves out are left out."""
    desired = current = misplaced = ready = updated = available = 0
    for node in here.nodes:
        pods = here.on(node.name)
        if not node.starts:
            misplaced += bool(pods)
            continue
        desired += 1
        if pods:
            current += 1
            ready += pods[0].ready
            available += here.is_available(pods[0])
            updated += here.is_present(pods[0])
    rest = {
        "updatedNumberScheduled": updated,
        "numberAvailable": available,
        "numberUnavailable": desired - available,
        "collisionCount": dig(here.daemon_set, "status", "collisionCount", default=0),
    }
    return {
        "observedGeneration": here.daemon_set["metadata"].get("generation", 0),
        "currentNumberScheduled": current,
        "numberMisscheduled": misplaced,
        "desiredNumberScheduled": desired,
        "numberReady": ready,
        **{name: count for name, count in rest.items() if count},
    }
