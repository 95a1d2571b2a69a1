"""What a release does next: a function from what is stored to patches, conditions and one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hanse.rollouts.environment import Remedy, Step
from hanse.rollouts.execution import reporting
from hanse.rollouts.execution.checks import Inquiry, counted, inquire
from hanse.rollouts.execution.progress import Cause, Failure, Progress, has_memory, remembered, written
from hanse.rollouts.execution.stages import (
    Part,
    Pending,
    bracketed,
    contender,
    goes_back,
    incumbent,
    is_settled,
    pending,
    stages,
)
from hanse.rollouts.execution.views import Achieved, Answer, ClusterFacts, Execution, Patch, ReleaseView
from hanse.rollouts.execution.waves import Group, groups_of

_FAILED = "StrategyExecutionFailed"
_PAUSED = "the release is paused: hanse rollout resume, or taking away its annotation hanse.dev/rollout-paused, goes on"


@dataclass(frozen=True, slots=True)
class _Reached:
    """How far a pipeline came: what was found of each stage, and what it waits for ("" where it came to its end)."""

    found: Mapping[str, str] = field(default_factory=dict)
    waits_for: str = ""
    patch: Patch | None = None
    well: Mapping[str, float] = field(default_factory=dict)
    wait: float | None = None
    stale: bool = False

    @property
    def done(self) -> bool:
        return not self.waits_for


def execute(
    release: ReleaseView,
    *,
    previous: ReleaseView | None,
    successor: ReleaseView | None,
    now: float,
    answers: Mapping[str, Answer],
    cluster_facts: Mapping[str, ClusterFacts],
    head: ReleaseView | None = None,
) -> Execution:
    """Decide what a release needs next: at most one patch, and what is to be said meanwhile.

    `previous` and `successor` are its neighbours by generation, `head` the newest release where that is not the
    successor. The newest release moves itself and its predecessor; an older one follows its successor once the newest
    one is where it wants to be. A successor that another one follows is past its last step, wherever somebody had
    stepped back to before. `answers` are those that checks got since they were asked for.
    """
    leader = release if successor is None else successor
    if successor is not None and head is not None and head.key != successor.key:
        last = len(successor.strategy.steps) - 1
        leader = successor = replace(successor, target_step=last, achieved=Achieved(last, ""))
    problem = _problem(release, leader, follows=successor is not None)
    if problem:
        return _as_it_was(release, problem=(_FAILED, problem))
    step = leader.strategy.steps[leader.target_step]
    if successor is not None:
        return _follow(release, successor, head or successor, step, now, cluster_facts)
    return _lead(release, previous, step, now, answers, cluster_facts)


def _problem(release: ReleaseView, leader: ReleaseView, *, follows: bool) -> str:
    last = len(release.strategy.steps) - 1
    if follows and release.target_step != last:
        told = f"unexpected value {release.target_step} (expected: {last})"
        return f"Release {release.key} target step is inconsistent: {told}"
    if not 0 <= leader.target_step < len(leader.strategy.steps):
        return f'no step {max(leader.target_step, 0)} in strategy for Release "{release.key}"'
    return ""


def _as_it_was(release: ReleaseView, waits_for: str = "", problem: tuple[str, str] | None = None) -> Execution:
    return Execution(
        achieved=release.achieved,
        complete=release.complete,
        progress=release.progress,
        waits_for=problem[1] if problem else waits_for,
        problem=problem,
    )


def _follow(
    release: ReleaseView,
    successor: ReleaseView,
    head: ReleaseView,
    step: Step,
    now: float,
    facts: Mapping[str, ClusterFacts],
) -> Execution:
    if not _achieved_target(successor) or not _stands(head, facts):
        return _as_it_was(release, f"waiting for release {head.key.name} to achieve its step")
    part = incumbent(release, step, "Contender")
    clusters = _clusters_of(part)
    reached = _through(part, None, clusters, facts, back=True)
    is_last = successor.target_step == len(successor.strategy.steps) - 1
    own = len(release.strategy.steps) - 1
    frozen = release.paused or successor.paused or head.paused
    return Execution(
        patches=() if reached.patch is None or frozen else (reached.patch,),
        strategy_status=_told(release, reached, successor.target_step, now, has_incumbent=False, awaits_command=False),
        achieved=Achieved(own, release.strategy.steps[own].name) if reached.done else release.achieved,
        complete=release.complete or (reached.done and is_last),
        progress=release.progress,
        waits_for=_PAUSED if frozen and reached.patch else reached.waits_for,
    )


def _lead(
    release: ReleaseView,
    previous: ReleaseView | None,
    step: Step,
    now: float,
    answers: Mapping[str, Answer],
    facts: Mapping[str, ClusterFacts],
) -> Execution:
    progress = remembered(release, now)
    new, old = contender(release, step), None if previous is None else incumbent(previous, step)
    reached = _in_waves(new, old, progress, now, facts)
    progress = replace(progress, well=reached.well)
    if reached.done and progress.achieved_at is None:
        progress = replace(progress, achieved_at=now)
    progress, inquiry = _inquired(release, step, progress, reached, now, answers)
    progress, wait = _within_deadline(release, progress, now)
    return _decided(release, step, previous, reached, progress, inquiry, now, wait)


def _in_waves(
    new: Part, old: Part | None, progress: Progress, now: float, facts: Mapping[str, ClusterFacts]
) -> _Reached:
    """Carry a step out wave by wave; a wave begins when those before it have been well for as long as they should."""
    release = new.release
    everywhere = _clusters_of(new) | (frozenset() if old is None else _clusters_of(old))
    stepped_back = release.achieved is not None and release.achieved.step > release.target_step
    back = goes_back(new, old, everywhere, stepped_back=stepped_back)
    groups = groups_of(release.strategy.waves, everywhere, facts)
    well: dict[str, float] = {}
    reached = _Reached()
    for group, later in _in_turn(groups, back=back):
        back_here = goes_back(new, old, group.clusters, stepped_back=stepped_back)
        reached = _through(new, old, group.clusters, facts, back=back_here)
        if not reached.done:
            # A later wave's numbers make every status one of the past for a moment; nobody fell ill by that.
            since = {**progress.well, **well} if reached.stale else well
            return replace(reached, waits_for=_in_wave(reached.waits_for, group, groups), well=since)
        if not group.pause_seconds:
            continue
        well[group.name] = progress.well.get(group.name, now)
        left = well[group.name] + group.pause_seconds - now
        behind = frozenset[str]().union(*(each.clusters for each in later))
        if not back and left > 0 and not all(is_settled(part, behind) for part in (new, old) if part is not None):
            return _gated(new, group, later[0], behind, well, left)
    return replace(reached, well=well)


def _in_turn(groups: tuple[Group, ...], *, back: bool) -> list[tuple[Group, tuple[Group, ...]]]:
    ordered = groups[::-1] if back else groups
    return [(group, ordered[index + 1 :]) for index, group in enumerate(ordered)]


def _in_wave(waits_for: str, group: Group, groups: tuple[Group, ...]) -> str:
    return waits_for if len(groups) == 1 else f'wave "{group.name}": {waits_for}'


def _gated(
    new: Part, group: Group, following: Group, behind: frozenset[str], well: Mapping[str, float], left: float
) -> _Reached:
    told = f'wave "{following.name}" begins when wave "{group.name}" has been well for {group.pause_seconds:g} seconds'
    what = f'release "{new.release.key.name}" hasn\'t achieved capacity in clusters: {bracketed(behind)}. {told}'
    return _Reached({reporting.INSTALLATION: "", reporting.CAPACITY: what}, told, None, well, left)


def _through(
    new: Part, old: Part | None, clusters: frozenset[str], facts: Mapping[str, ClusterFacts], *, back: bool
) -> _Reached:
    """Go through the stages until one does not hold."""
    found: dict[str, str] = {}
    for stage in stages(new, old, clusters, back=back):
        stuck = pending(stage, clusters, facts)
        if stuck is not None:
            found[stage.condition] = stuck.message
            return _Reached(found, _sentence(stuck), stuck.patch, stale=stuck.stale)
        if stage.waits:
            found[stage.condition] = ""
    return _Reached(found)


def _sentence(stuck: Pending) -> str:
    where = ", ".join(stuck.clusters) or "any cluster"
    return f"waiting for the {stuck.stage.kind} of release {stuck.stage.part.release.key.name} in {where}"


def _inquired(
    release: ReleaseView, step: Step, progress: Progress, reached: _Reached, now: float, answers: Mapping[str, Answer]
) -> tuple[Progress, Inquiry]:
    if not step.checks or progress.is_overridden or progress.achieved_at is None:
        return progress, Inquiry()
    progress = replace(progress, checks=counted(step.checks, progress.checks, answers))
    inquiry = inquire(step.checks, progress.checks, release.strategy.on_failure, now)
    if inquiry.failure is not None and progress.failure is None:
        progress = replace(progress, failure=inquiry.failure)
    if release.paused or not reached.done or progress.is_held_up:
        return progress, replace(inquiry, due=(), wait=None)
    return progress, inquiry


def _within_deadline(release: ReleaseView, progress: Progress, now: float) -> tuple[Progress, float | None]:
    deadline = release.strategy.deadline
    if deadline is None or progress.achieved_at is not None or progress.failure is not None or release.paused:
        return progress, None
    left = deadline.seconds - progress.spent(now)
    if left > 0:
        return progress, left
    message = f"step {release.target_step} was not achieved within {deadline.seconds:g} seconds"
    return replace(progress, failure=Failure(message, deadline.then, Cause.DEADLINE_EXCEEDED)), None


def _decided(
    release: ReleaseView,
    step: Step,
    previous: ReleaseView | None,
    reached: _Reached,
    progress: Progress,
    inquiry: Inquiry,
    now: float,
    wait: float | None,
) -> Execution:
    is_last = release.target_step == len(release.strategy.steps) - 1
    good = reached.done and not progress.is_held_up and (inquiry.passed or progress.is_overridden)
    frozen = release.paused or progress.is_held_up
    pause = _pause_left(step, progress, now) if good and not is_last and not release.paused else None
    return Execution(
        patches=() if reached.patch is None or frozen else (reached.patch,),
        strategy_status=_told(
            release,
            reached,
            release.target_step,
            now,
            has_incumbent=previous is not None,
            awaits_command=good and not is_last,
        ),
        achieved=Achieved(release.target_step, step.name) if reached.done else release.achieved,
        complete=release.complete or (good and is_last),
        progress=written(progress) if has_memory(release.strategy) else {},
        advance=release.target_step + 1 if pause is not None and pause <= 0 else None,
        remedy=_remedy(progress),
        waits_for=_waits_for(release, step, reached, progress, inquiry, is_last=is_last),
        look_again=_soonest(wait, reached.wait, inquiry.wait, pause),
        ask=inquiry.due,
    )


def _pause_left(step: Step, progress: Progress, now: float) -> float | None:
    if step.pause_seconds is None or progress.achieved_at is None:
        return None
    return progress.achieved_at + step.pause_seconds - now


def _remedy(progress: Progress) -> Remedy | None:
    failure = progress.failure
    return failure.remedy if failure is not None and failure.holds and not failure.carried_out else None


def _waits_for(
    release: ReleaseView, step: Step, reached: _Reached, progress: Progress, inquiry: Inquiry, *, is_last: bool
) -> str:
    if progress.failure is not None and progress.failure.holds:
        return f"{progress.failure.message}; a person decides" if release.paused else progress.failure.message
    if release.paused and not (reached.done and is_last):
        return _PAUSED
    if not reached.done:
        return reached.waits_for
    if not inquiry.passed:
        return inquiry.waits_for
    if is_last:
        return ""
    if step.pause_seconds is not None:
        return f"step {release.target_step} ({step.name}) is done and goes on {step.pause_seconds:g} seconds after that"
    return f"step {release.target_step} ({step.name}) is done and waits for a person to set spec.targetStep"


def _soonest(*waits: float | None) -> float | None:
    found = [wait for wait in waits if wait is not None and wait > 0]
    return min(found) if found else None


def _told(
    release: ReleaseView, reached: _Reached, step: int, now: float, *, has_incumbent: bool, awaits_command: bool
) -> dict[str, object]:
    conditions = reporting.conditions_of(
        release.conditions, reached.found, step=step, has_incumbent=has_incumbent, now=now
    )
    state = reporting.state_of(conditions, step=step, has_incumbent=has_incumbent, awaits_command=awaits_command)
    return {"conditions": conditions, "state": state}


def _clusters_of(part: Part) -> frozenset[str]:
    release = part.release
    targets = (release.installation, release.capacity, release.traffic)
    return frozenset(release.clusters).union(*(target.wanted for target in targets if target is not None))


def _achieved_target(release: ReleaseView) -> bool:
    return release.achieved is not None and release.achieved.step == release.target_step


def _stands(head: ReleaseView, facts: Mapping[str, ClusterFacts]) -> bool:
    """Tell whether the newest release has what its step gives it: only then may others give something up.

    That it achieved the step once says less: somebody may have stepped back and forth since.
    """
    if not _achieved_target(head) or head.target_step >= len(head.strategy.steps):
        return False
    part = contender(head, head.strategy.steps[head.target_step])
    return _through(part, None, _clusters_of(part), facts, back=True).done
