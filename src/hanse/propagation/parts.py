"""Work that divides by more than replicas: Jobs with completions, autoscalers with limits, disruption budgets.

Each cluster's part is a set of fields of the spec; a cluster without a part shall not have the object at all. What a
member already has of a Job stands: completions cannot change once a Job exists, and what a lost cluster may have
finished must not be done twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from hanse.kube.manifest import Obj, dig
from hanse.placement.ask import ClusterTerm, Division, Duplicated, Placement, State
from hanse.placement.autoscalers import (
    FORBIDDEN_WINDOW_SECONDS,
    Autoscaler,
    Limits,
    divide_autoscaler,
    with_headroom,
)
from hanse.placement.budgets import divide_max_unavailable, divide_min_available, near_enough
from hanse.placement.decision import Decision, decide
from hanse.placement.fleet import Fleet
from hanse.placement.planner import Preference, Preferences
from hanse.propagation.candidates import seconds_of
from hanse.propagation.scale import WORKLOAD, Path, Scale

JOB_SCALE = Scale(("spec", "parallelism"), ("status", "ready"), ("status", "active"))
CRON_SCALE = Scale(("spec", "jobTemplate", "spec", "parallelism"), (), ())
_PARALLELISM = JOB_SCALE.replicas
_COMPLETIONS = ("spec", "completions")


@dataclass(frozen=True, slots=True)
class JobParts:
    """A Job, or the Jobs of a CronJob: parallelism and completions divide; a finished one is begun nowhere."""

    parallelism: int
    completions: int | None
    finished: bool = False
    scale: Scale = JOB_SCALE


@dataclass(frozen=True, slots=True)
class AutoscalerParts:
    """An autoscaler: each cluster gets a part of the limits."""

    limits: Limits


@dataclass(frozen=True, slots=True)
class ScaledParts:
    """A workload that autoscalers scale in some clusters: there its replicas are theirs, elsewhere it has none."""

    clusters: tuple[str, ...]
    scale: Scale = WORKLOAD


@dataclass(frozen=True, slots=True)
class BudgetParts:
    """A disruption budget that counts pods in one of its fields: each cluster gets a part of the number."""

    field: Path
    number: int


Parts = JobParts | AutoscalerParts | ScaledParts | BudgetParts
MIN_AVAILABLE: Path = ("spec", "minAvailable")
MAX_UNAVAILABLE: Path = ("spec", "maxUnavailable")


@dataclass(frozen=True, slots=True)
class Parted:
    """The fields that each cluster with a part gets, those in which it keeps what it has, and what is to be said.

    `until` is the moment at which time alone changes it.
    """

    fields: dict[str, dict[Path, int]]
    notes: tuple[str, ...] = ()
    retained: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """What a division looks at: who was chosen, and who has what.

    `silent` are the clusters of which it is not known what they have, `blind` says that one of them may tell soon.
    """

    fleet: Fleet
    placement: Placement
    decision: Decision
    state: State
    copies: Mapping[str, Obj]
    silent: tuple[str, ...] = ()
    blind: bool = False
    key: str = ""
    # The copies of clusters that can be seen and are not counted on, such as one that is back only just now.
    uncounted: Mapping[str, Obj] = field(default_factory=dict)
    # The lost clusters of which nobody knows what they hold.
    untold: tuple[str, ...] = ()

    def divide(self, count: int, clusters: Collection[str], division: Division) -> dict[str, int]:
        """Divide a number over some of the clusters."""
        placement = replace(
            self.placement,
            clusters=ClusterTerm(names=tuple(clusters)),
            groups=(),
            spread=(),
            division=division,
            requests=None,
        )
        return decide(self.fleet, placement, replicas=count, state=self.state, key=self.key).replicas


def part(parts: Parts, scene: Scene) -> Parted:
    """Divide; pure, and the same for a rehearsal."""
    match parts:
        case JobParts(scale=scale) if scale == JOB_SCALE:
            return _part_job(parts, scene)
        case JobParts():
            return Parted(_anew(parts, scene, scene.decision.replicas))
        case AutoscalerParts():
            return _part_autoscaler(parts, scene)
        case ScaledParts():
            return _part_scaled(parts, scene)
        case BudgetParts():
            return Parted({name: {parts.field: count} for name, count in _part_budget(parts, scene).items()})


def _anew(parts: JobParts, scene: Scene, running: Mapping[str, int]) -> dict[str, dict[Path, int]]:
    """Give every cluster that runs something its part."""
    where = parts.scale.replicas
    fields = {name: {where: count} for name, count in running.items() if count > 0}
    if parts.completions is None:
        return fields
    counts = _completions(scene, parts.completions, fields)
    return {name: {**each, _beside(where): counts.get(name, 0)} for name, each in fields.items()}


def _part_job(parts: JobParts, scene: Scene) -> Parted:
    """Leave the parts that exist as they are; what of the completions nobody has goes to clusters without a part."""
    chosen = set(scene.decision.chosen())
    held = {name: dig(obj, *_COMPLETIONS) for name, obj in scene.copies.items() if name in chosen}
    # What others have is theirs until they have it no more: a completion is never given twice.
    others = [obj for name, obj in {**scene.uncounted, **scene.copies}.items() if name not in held]
    if not held and not others:
        if parts.finished or scene.blind:
            return Parted({})
        if scene.untold:
            return Parted({}, (f"it may be under way in {', '.join(scene.untold)}, which cannot be asked",))
        return Parted(_anew(parts, scene, scene.decision.replicas))
    running = scene.divide(parts.parallelism, held, scene.placement.division) if held else {}
    fields = {
        name: {_PARALLELISM: running.get(name, 0)} | ({} if count is None else {_COMPLETIONS: count})
        for name, count in held.items()
    }
    given = sum(count or 0 for count in held.values()) + sum(dig(obj, *_COMPLETIONS) or 0 for obj in others)
    missing = 0 if parts.completions is None else parts.completions - given
    if parts.finished or missing <= 0:
        return Parted(fields)
    if scene.silent:
        # They may have them, finished or under way.
        return Parted(fields, (f"{missing} of its completions are waited for from {', '.join(scene.silent)}",))
    free = [name for name in scene.decision.chosen() if name not in held]
    if not free:
        return Parted(fields, (f"{missing} of its completions find no place: every chosen cluster has its part",))
    more = _completions(scene, missing, free)
    return Parted(fields | {name: {_PARALLELISM: 1, _COMPLETIONS: count} for name, count in more.items() if count})


def _completions(scene: Scene, completions: int, clusters: Collection[str]) -> dict[str, int]:
    """Divide completions by the same rules over the clusters that run something.

    Minima and maxima bound what runs at a time and not what is done in the end.
    """
    division = scene.placement.division
    if isinstance(division, Preferences):
        known = ((name, division.of(name)) for name in clusters)
        weights = {name: Preference(weight=max(1, each.weight)) for name, each in known if each is not None}
        division = Preferences(weights, rebalance=True)
    return scene.divide(completions, clusters, division)


def _beside(parallelism: Path) -> Path:
    return (*parallelism[:-1], "completions")


def _part_autoscaler(parts: AutoscalerParts, scene: Scene) -> Parted:
    seen = {name: _seen(obj) for name, obj in scene.copies.items()}
    if scene.blind:
        # What a cluster that has yet to tell has of the limits must not be given away.
        limits = {name: Limits(each.min_replicas, each.max_replicas) for name, each in seen.items()}
    else:
        chosen = scene.decision.chosen()
        asked = with_headroom(parts.limits, len(chosen), scene.placement.failover.spare_clusters)
        limits = divide_autoscaler(asked, chosen, seen, now=scene.state.now)
    return Parted(
        {
            name: {("spec", "minReplicas"): each.min_replicas, ("spec", "maxReplicas"): each.max_replicas}
            for name, each in limits.items()
        },
        until=_calm_at(seen.values(), scene.state.now),
    )


def _calm_at(seen: Iterable[Autoscaler], now: float) -> float | None:
    """Return when the next autoscaler has been calm for so long that it may give or take room."""
    # A second later than to the letter, since times of the API are whole seconds.
    calm = (each.scaled_at + FORBIDDEN_WINDOW_SECONDS + 1.0 for each in seen if each.scaled_at is not None)
    return min((moment for moment in calm if moment > now), default=None)


def _part_scaled(parts: ScaledParts, scene: Scene) -> Parted:
    """Begin with one replica where an autoscaler is, which would never touch a workload without any."""
    where, scaled = parts.scale.replicas, [name for name in scene.decision.chosen() if name in parts.clusters]
    idle = [name for name in scene.copies if name not in scaled and name in scene.decision.chosen()]
    running = [name for name in scaled if name in scene.copies and parts.scale.asked(scene.copies[name])]
    return Parted(
        {name: {where: 1} for name in scaled} | {name: {where: 0} for name in idle},
        retained=dict.fromkeys(running, (where,)),
    )


def _part_budget(parts: BudgetParts, scene: Scene) -> dict[str, int]:
    """Divide by the pods that each cluster's own budget counts; of the same work everywhere each has the whole."""
    chosen = scene.decision.chosen()
    held = {
        name: count
        for name in chosen
        if name in scene.copies and isinstance(count := dig(scene.copies[name], *parts.field), int)
    }
    if isinstance(scene.placement.division, Duplicated):
        return dict.fromkeys(chosen, parts.number)
    if scene.blind:
        return dict.fromkeys(chosen, parts.number) | held
    pods = {name: int(dig(scene.copies.get(name), "status", "expectedPods", default=0)) for name in chosen}
    divided = divide_min_available if parts.field == MIN_AVAILABLE else divide_max_unavailable
    given = divided(parts.number, pods)
    return held if near_enough(held, given, pods) else given


def _seen(obj: Obj) -> Autoscaler:
    return Autoscaler(
        min_replicas=dig(obj, "spec", "minReplicas", default=1),
        max_replicas=dig(obj, "spec", "maxReplicas", default=1),
        current=dig(obj, "status", "currentReplicas", default=0),
        desired=dig(obj, "status", "desiredReplicas", default=0),
        scaled_at=seconds_of(dig(obj, "status", "lastScaleTime", default="")),
    )
