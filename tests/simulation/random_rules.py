"""Rules about single writes of a control plane into a member; each says what should never have happened.

A rule looks at one write and at what is true everywhere, and is silent where a control plane could not have known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hanse.api.names import DRIFT_ANNOTATION, RENDERED_ANNOTATION, SINGLETON_ANNOTATION, TEMPLATE_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, dig, key_of, labels_of, uid_of
from hanse.native.kinds import is_federated
from tests.simulation.random_objects import essence
from tests.simulation.random_truth import (
    DEPLOYMENTS,
    DIVIDED,
    HOST,
    JOBS,
    KIND_OF,
    LAG_SECONDS,
    REGRET_SECONDS,
    SOURCES,
    STATEFUL_SETS,
    Truth,
    owner_of,
)

# What one change may take away unasked: fewer objects, or no more than half.
_BLAST_LEAST = 20
# People write and delete objects meanwhile, and which of them count is known a moment later.
_BLAST_MARGIN = 4
_RUNNING = {*DIVIDED, JOBS}


@dataclass(frozen=True, slots=True)
class Write:
    """A change that a control plane made in a member, and when."""

    place: str
    bucket: str
    before: Obj | None
    after: Obj | None
    now: float

    @property
    def named(self) -> str:
        """Where, and of what."""
        obj = self.after or self.before or {}
        return f"{self.place}: {obj['kind']} {key_of(obj)}"

    @property
    def uid(self) -> str:
        """Of which source the object is, or was, the copy."""
        return owner_of(self.after or {"metadata": {}}) or owner_of(self.before or {"metadata": {}})


Rule = Callable[[Truth, Write], Iterator[str]]


def is_singleton(source: Obj) -> bool:
    """Tell whether a workload must never run twice."""
    return source["kind"] == "StatefulSet" or annotations_of(source).get(SINGLETON_ANNOTATION) == "true"


def _runs(copy: Obj) -> int:
    """Return how many replicas a cluster has, or may have until those are gone that it shall not have any more.

    A Deployment that rolls its pods runs some of both versions, however many it was asked for: that is its strategy.
    """
    asked, running = int(dig(copy, "spec", "replicas", default=1)), int(dig(copy, "status", "replicas", default=0))
    rolls = copy["kind"] == "Deployment" and int(dig(copy, "status", "updatedReplicas", default=running)) < running
    return asked if rolls else max(asked, running)


def _at_most_once(truth: Truth, write: Write) -> Iterator[str]:
    """Never more of what must not run twice is asked for than people want."""
    source = truth.sources.get(write.uid)
    if write.bucket not in (DEPLOYMENTS, STATEFUL_SETS) or write.after is None or source is None:
        return
    replicas = int(dig(write.after, "spec", "replicas", default=1))
    had = int(dig(write.before, "spec", "replicas", default=1)) if write.before is not None else 0
    if not is_singleton(source) or replicas <= had:
        return
    others = {
        place: _runs(copy)
        for place, copy in truth.copies(write.uid)
        if place != write.place and _is_known(truth, place, write.now)
    }
    _least, wanted = truth.asked_lately(write.uid, write.now)
    if replicas + sum(others.values()) > wanted:
        yield f"at most once: {write.named} was given {replicas} of {wanted} replicas while others had {others}"


def _completed_once(truth: Truth, write: Write) -> Iterator[str]:
    """No part of a Job is given to two clusters."""
    source = truth.sources.get(write.uid)
    if write.bucket != JOBS or write.before is not None or source is None:
        return
    given = {
        place: int(dig(copy, "spec", "completions", default=0))
        for place, copy in truth.copies(write.uid)
        if _is_known(truth, place, write.now)
    }
    wanted = int(dig(source, "spec", "completions", default=0))
    if sum(given.values()) > wanted:
        yield f"at most once: {write.named} was made, and {wanted} completions were given as {given}"


def _is_known(truth: Truth, place: str, now: float) -> bool:
    """Tell whether a cluster is registered and could be read since it joined: what it has is known for good."""
    if place not in truth.clusters:
        return False
    joined, weather = truth.joined_at[place], truth.weather.get(place)
    read = weather is None or not weather.broken or weather.since > joined + LAG_SECONDS
    return read and joined < truth.known_since(now) - LAG_SECONDS


def _in_turn(truth: Truth, write: Write) -> Iterator[str]:
    """A changed template reaches clusters in their order, a few at a time, each after the ones before it are well."""
    if write.bucket != DEPLOYMENTS or write.before is None or write.after is None or not owner_of(write.after):
        return
    template = annotations_of(write.after).get(TEMPLATE_ANNOTATION)
    had = annotations_of(write.before).get(TEMPLATE_ANNOTATION)
    source = truth.sources.get(write.uid)
    if None in (template, had) or template == had or source is None or template is None:
        return
    policy = truth.policy_of(source)
    if policy is None or "rollout" not in policy["spec"]:
        return
    if truth.policies_at > truth.known_since(write.now) - LAG_SECONDS:
        return
    rollout = policy["spec"]["rollout"]
    others = [place for place, _copy in truth.copies(write.uid) if _takes_part(truth, write, place)]
    group = _group(rollout, write.place)
    for place in others:
        if _group(rollout, place) < group and (place, write.uid, template) not in truth.proven:
            yield f"in turn: {write.named} got a new version before {place}, whose turn is earlier, was well with it"
    unproven = [
        place
        for place, copy in truth.copies(write.uid)
        if place in others
        and annotations_of(copy).get(TEMPLATE_ANNOTATION) == template
        and (place, write.uid, template) not in truth.proven
    ]
    if "order" not in rollout and len(unproven) >= rollout.get("maxClusters", 1):
        yield f"in turn: {write.named} got a new version while {unproven} were not well with it yet"
    yield from _approved(truth, write, rollout, template)
    yield from _paused(truth, write, rollout, [(place, write.uid, template) for place in others])


def _paused(truth: Truth, write: Write, rollout: Obj, others: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """Between one change and the next there is a pause; clusters that may change at once have none between them.

    A request that hung until now was sent when it was its cluster's turn.
    """
    if truth.clock_is_wrong or not truth.is_calm(write.place, write.now):
        return
    # The source notes the moment in whole seconds, when it decides; the cluster gets it a little later.
    since = write.now - rollout.get("pauseSeconds", 0) + 1.0
    lately = [other for other in others if truth.given.get(other, since) > since]
    if "order" in rollout:
        group = _group(rollout, write.place)
        before = [other for other in lately if _group(rollout, other[0]) != group]
    else:
        before = lately if len(lately) >= rollout.get("maxClusters", 1) else []
    if before:
        ago = write.now - max(truth.given[other] for other in before)
        yield f"in turn: {write.named} got a new version {ago:.1f} s after the one before it"


def _approved(truth: Truth, write: Write, rollout: Obj, template: str) -> Iterator[str]:
    group = _group(rollout, write.place)
    if rollout.get("gate") != "Manual" or group == 0 or write.after is None:
        return
    begun = any(
        place != write.place and _group(rollout, place) == group and (place, write.uid, template) in truth.given
        for place in truth.clusters
    )
    what = essence(KIND_OF[write.bucket], write.after)
    approved = any(what == seen and group <= upto for seen, upto in truth.approvals.get(write.uid, ()))
    if not begun and not approved:
        yield f"in turn: {write.named} got a new version that nobody approved for group {group + 1}"


def _takes_part(truth: Truth, write: Write, place: str) -> bool:
    if place == write.place or not truth.is_steady(place, write.now):
        return False
    return truth.included(write.uid, place, write.now) and not truth.excluded(write.uid, place, write.now)


def _group(rollout: Obj, place: str) -> int:
    order: list[Any] = rollout.get("order", [])
    return next((index for index, term in enumerate(order) if place in term["names"]), len(order))


def _blast_radius(truth: Truth, write: Write) -> Iterator[str]:
    """Too much at once is not taken away before a person has approved it."""
    if write.after is not None and "deletionTimestamp" not in write.after["metadata"]:
        return
    since = truth.known_since(write.now) - LAG_SECONDS
    if not truth.live(write.uid) or truth.approved_at > since:
        return
    # What an earlier change sent away may still be on its way out.
    until = truth.last_selected.get((write.uid, write.place, True), float("-inf"))
    if until < truth.choices_at and truth.choices_at > since:
        return
    sources = [obj for (bucket, _path), obj in truth.objects[HOST].items() if bucket in SOURCES and _counts(obj)]
    leaving = {uid_of(source) for source in sources if _leaves(truth, source, write.now)} | {write.uid}
    if len(leaving) >= _BLAST_LEAST and len(leaving) * 2 > len(sources) + _BLAST_MARGIN:
        yield f"blast radius: {write.named} was deleted while {len(leaving)} of {len(sources)} objects were to leave"


def _counts(source: Obj) -> bool:
    return is_federated(source) and "deletionTimestamp" not in source["metadata"]


def _leaves(truth: Truth, source: Obj, now: float) -> bool:
    chosen = {name: truth.chosen(source, cluster) for name, cluster in truth.clusters.items()}
    if not any(chosen.values()):
        return False
    return any(
        place in chosen and chosen[place] is False and truth.is_calm(place, now)
        for place, _copy in truth.copies(uid_of(source))
    )


def _drift_is_left(truth: Truth, write: Write) -> Iterator[str]:
    """What somebody changed stays where the source says that it is only to be told."""
    source = truth.sources.get(write.uid)
    if source is None or write.before is None or write.after is None or not owner_of(write.after):
        return
    if annotations_of(source).get(DRIFT_ANNOTATION) != "report":
        return
    if annotations_of(write.before).get(RENDERED_ANNOTATION) != annotations_of(write.after).get(RENDERED_ANNOTATION):
        return
    if (labels_of(write.before), write.before.get("data")) != (labels_of(write.after), write.after.get("data")):
        yield f"others' fields: {write.named} was put back though drift is only to be reported"


def _cordon_holds(truth: Truth, write: Write) -> Iterator[str]:
    """Nothing new runs in a cluster that takes no new work; what somebody deleted there is put back, and is not new."""
    if write.before is not None or write.bucket not in _RUNNING:
        return
    if truth.was_robbed(write.place, write.uid, write.now):
        return
    since = truth.cordoned_at.get(write.place)
    if since is not None and since < truth.known_since(write.now) - REGRET_SECONDS:
        yield f"say why: {write.named} was placed in a cluster that takes no new work"


def _released_for_a_reason(truth: Truth, write: Write) -> Iterator[str]:
    """A copy is given away only when its source goes and shall leave its copies behind."""
    if write.before is None or write.after is None or owner_of(write.after) or not owner_of(write.before):
        return
    if owner_of(write.before) not in truth.orphaned:
        yield f"never on ignorance: {write.named} was released and nobody had asked for it"


RULES: tuple[Rule, ...] = (
    _at_most_once,
    _completed_once,
    _in_turn,
    _blast_radius,
    _drift_is_left,
    _cordon_holds,
    _released_for_a_reason,
)
