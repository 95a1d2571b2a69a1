"""What stored objects say of a rollout: who is contender and incumbent, which step, how it stands, what it waits for.

Pure. Commands read a rollout this way, from what anybody may get with kubectl; nothing here decides anything.
"""

from __future__ import annotations

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
    ordered = newest_first(releases)
    roles = _roles(ordered)
    readings = tuple(_release(obj, role, targets.get(name_of(obj), NO_TARGETS)) for obj, role in roles)
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


def _roles(ordered: Sequence[Obj]) -> list[tuple[Obj, Role]]:
    contender = next((obj for obj in ordered if not is_deleting(obj)), None)
    others = [obj for obj in ordered if obj is not contender and not is_deleting(obj)]
    incumbent = next((obj for obj in others if is_complete(obj)), None)

    def role(obj: Obj) -> Role:
        if is_deleting(obj):
            return Role.LEAVING
        return Role.CONTENDER if obj is contender else Role.INCUMBENT if obj is incumbent else Role.EARLIER

    return [(obj, role(obj)) for obj in ordered]


def _release(obj: Obj, role: Role, targets: Targets) -> ReleaseReading:
    return ReleaseReading(obj, role, release_verdict(obj, role, targets), clusters_of(obj, targets), targets)


def release_verdict(release: Obj, role: Role = Role.CONTENDER, targets: Targets = NO_TARGETS) -> Verdict:
    """Say how a release stands."""
    told = what_it_waits_for(release, targets.installation, targets.capacity, targets.traffic)
    if role is Role.LEAVING:
        return Verdict(Outcome.WORKING, told)
    if (held := _held_up(release)) is not None:
        return held
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


def _held_up(release: Obj) -> Verdict | None:
    conditions = dig(release, "status", "conditions", default=[])
    blocked = find_condition(conditions, "Blocked") or {}
    if blocked.get("status") == "True":
        return Verdict(Outcome.BLOCKED, _blocked(blocked))
    scheduled = find_condition(conditions, "Scheduled") or {}
    if scheduled.get("status") == "False":
        return Verdict(Outcome.FAILED, _said(scheduled), may_pass=scheduled.get("reason") in _PASSING_REASONS)
    executed = find_condition(conditions, "StrategyExecuted") or {}
    if executed.get("status") == "False":
        return Verdict(Outcome.FAILED, _said(executed))
    if told := failure_of(release):
        return Verdict(
            Outcome.FAILED, f"{told}; `hanse rollout retry` tries again, `promote` goes on, `abort` goes back"
        )
    return None


def failure_of(release: Obj) -> str:
    """Return what a check or a deadline found wrong with a release's step, "" where a person has overridden it."""
    progress = dig(release, "status", "progress", default={})
    failure = progress.get("failure") or {}
    if failure.get("overridden") or progress.get("step") != dig(release, "spec", "targetStep", default=0):
        return ""
    return str(failure.get("message") or "")


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
    blocked = find_condition(conditions, "Blocked") or {}
    if blocked.get("status") == "True":
        return Verdict(Outcome.BLOCKED, _blocked(blocked))
    rolling = find_condition(conditions, "RollingOut") or {}
    if rolling.get("status") == "False" and rolling.get("reason") in _TEMPLATE_REASONS:
        passing = rolling["reason"] == "ChartVersionResolutionFailed"
        return Verdict(Outcome.FAILED, _said(rolling), may_pass=passing)
    if (history := find_condition(conditions, "ValidHistory") or {}).get("status") == "False":
        return Verdict(Outcome.FAILED, _said(history))
    if rollout.contender is None or not rollout.is_current:
        return Verdict(Outcome.WORKING, "no release was made of its template yet")
    return rollout.contender.verdict
