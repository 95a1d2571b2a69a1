"""Where each elected pod really runs, told from what clusters show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hanse.api.admiralty.keys import PARENT_CLUSTER, PARENT_UID, REASON
from hanse.api.admiralty.names import TargetName, child_name
from hanse.cli.elsewhere import FEDERATION_SOURCE, Elsewhere, Sight
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, annotations_of, dig, is_deleting, labels_of, name_of, namespace_of, uid_of
from hanse.pods.placeholder.reading import answers_of, attempt_of, target_of

_USUAL = ("it is named", "it is ready")
_ONE = "of 1 replicas it gets 1"


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """One elected pod: where it seems to be, where it is, and why."""

    source: str
    namespace: str
    name: str
    phase: str
    target: str
    """The target in which it runs, or is about to; "" where it has no place yet."""
    cluster: str
    """The registered cluster behind the target, "" where it is private to the source."""
    child: str
    """The pod that really runs."""
    attempt: int
    why: str
    answers: Mapping[str, str]
    """What other targets answered that could not run it."""
    created: str


def whereabouts(elsewhere: Elsewhere, source: str | None = None) -> list[Whereabouts]:
    """Tell of every elected pod, of one source or of all."""
    held = _holders(elsewhere)
    return [
        _one(name, pod, elsewhere.seen[name], held)
        for name in sorted(elsewhere.seen)
        if source in (None, name)
        for pod in elsewhere.seen[name].placeholders
    ]


def _holders(elsewhere: Elsewhere) -> dict[tuple[str, str], list[str]]:
    """Return the clusters that have a chaperon of each parent, by its source and uid."""
    found: dict[tuple[str, str], list[str]] = {}
    for cluster, sight in elsewhere.seen.items():
        for labels in map(labels_of, sight.chaperons):
            parent = (labels.get(PARENT_CLUSTER, FEDERATION_SOURCE), labels[PARENT_UID])
            found.setdefault(parent, []).append(cluster)
    return found


def _one(source: str, pod: Obj, sight: Sight, held: Mapping[tuple[str, str], Sequence[str]]) -> Whereabouts:
    # Anybody can write a chaperon into a cluster of theirs. What counts is what the source says, and where it leads.
    offered = (_target_at(source, cluster, pod, sight) for cluster in held.get((source, uid_of(pod)), ()))
    target = target_of(pod) or next(filter(None, offered), "")
    return Whereabouts(
        source=source,
        namespace=namespace_of(pod),
        name=name_of(pod),
        phase=_phase(pod),
        target=target,
        cluster=_behind(source, target, sight),
        # The same in every target, so that it is known of one that cannot be asked, too.
        child=child_name(source, namespace_of(pod), name_of(pod)) if target else "",
        attempt=attempt_of(pod),
        why=_why(pod),
        answers={name: answer.why for name, answer in sorted(answers_of(pod).items())},
        created=str(pod["metadata"].get("creationTimestamp") or ""),
    )


def telling(reasons: str) -> str:
    """Return of the reasons for a place those that set it apart: every target is named and ready, and a pod is one."""
    kept = []
    for reason in reasons.split("; "):
        if reason not in _USUAL:
            divided, colon, how = reason.partition(": ")
            kept.append(how if colon and divided.startswith(_ONE) else reason)
    return "; ".join(kept)


def target_name(target: Obj) -> TargetName:
    """Return how a Target or ClusterTarget is called."""
    return TargetName(namespace_of(target), name_of(target))


def leads_to(target: Obj, source: str) -> str:
    """Return the registered cluster to which a target leads, "" where it is private to its source."""
    if dig(target, "spec", "self", default=False):
        return source
    return str(dig(target, "spec", "clusterName", default="") or "")


def _target_at(source: str, cluster: str, pod: Obj, sight: Sight) -> str:
    """Return the target that leads to a cluster, "" for none; the federation's own are called as their clusters."""
    if source == FEDERATION_SOURCE:
        return cluster
    found = (
        target_name(each)
        for each in sight.targets
        if leads_to(each, source) == cluster and target_name(each).serves(namespace_of(pod))
    )
    return str(next(found, ""))


def _behind(source: str, target: str, sight: Sight) -> str:
    found = (leads_to(each, source) for each in sight.targets if str(target_name(each)) == target)
    return next(found, target if source == FEDERATION_SOURCE else "")


def _phase(pod: Obj) -> str:
    if is_deleting(pod):
        return "Terminating"
    return str(dig(pod, "status", "phase", default="") or "Pending")


def _why(pod: Obj) -> str:
    """Say why a pod runs where it runs, or what it waits for."""
    conditions = dig(pod, "status", "conditions", default=None)
    for kind in ("DisruptionTarget", "PodScheduled"):
        told = find_condition(conditions, kind)
        telling = kind == "DisruptionTarget" or (told is not None and told.get("status") != "True")
        if told is not None and telling and told.get("message"):
            return str(told["message"])
    return annotations_of(pod).get(REASON, "")
