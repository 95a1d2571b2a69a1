"""The stages of a step, in an order that gives before it takes, and where in them a rollout stands.

Shipper goes through contender and incumbent in one order forward and in another one backward, and tells the two apart
by the step that was achieved last. Somebody who changes their mind in the middle of a step makes that wrong: the step
that was achieved is then not where the clusters are. So the direction is told by the numbers that the targets have.
Every release is first *lifted* (numbers may only grow) and then *settled* (numbers become those of the step), and what
is lowered waits until the other release is ready. For a step that is carried out from its beginning to its end that is
Shipper's order exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from hanse.rollouts.environment import Step
from hanse.rollouts.execution.views import ClusterFacts, Patch, PatchKind, ReleaseView, TargetView

_SHORT = {"installation": "it", "capacity": "ct", "traffic": "tt"}


@dataclass(frozen=True, slots=True)
class Part:
    """A release in a step: what it is to have there, and how its conditions begin."""

    release: ReleaseView
    capacity: int
    traffic: int
    role: Literal["Contender", "Incumbent"]

    def numbers(self, kind: PatchKind) -> tuple[TargetView | None, int]:
        """Return the target that holds the percents or weights, and what the step says."""
        if kind == "capacity":
            return self.release.capacity, self.capacity
        return self.release.traffic, self.traffic

    def under(self, kind: PatchKind, clusters: frozenset[str]) -> bool:
        """Tell whether any of the clusters is asked for less than the step says."""
        target, value = self.numbers(kind)
        return target is not None and any(target.wanted[name] < value for name in clusters & target.wanted.keys())

    def over(self, kind: PatchKind, clusters: frozenset[str]) -> bool:
        """Tell whether any of the clusters is asked for more than the step says."""
        target, value = self.numbers(kind)
        return target is not None and any(target.wanted[name] > value for name in clusters & target.wanted.keys())

    def anywhere_under(self, clusters: frozenset[str]) -> bool:
        """Tell whether capacity or traffic is to be raised."""
        return self.under("capacity", clusters) or self.under("traffic", clusters)

    def anywhere_over(self, clusters: frozenset[str]) -> bool:
        """Tell whether capacity or traffic is to be lowered."""
        return self.over("capacity", clusters) or self.over("traffic", clusters)


@dataclass(frozen=True, slots=True)
class Stage:
    """One thing that must hold before the next one begins; `lifting` never lowers, and may go on without waiting."""

    part: Part
    kind: Literal["installation", "capacity", "traffic"]
    lifting: bool = False
    waits: bool = True

    @property
    def condition(self) -> str:
        """The strategy condition that tells of this stage."""
        return f"{self.part.role}Achieved{self.kind.capitalize()}"


@dataclass(frozen=True, slots=True)
class Pending:
    """Where a pipeline stopped: the stage, its clusters, the condition's message and the patch that gets it on.

    `stale` tells that nothing is known to be missing: what the target says is of an older spec of itself.
    """

    stage: Stage
    clusters: tuple[str, ...]
    message: str
    patch: Patch | None = None
    stale: bool = False


def contender(release: ReleaseView, step: Step) -> Part:
    """Return the part of the newest release."""
    return Part(release, step.capacity.contender, step.traffic.contender, "Contender")


def incumbent(release: ReleaseView, step: Step, role: Literal["Contender", "Incumbent"] = "Incumbent") -> Part:
    """Return the part of a release that another one follows; of itself it tells as a contender does, as in Shipper."""
    return Part(release, step.capacity.incumbent, step.traffic.incumbent, role)


def goes_back(new: Part, old: Part | None, clusters: frozenset[str], *, stepped_back: bool) -> bool:
    """Tell whether the older release must be served first: where the newer one is lowered or the older one raised.

    Where neither holds and nothing else is to be moved, the person's last step tells.
    """
    if new.anywhere_over(clusters) or (old is not None and old.anywhere_under(clusters)):
        return True
    moves = new.anywhere_under(clusters) or (old is not None and old.anywhere_over(clusters))
    return stepped_back and not moves


def stages(new: Part, old: Part | None, clusters: frozenset[str], *, back: bool) -> Iterator[Stage]:
    """Yield what must hold for a step, one after another, in these clusters."""
    yield Stage(new, "installation")
    first, second = (old, new) if back else (new, old)
    for part, waits in ((first, True), (second, False)):
        if part is not None:
            # Weights without the pods that they are for would take from the others' share.
            yield Stage(part, "capacity", lifting=True, waits=waits or part.under("traffic", clusters))
            yield Stage(part, "traffic", lifting=True, waits=waits)
    for part in (second, first):
        if part is not None:
            yield Stage(part, "traffic")
            yield Stage(part, "capacity")


def pending(stage: Stage, clusters: frozenset[str], facts: Mapping[str, ClusterFacts]) -> Pending | None:
    """Return why a stage does not hold yet, None where it does."""
    target = getattr(stage.part.release, stage.kind)
    if target is None:
        return _waits(stage, sorted(clusters), "it does not exist yet", facts)
    asked = clusters & target.wanted.keys()
    if stage.kind != "installation":
        changed = _changed(stage, target, asked)
        if changed:
            patch = Patch(stage.part.release.key, stage.kind, {**target.wanted, **changed})
            return _waits(stage, sorted(changed), bracketed(changed), facts, patch)
    if not stage.waits:
        return None
    if not target.current:
        return replace(_waits(stage, sorted(asked), bracketed(asked), facts), stale=True)
    missing = sorted(name for name in asked if not target.ready.get(name))
    if asked == target.wanted.keys():
        if missing or not target.whole:
            return _waits(stage, missing or sorted(asked), target.message or bracketed(missing or asked), facts)
    elif missing:
        told = "; ".join(f"{name}: {target.messages[name]}" for name in missing if target.messages.get(name))
        return _waits(stage, missing, told or bracketed(missing), facts)
    return None


def is_settled(part: Part, clusters: frozenset[str]) -> bool:
    """Tell whether a release is asked for exactly what the step says."""
    return not part.anywhere_under(clusters) and not part.anywhere_over(clusters)


def bracketed(names: Iterable[str]) -> str:
    """Write a list of clusters as Shipper does."""
    return f"[{' '.join(sorted(names))}]"


def _changed(stage: Stage, target: TargetView, asked: Iterable[str]) -> dict[str, int]:
    assert stage.kind != "installation"  # noqa: S101 - an installation has no numbers
    _, value = stage.part.numbers(stage.kind)
    found = {}
    for name in asked:
        wanted = max(value, target.wanted[name]) if stage.lifting else value
        if wanted != target.wanted[name]:
            found[name] = wanted
    return found


def _waits(
    stage: Stage, clusters: list[str], told: str, facts: Mapping[str, ClusterFacts], patch: Patch | None = None
) -> Pending:
    lost = [name for name in clusters if name in facts and facts[name].unreachable]
    if lost:
        told = f"{told}; cannot be reached: {bracketed(lost)}"
    name = stage.part.release.key.name
    what = (
        "clusters pending installation"
        if stage.kind == "installation"
        else f'release "{name}" hasn\'t achieved {stage.kind} in clusters'
    )
    message = f"{what}: {told}. for more details try `kubectl describe {_SHORT[stage.kind]} {name}`"
    return Pending(stage, tuple(clusters), message, patch)
