"""Executors that are wrong on purpose: the properties must catch each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hanse.rollouts.execution import ClusterFacts, Execution, Patch, ReleaseView, TargetView, execute
from hanse.rollouts.execution.stages import Part, Stage, contender, incumbent, pending


def _with_targets(release: ReleaseView | None, change: Any) -> ReleaseView | None:
    if release is None or release.capacity is None or release.traffic is None:
        return release
    return replace(release, capacity=change(release.capacity), traffic=change(release.traffic))


def _seen_otherwise(change: Any, release: ReleaseView, **context: Any) -> Execution:
    neighbours: dict[str, Any] = {
        name: _with_targets(context.pop(name), change) for name in ("previous", "successor", "head")
    }
    seen = _with_targets(release, change)
    assert seen is not None
    return execute(seen, **neighbours, **context)


def ignores_observed_generation(release: ReleaseView, **context: Any) -> Execution:
    """Takes a status for news that tells of an earlier spec."""
    return _seen_otherwise(lambda target: replace(target, current=True), release, **context)


def first_cluster_counts_for_all(release: ReleaseView, **context: Any) -> Execution:
    """Looks at one cluster only."""

    def change(target: TargetView) -> TargetView:
        first = target.ready[min(target.ready)]
        return replace(target, ready=dict.fromkeys(target.ready, first), whole=first)

    return _seen_otherwise(change, release, **context)


def waits_for_nobody(release: ReleaseView, **context: Any) -> Execution:
    """Takes what was asked for as given."""
    ready = lambda target: replace(target, ready=dict.fromkeys(target.ready, True), whole=True, current=True)  # noqa: E731
    return _seen_otherwise(ready, release, **context)


def takes_before_it_gives(release: ReleaseView, **context: Any) -> Execution:
    """Lowers the incumbent first of all."""
    previous: ReleaseView | None = context["previous"]
    if context["successor"] is None and previous is not None and not release.paused:
        part = incumbent(previous, release.strategy.steps[release.target_step])
        for kind in ("traffic", "capacity"):
            stuck = pending(Stage(part, kind, waits=False), frozenset(previous.clusters), {})
            if stuck is not None and stuck.patch is not None:
                return replace(execute(release, **context), patches=(stuck.patch,))
    return execute(release, **context)


def goes_by_the_achieved_step(release: ReleaseView, **context: Any) -> Execution:
    """Tells forward from backward as Shipper does: by the step that was achieved last and not by where clusters are."""
    if context["successor"] is not None or release.paused or release.strategy.waves:
        return execute(release, **context)
    step = release.strategy.steps[release.target_step]
    new, previous = contender(release, step), context["previous"]
    old = None if previous is None else incumbent(previous, step)
    back = release.achieved is not None and release.achieved.step > release.target_step
    patch = _first_patch(_shipper_stages(new, old, back=back), release, previous, context["cluster_facts"])
    return replace(execute(release, **context), patches=() if patch is None else (patch,))


def _shipper_stages(new: Part, old: Part | None, *, back: bool) -> Iterator[Stage]:
    yield Stage(new, "installation")
    order: tuple[tuple[Part | None, Any], ...] = (
        ((old, "capacity"), (old, "traffic"), (new, "traffic"), (new, "capacity"))
        if back
        else ((new, "capacity"), (new, "traffic"), (old, "traffic"), (old, "capacity"))
    )
    yield from (Stage(part, kind) for part, kind in order if part is not None)


def _first_patch(
    wanted: Iterator[Stage], release: ReleaseView, previous: ReleaseView | None, facts: Mapping[str, ClusterFacts]
) -> Patch | None:
    clusters = frozenset(release.clusters) | frozenset(() if previous is None else previous.clusters)
    for stage in wanted:
        stuck = pending(stage, clusters, facts)
        if stuck is not None:
            return stuck.patch
    return None


def follows_blindly(release: ReleaseView, **context: Any) -> Execution:
    """Lets an older release follow as soon as its successor says that it achieved the step, as Shipper does."""
    successor: ReleaseView | None = context["successor"]
    execution = execute(release, **context)
    if successor is None or successor.achieved is None or successor.achieved.step != successor.target_step:
        return execution
    part = incumbent(release, successor.strategy.steps[successor.target_step])
    stages = iter((Stage(part, "traffic"), Stage(part, "capacity")))
    patch = _first_patch(stages, release, None, context["cluster_facts"])
    return replace(execution, patches=() if patch is None else (patch,))


def gives_more_than_the_step_says(release: ReleaseView, **context: Any) -> Execution:
    """Brings everything up at once."""
    execution = execute(release, **context)
    surged = tuple(
        replace(patch, values=dict.fromkeys(patch.values, 100))
        if patch.kind == "capacity" and all(patch.values.values())
        else patch
        for patch in execution.patches
    )
    return replace(execution, patches=surged)


def never_rests(release: ReleaseView, **context: Any) -> Execution:
    """Writes what is there already."""
    execution = execute(release, **context)
    if execution.patches or release.paused or release.capacity is None:
        return execution
    return replace(execution, patches=(Patch(release.key, "capacity", release.capacity.wanted),))


def forgets_a_cluster(release: ReleaseView, **context: Any) -> Execution:
    """Leaves the last cluster as it is."""

    def kept(patch: Patch) -> Patch | None:
        target: TargetView | None = None
        for each in (release, context["previous"]):
            if each is not None and each.key == patch.release:
                target = getattr(each, patch.kind)
        assert target is not None
        values = {**patch.values, max(patch.values): target.wanted[max(patch.values)]}
        return None if values == dict(target.wanted) else replace(patch, values=values)

    execution = execute(release, **context)
    return replace(execution, patches=tuple(found for each in execution.patches if (found := kept(each))))


# Caught within a few worlds.
BROKEN = (
    ignores_observed_generation,
    first_cluster_counts_for_all,
    waits_for_nobody,
    takes_before_it_gives,
    gives_more_than_the_step_says,
    never_rests,
    forgets_a_cluster,
)
# Wrong only where somebody changes their mind at a bad moment: caught within some hundreds of worlds.
SUBTLE = (goes_by_the_achieved_step, follows_blindly)
