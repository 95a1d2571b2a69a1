"""What the executor looks at and what it says: values only, read from stored objects and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from hanse.api.shipper.kinds import CLUSTERS_ANNOTATION, PAUSED_ANNOTATION
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import Key, Obj, annotations_of, dig, key_of
from hanse.rollouts.environment import Check, Remedy, Strategy, parse_strategy

PatchKind = Literal["capacity", "traffic"]


@dataclass(frozen=True, slots=True)
class TargetView:
    """What a target asks of its clusters and what they have of it.

    `wanted` are percents or weights (an InstallationTarget asks for nothing: zeros). `whole` is the Ready condition of
    the target itself; `current` whether its status speaks of its present spec.
    """

    wanted: Mapping[str, int]
    current: bool
    ready: Mapping[str, bool]
    messages: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Achieved:
    """The step that a release reached last."""

    step: int
    name: str


@dataclass(frozen=True, slots=True)
class ReleaseView:
    """A release as the executor sees it."""

    key: Key
    strategy: Strategy
    target_step: int
    achieved: Achieved | None = None
    complete: bool = False
    clusters: tuple[str, ...] = ()
    installation: TargetView | None = None
    capacity: TargetView | None = None
    traffic: TargetView | None = None
    conditions: tuple[Obj, ...] = ()
    paused: bool = False
    progress: Obj = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What is known of a cluster: what waves choose by, and why it cannot be reached ("" where it can)."""

    region: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    unreachable: str = ""


class Outcome(StrEnum):
    """What an answer to a check says."""

    SUCCESS = "Success"
    FAILURE = "Failure"
    INCONCLUSIVE = "Inconclusive"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to a check, at a time in seconds since the epoch; `value` is what was found, in a few words."""

    outcome: Outcome
    at: float
    value: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """New percents or weights for one release's target, for all of its clusters."""

    release: Key
    kind: PatchKind
    values: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Execution:
    """What is to be done for a release now, and what is to be said of it.

    `strategy_status` is None where the stored one stays. `problem` is the reason and the sentence of a strategy that
    cannot be executed. `advance` is a targetStep to go to, `remedy` what a failed check or a missed deadline asks for,
    `ask` the checks that are due, `look_again` after how many seconds time alone may change the answer.
    """

    patches: tuple[Patch, ...] = ()
    strategy_status: Obj | None = None
    achieved: Achieved | None = None
    complete: bool = False
    problem: tuple[str, str] | None = None
    progress: Obj = field(default_factory=dict)
    advance: int | None = None
    remedy: Remedy | None = None
    waits_for: str = ""
    look_again: float | None = None
    ask: tuple[Check, ...] = ()


def view_of(release: Obj, installation: Obj | None, capacity: Obj | None, traffic: Obj | None) -> ReleaseView:
    """Read a release and its targets as they are stored; raises EnvironmentProblem where its strategy is unreadable."""
    achieved = dig(release, "status", "achievedStep")
    names = annotations_of(release).get(CLUSTERS_ANNOTATION, "")
    return ReleaseView(
        key=key_of(release),
        strategy=parse_strategy(
            dig(release, "spec", "environment", "strategy", default={}), "spec.environment.strategy"
        ),
        target_step=int(dig(release, "spec", "targetStep", default=0)),
        achieved=None
        if achieved is None
        else Achieved(int(achieved.get("step") or 0), str(achieved.get("name") or "")),
        complete=is_true(dig(release, "status", "conditions"), "Complete"),
        clusters=tuple(name for name in names.split(",") if name),
        installation=_installation(installation),
        capacity=_numbers(capacity, "percent"),
        traffic=_numbers(traffic, "weight"),
        conditions=tuple(dig(release, "status", "strategy", "conditions", default=())),
        paused=annotations_of(release).get(PAUSED_ANNOTATION) == "true",
        progress=dig(release, "status", "progress", default={}),
    )


def _installation(target: Obj | None) -> TargetView | None:
    if target is None:
        return None
    return _target(target, dict.fromkeys(dig(target, "spec", "clusters", default=()), 0), current=True)


def _numbers(target: Obj | None, field_name: str) -> TargetView | None:
    if target is None:
        return None
    wanted = {each["name"]: int(each.get(field_name) or 0) for each in dig(target, "spec", "clusters", default=())}
    observed = dig(target, "status", "observedGeneration", default=0)
    return _target(target, wanted, current=observed >= target["metadata"].get("generation", 0))


def _target(target: Obj, wanted: Mapping[str, int], *, current: bool) -> TargetView:
    conditions = dig(target, "status", "conditions")
    rows = {each["name"]: each.get("conditions") for each in dig(target, "status", "clusters", default=())}
    return TargetView(
        wanted=wanted,
        current=current,
        ready={name: is_true(rows.get(name), "Ready") for name in wanted},
        messages={name: _message(rows.get(name)) for name in wanted},
        message=_message(conditions),
        whole=is_true(conditions, "Ready"),
    )


def _message(conditions: list[Obj] | None) -> str:
    found = find_condition(conditions, "Ready") or {}
    return str(found.get("message") or found.get("reason") or "")
