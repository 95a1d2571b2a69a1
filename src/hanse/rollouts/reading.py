"""What stored objects say of a rollout: who is contender and incumbent, which step, how it stands, what it waits for.

Pure. Commands read a rollout this way, from what anybody may get with kubectl; nothing here decides anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hanse.api.shipper.kinds import PAUSED_ANNOTATION
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import Obj, annotations_of, dig, is_deleting, name_of
from hanse.rollouts.cluster_reading import NO_TARGETS, ClusterReading, Targets, clusters_of
from hanse.rollouts.releases.explaining import what_it_waits_for
from hanse.rollouts.shelf import generation_of

# Conditions of an Application that say that its template does not become a release as it is.
_TEMPLATE_REASONS = frozenset({"ChartVersionResolutionFailed", "CreateReleaseFailed", "InvalidTemplate"})
# Reasons for which a release is not scheduled that may pass without anybody's doing.
_PASSING_REASONS = frozenset({"ChartFetchFailure", "ChartRepoInternal", "NoCachedChartRepoIndex", "FailedAPICall"})
# What is said under those reasons too, and stays until somebody changes the template or the control plane.
_LASTING = (
    "broken shipper chart spec",
    "internal chart repo client error",
    "is not the name of a chart",
    "has a user or a password in it",
    "file:/// is off",
)
# How the control plane begins a sentence about a step, which it counts from 0; a title says how many there are.
_STEP = re.compile(r"step (\d+)(?! of )\b")
# What it does by itself about a failed check or a missed deadline.
_GOING_BACK = ("Abort", "Rollback")


class Role(StrEnum):
    """What a release is to its application."""

    CONTENDER = "contender"
    INCUMBENT = "incumbent"
    EARLIER = "earlier"
    LEAVING = "leaving"


class Outcome(StrEnum):
    """How a rollout stands: on its way, at a step with a person to go on, over, or held up."""

    WORKING = "working"
    WAITING = "waiting"
    COMPLETE = "complete"
    PAUSED = "paused"
    BLOCKED = "blocked"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How something stands and one sentence why; a failure that `may_pass` is tried again by itself."""

    outcome: Outcome
    why: str = ""
    may_pass: bool = False


_PAUSED = Verdict(Outcome.PAUSED, "it is paused; `hanse rollout resume` lets it go on")


@dataclass(frozen=True, slots=True)
class ReleaseReading:
    """One release as its stored objects tell of it."""

    obj: Obj
    role: Role
    verdict: Verdict
    clusters: tuple[ClusterReading, ...] = ()
    targets: Targets = NO_TARGETS

    @property
    def name(self) -> str:
        """The release's name."""
        return name_of(self.obj)

    @property
    def steps(self) -> list[Obj]:
        """The steps of its strategy."""
        return steps_of(self.obj)

    @property
    def target_step(self) -> int:
        """The step that it shall reach."""
        return int(dig(self.obj, "spec", "targetStep", default=0))

    @property
    def achieved_step(self) -> int | None:
        """The step that it has reached, None before the first."""
        found = dig(self.obj, "status", "achievedStep", "step")
        return None if found is None else int(found)

    @property
    def paused(self) -> bool:
        """Whether it is frozen where it is."""
        return is_paused(self.obj)


@dataclass(frozen=True, slots=True)
class RolloutReading:
    """An application and its releases, the newest first; `verdict` is how its rollout stands."""

    application: Obj
    releases: tuple[ReleaseReading, ...]
    verdict: Verdict

    @property
    def contender(self) -> ReleaseReading | None:
        """The newest release that is not on its way out."""
        return self.of_role(Role.CONTENDER)

    @property
    def incumbent(self) -> ReleaseReading | None:
        """The newest other release that was completed."""
        return self.of_role(Role.INCUMBENT)

    def of_role(self, role: Role) -> ReleaseReading | None:
        """Return the release of a role, the newest where several have it."""
        return next((each for each in self.releases if each.role is role), None)

    def named(self, name: str) -> ReleaseReading | None:
        """Return the release of that name."""
        return next((each for each in self.releases if each.name == name), None)

    @property
    def is_current(self) -> bool:
        """Whether the contender is what the template asks for."""
        contender = self.contender
        return contender is not None and same_environment(self.application, contender.obj)


def read_rollout(application: Obj, releases: Iterable[Obj], targets: Mapping[str, Targets]) -> RolloutReading:
    """Read an application with its releases and, by the releases' names, their targets."""
    roles = _roles(newest_first(releases))
    returns = any(role is Role.INCUMBENT for _, role in roles)
    readings = tuple(_release(obj, role, targets.get(name_of(obj), NO_TARGETS), returns=returns) for obj, role in roles)
    rollout = RolloutReading(application, readings, Verdict(Outcome.WORKING))
    return RolloutReading(application, readings, _rollout_verdict(rollout))


def newest_first(releases: Iterable[Obj]) -> list[Obj]:
    """Return releases, the highest generation first; one whose generation is no number is last."""
    return sorted(releases, key=lambda obj: -1 if (made := generation_of(obj)) is None else made, reverse=True)


def steps_of(release: Obj) -> list[Obj]:
    """Return the steps of a release's strategy."""
    return list(dig(release, "spec", "environment", "strategy", "steps", default=[]))


def is_paused(release: Obj) -> bool:
    """Tell whether a release is frozen where it is."""
    return annotations_of(release).get(PAUSED_ANNOTATION) == "true"


def is_complete(release: Obj) -> bool:
    """Tell whether a release was completed once."""
    return is_true(dig(release, "status", "conditions"), "Complete")


def same_environment(application: Obj, release: Obj) -> bool:
    """Tell whether a release is what an application's template asks for."""
    return bool(dig(application, "spec", "template") == dig(release, "spec", "environment"))


def step_title(release: Obj, step: int) -> str:
    """Name a step as people count: `2 of 3 (full on)`."""
    steps = steps_of(release)
    name = steps[step].get("name", "") if 0 <= step < len(steps) else ""
    return f"{step + 1} of {len(steps)}" + (f" ({name})" if name else "")


def counted_from_one(release: Obj, sentence: str) -> str:
    """Return a sentence of the control plane about a step of a release with that step named as people count."""
    found = _STEP.match(sentence)
    if found is None:
        return sentence
    step, rest = int(found[1]), sentence[found.end() :]
    steps = steps_of(release)
    name = steps[step].get("name", "") if step < len(steps) else ""
    return f"step {step_title(release, step)}{rest.removeprefix(f' ({name})')}"


def _roles(ordered: Sequence[Obj]) -> list[tuple[Obj, Role]]:
    contender = next((obj for obj in ordered if not is_deleting(obj)), None)
    others = [obj for obj in ordered if obj is not contender and not is_deleting(obj)]
    incumbent = next((obj for obj in others if is_complete(obj)), None)

    def role(obj: Obj) -> Role:
        if is_deleting(obj):
            return Role.LEAVING
        return Role.CONTENDER if obj is contender else Role.INCUMBENT if obj is incumbent else Role.EARLIER

    return [(obj, role(obj)) for obj in ordered]


def _release(obj: Obj, role: Role, targets: Targets, *, returns: bool) -> ReleaseReading:
    verdict = release_verdict(obj, role, targets, returns=returns)
    return ReleaseReading(obj, role, verdict, clusters_of(obj, targets), targets)


def release_verdict(
    release: Obj, role: Role = Role.CONTENDER, targets: Targets = NO_TARGETS, *, returns: bool = True
) -> Verdict:
    """Say how a release stands; `returns` tells whether there is one to go back to."""
    told = what_it_waits_for(release, targets.installation, targets.capacity, targets.traffic)
    told = counted_from_one(release, told)
    if role is Role.LEAVING:
        return Verdict(Outcome.WORKING, told)
    verdict = _held_up(release, returns=returns) or _under_way(release, role, told)
    return _beneath(verdict, dig(release, "status", "conditions", default=[]))


def _beneath(verdict: Verdict, conditions: list[Obj]) -> Verdict:
    """Return a verdict under the block that conditions tell of: it holds what is not over."""
    blocked = find_condition(conditions, "Blocked") or {}
    if blocked.get("status") != "True":
        return verdict
    return Verdict(Outcome.COMPLETE if verdict.outcome is Outcome.COMPLETE else Outcome.BLOCKED, _blocked(blocked))


def _under_way(release: Obj, role: Role, told: str) -> Verdict:
    target = int(dig(release, "spec", "targetStep", default=0))
    title = step_title(release, target)
    if not is_settled(release):
        return (
            _PAUSED if is_paused(release) else Verdict(Outcome.WORKING, told or f"step {title} is yet to be achieved")
        )
    if role is not Role.CONTENDER or (is_complete(release) and target >= len(steps_of(release)) - 1):
        return Verdict(Outcome.COMPLETE)
    if is_paused(release):
        return _PAUSED
    if told and not _waits_for_command(release, target):
        return Verdict(Outcome.WAITING, told)
    return Verdict(Outcome.WAITING, f"step {title} is achieved; `hanse rollout promote` goes on")


def _waits_for_command(release: Obj, step: int) -> bool:
    """Tell whether a person alone decides when a step ends."""
    steps = steps_of(release)
    return step >= len(steps) or not (steps[step].get("pause") or steps[step].get("checks"))


def _held_up(release: Obj, *, returns: bool) -> Verdict | None:
    conditions = dig(release, "status", "conditions", default=[])
    scheduled = find_condition(conditions, "Scheduled") or {}
    if scheduled.get("status") == "False":
        passes = scheduled.get("reason") in _PASSING_REASONS and not _lasts(scheduled)
        return Verdict(Outcome.FAILED, _said(scheduled), may_pass=passes)
    executed = find_condition(conditions, "StrategyExecuted") or {}
    if executed.get("status") == "False":
        return Verdict(Outcome.FAILED, _said(executed))
    if told := failure_of(release):
        return Verdict(Outcome.FAILED, f"{told}; {_remedies(release, returns=returns)}")
    return None


def _lasts(condition: Obj) -> bool:
    return any(words in _said(condition) for words in _LASTING)


def _remedies(release: Obj, *, returns: bool) -> str:
    """Say what is done about a failed check or a missed deadline, or what a person can do."""
    remedy = dig(release, "status", "progress", "failure", "remedy", default="")
    if returns and remedy in _GOING_BACK and not is_paused(release):
        return "it is rolled back"
    ways = "`hanse rollout retry` tries again, `promote` goes on"
    return f"{ways}, `abort` goes back" if returns else ways


def failure_of(release: Obj) -> str:
    """Return what a check or a deadline found wrong with a release's step, "" where a person has overridden it."""
    progress = dig(release, "status", "progress", default={})
    failure = progress.get("failure") or {}
    if failure.get("overridden") or progress.get("step") != dig(release, "spec", "targetStep", default=0):
        return ""
    return counted_from_one(release, str(failure.get("message") or ""))


def _blocked(condition: Obj) -> str:
    return f"{_said(condition)}; delete it or override it (`hanse rollout blocks --help`)"


def _said(condition: Obj) -> str:
    return str(condition.get("message") or condition.get("reason") or "")


def is_settled(release: Obj) -> bool:
    """Tell whether a release has achieved the step that it shall reach."""
    target, achieved = dig(release, "spec", "targetStep", default=0), dig(release, "status", "achievedStep", "step")
    state = dig(release, "status", "strategy", "state", default={})
    waits = (state.get(f"waitingFor{what}") == "True" for what in ("Installation", "Capacity", "Traffic"))
    return achieved == target and not any(waits)


def _rollout_verdict(rollout: RolloutReading) -> Verdict:
    conditions = dig(rollout.application, "status", "conditions", default=[])
    return _beneath(_unblocked_verdict(rollout, conditions), conditions)


def _unblocked_verdict(rollout: RolloutReading, conditions: list[Obj]) -> Verdict:
    rolling = find_condition(conditions, "RollingOut") or {}
    if rolling.get("status") == "False" and rolling.get("reason") in _TEMPLATE_REASONS:
        passing = rolling["reason"] == "ChartVersionResolutionFailed" and not _lasts(rolling)
        return Verdict(Outcome.FAILED, _said(rolling), may_pass=passing)
    if (history := find_condition(conditions, "ValidHistory") or {}).get("status") == "False":
        return Verdict(Outcome.FAILED, _said(history))
    if rollout.contender is None or not rollout.is_current:
        return Verdict(Outcome.WORKING, "no release was made of its template yet")
    return rollout.contender.verdict
