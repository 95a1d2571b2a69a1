"""A small world in which an executor is tried: members that are slow, lost or sick, statuses that come late, people
who change their minds, and a control plane that dies between any two writes.

What a step promises. In a member, a release of T replicas with percent c has ceil(T·c/100) pods; of all pods of the
application a release with weight w of the sum W has min(its pods, ceil(all·w/W)) in traffic. The *promise of a pair*
(what a step gives to incumbent and contender) is the sum of both when everything is ready. The promise of a moment is
the lowest of the pairs that somebody asked for since a step was last achieved, that step's included: while a rollout
goes from one step to another, no member has fewer pods in traffic than the poorer of the two steps has. That holds for
strategies whose weights have the same sum in every step, in which the contender never loses and the incumbent never
gains from one step to the next; others pass through pairs of their own making on the way.

Pods that a fault took are counted as if they were there: no executor gives those back.

What is taken for granted: a TrafficTarget is Ready in a member only when its present weight is carried out there. Where
it says so because the number of pods happens to be right already, the properties do not hold. The same goes for what
was seen of a member before the control plane's own last write there: a weight that went from 25 to 0 and back would be
called Ready while the member still has 0. The controllers of targets have to know both. Pods in traffic follow at once
the weights that are carried out; how labels move from pod to pod is not part of this world.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from hanse.kube.manifest import Key, Obj
from hanse.rollouts.environment import Pair, Step, Strategy
from hanse.rollouts.execution import (
    Achieved,
    ClusterFacts,
    Execution,
    Patch,
    ReleaseView,
    TargetView,
)
from hanse.rollouts.execution.waves import groups_of
from tests.unit.rollouts.execution.drawing import draw_strategy
from tests.unit.rollouts.execution.members import Member, Share, aim, in_traffic, pods_of, promise

Executor = Callable[..., Execution]

MEMBERS = ("a", "b", "c")
FACTS = {
    "a": ClusterFacts("north", {"tier": "canary"}),
    "b": ClusterFacts("north", {}),
    "c": ClusterFacts("south", {}),
}


class Broken(AssertionError):
    """A property that does not hold."""


@dataclass
class Target:
    """A stored CapacityTarget or TrafficTarget."""

    wanted: dict[str, int]
    generation: int = 1
    observed: int = 0
    ready: dict[str, bool] = field(default_factory=dict)
    # Statuses that were found and not written yet, in the order of looking.
    late: list[tuple[int, dict[str, bool]]] = field(default_factory=list)

    def view(self) -> TargetView:
        ready = {name: self.ready.get(name, False) for name in self.wanted}
        return TargetView(dict(self.wanted), self.observed >= self.generation, ready, whole=all(ready.values()))


@dataclass
class Release:
    """A stored Release with its targets."""

    number: int
    strategy: Strategy
    total: int
    clusters: tuple[str, ...]
    target_step: int = 0
    achieved: Achieved | None = None
    complete: bool = False
    paused: bool = False
    installed: set[str] = field(default_factory=set)
    conditions: tuple[Obj, ...] = ()
    state: Obj = field(default_factory=dict)
    progress: Obj = field(default_factory=dict)
    capacity: Target = field(init=False)
    traffic: Target = field(init=False)

    def __post_init__(self) -> None:
        self.capacity = Target(dict.fromkeys(self.clusters, 0))
        self.traffic = Target(dict.fromkeys(self.clusters, 0))

    @property
    def step(self) -> Step:
        return self.strategy.steps[self.target_step]

    def view(self) -> ReleaseView:
        installed = {name: name in self.installed for name in self.clusters}
        return ReleaseView(
            key=Key("shop", f"web-{self.number}"),
            strategy=self.strategy,
            target_step=self.target_step,
            achieved=self.achieved,
            complete=self.complete,
            clusters=self.clusters,
            installation=TargetView(dict.fromkeys(self.clusters, 0), True, installed, whole=all(installed.values())),
            capacity=self.capacity.view(),
            traffic=self.traffic.view(),
            conditions=self.conditions,
            paused=self.paused,
            progress=self.progress,
        )


class World:
    """The stored objects and the members, driven by chance; every property is looked at after every event."""

    def __init__(self, seed: int, execute: Executor, *, orderly: bool = True, restless: bool = False) -> None:
        self.chance = random.Random(seed)
        self.execute = execute
        self.orderly = orderly
        # People who change their minds all the time, and do nothing else.
        self.restless = restless
        self.now = 1_000_000.0
        self.members = {name: Member() for name in MEMBERS}
        self.releases: list[Release] = []
        self.leaving: list[Release] = []
        self.made = 0
        self.promised: dict[str, set[int]] = {name: {0} for name in MEMBERS}
        self.patches = 0
        self.calm = False
        # What people and the control plane did, for whoever looks at a world that went wrong.
        self.story: list[str] = []
        self._create()
        if self.chance.random() < 0.8:
            self._set_up()
            self._create()

    def live(self, events: int = 80) -> None:
        """Let things happen, then let nothing more happen and wait until it is quiet."""
        for _ in range(events):
            self._happen()
        self._calm_down()
        self._end_state()

    @property
    def head(self) -> Release:
        return self.releases[-1]

    # What happens.

    def _happen(self) -> None:
        self.now += self.chance.choice((0.1, 1.0, 5.0))
        self._move()
        if self.chance.random() < 0.7:
            self._sync()
        if self.chance.random() < 0.03:
            self._fault()
        if self.chance.random() < (0.15 if self.restless else 0.07):
            self._person()
        self._look()

    def _set_up(self) -> None:
        """Begin with a release that was rolled out long ago."""
        first = self.head
        first.target_step = len(first.strategy.steps) - 1
        first.achieved, first.complete = Achieved(first.target_step, first.step.name), True
        first.installed = set(first.clusters)
        for target in (first.capacity, first.traffic):
            target.wanted, target.observed = dict.fromkeys(first.clusters, 100), target.generation
            target.ready = dict.fromkeys(first.clusters, True)
        for name in first.clusters:
            self.members[name].shares[first.number] = Share(100, 100, first.total, first.total)
            self._see(name, self.members[name])
        self._note_promise(fresh=True)

    def _move(self) -> None:
        """Members and the controllers of targets get a little further, each at its own pace."""
        for name, member in self.members.items():
            member.reachable = member.reachable or self.chance.random() < 0.2
            if self.chance.random() < 0.85:
                self._carry_out(name, member)
            if self.chance.random() < 0.85:
                self._see(name, member)
        for release in [*self.releases, *self.leaving]:
            release.installed |= {name for name in release.clusters if self._arrives(name)}
            for kind in ("capacity", "traffic"):
                self._report(release, kind)
        self.leaving = [release for release in self.leaving if not self._let_go(release)]

    def _arrives(self, name: str) -> bool:
        return self.members[name].reachable and self.chance.random() < 0.5

    def _carry_out(self, name: str, member: Member) -> None:
        if not member.reachable:
            return
        for release in [*self.releases, *self.leaving]:
            if name not in release.clusters:
                continue
            share = member.shares.setdefault(release.number, Share())
            before = share.percent, share.weight
            if self.chance.random() < 0.85:
                share.percent = release.capacity.wanted[name]
                share.pods = pods_of(release.total, share.percent)
                share.ready, share.lost = (
                    min(share.ready, share.pods),
                    min(share.lost, max(0, share.pods - share.ready)),
                )
            if self.chance.random() < 0.85:
                share.weight = release.traffic.wanted[name]
            share.written += before != (share.percent, share.weight)
            missing = share.pods - share.ready - share.lost
            share.ready += missing if self.calm or self.chance.random() < 0.7 else self.chance.randint(0, missing)
            if self.calm or self.chance.random() < 0.3:
                share.ready, share.lost = share.ready + share.lost, 0

    def _see(self, _name: str, member: Member) -> None:
        member.seen_reachable = member.reachable
        if member.reachable:
            member.seen = {number: replace(share) for number, share in member.shares.items()}

    def _report(self, release: Release, kind: str) -> None:
        target: Target = getattr(release, kind)
        if len(target.late) < 2 and self.chance.random() < 0.85:
            target.late.append(
                (target.generation, {name: self._ready(release, kind, name) for name in release.clusters})
            )
        if target.late and self.chance.random() < 0.85:
            target.observed, target.ready = target.late.pop(0)

    def _ready(self, release: Release, kind: str, name: str) -> bool:
        member = self.members[name]
        share = member.seen.get(release.number)
        if share is None or not member.seen_reachable or share.written < member.shares[release.number].written:
            return False
        if kind == "capacity":
            wanted = pods_of(release.total, release.capacity.wanted[name])
            return share.pods == wanted == share.ready
        known = {each.number: each.traffic.wanted.get(name, 0) for each in [*self.releases, *self.leaving]}
        shares = {number: each for number, each in member.seen.items() if number in known}
        specified = {number: known[number] for number in shares}
        applied = {number: each.weight for number, each in shares.items()}
        served = in_traffic(shares, release.number, applied, healed=False)
        return served == aim(shares, release.number, specified) and share.weight == release.traffic.wanted[name]

    def _let_go(self, release: Release) -> bool:
        """A release that is deleted keeps its pods until the one before it is full again, or the newest one's step is
        achieved.
        """
        older = [each for each in self.releases if each.number < release.number]
        heir = older[-1] if older else None
        relieved = heir is None or (heir.complete and _full(heir)) or _is_done(self._executed(len(self.releases) - 1))
        if relieved:
            self.story.append(f"{release.number} is gone")
            for member in self.members.values():
                member.shares.pop(release.number, None)
                member.seen.pop(release.number, None)
        return relieved

    def _fault(self) -> None:
        member = self.members[self.chance.choice(MEMBERS)]
        if self.chance.random() < 0.5:
            member.reachable = False
        elif member.shares:
            share = self.chance.choice(list(member.shares.values()))
            gone = self.chance.randint(0, share.ready)
            share.ready, share.lost = share.ready - gone, share.lost + gone

    def _person(self) -> None:
        last = len(self.head.strategy.steps) - 1
        wish = self.chance.uniform(0.2, 0.7) if self.restless else self.chance.random()
        if self.head.paused or wish < 0.05:
            self.head.paused = not self.head.paused
        elif wish < 0.4:
            self._ask_for(self.chance.randint(0, last))
        elif wish < 0.6:
            # They change their mind in the middle of a step.
            self._ask_for(self.head.achieved.step if self.head.achieved else 0)
        elif wish < 0.85:
            self._ask_for(last)
        elif wish < 0.93:
            self._create()
        elif len(self.releases) > 1:
            self._delete()
            self._note_promise()

    def _ask_for(self, step: int) -> None:
        self.head.target_step = step
        self.story.append(f"{self.head.number} is to be at step {step}")
        self._note_promise()

    def _create(self) -> None:
        if self.releases and not self.head.complete:
            # Only one release that is not complete, as the application's controller has it.
            self._delete()
        elif self.releases:
            self.head.target_step = len(self.head.strategy.steps) - 1
        release = Release(
            self.made,
            draw_strategy(self.chance, orderly=self.orderly),
            self.chance.choice((1, 3, 10)),
            MEMBERS if self.chance.random() < 0.8 else MEMBERS[:2],
        )
        self.made += 1
        self.releases.append(release)
        self.story.append(f"{release.number} comes with {release.total} replicas")
        self._note_promise()

    def _delete(self) -> None:
        self.leaving.append(self.releases.pop())
        self.story.append(f"{self.leaving[-1].number} is deleted")
        if not self.releases:
            # A first release has nobody who could take over.
            self.promised = {name: {0} for name in MEMBERS}

    # What the control plane does.

    def _sync(self) -> None:
        writes = [write for index in range(len(self.releases) - 1, -1, -1) for write in self._decided(index)]
        # It may die after any number of writes.
        survives = len(writes) if self.calm or self.chance.random() < 0.8 else self.chance.randint(0, len(writes))
        for write in writes[:survives]:
            write()
            self._look()

    def _decided(self, index: int) -> Iterator[Callable[[], None]]:
        release, execution = self.releases[index], self._executed(index)
        if release.paused and execution.patches:
            raise Broken("a paused release is patched")
        yield lambda: self._write_status(release, execution)
        for patch in execution.patches:
            yield self._writing(index, patch)
        if execution.advance is not None:
            step = execution.advance
            yield lambda: self._ask_for(step)

    def _executed(self, index: int) -> Execution:
        views = [release.view() for release in self.releases]
        return self.execute(
            views[index],
            previous=views[index - 1] if index else None,
            successor=views[index + 1] if index + 1 < len(views) else None,
            head=views[-1] if index + 2 < len(views) else None,
            now=self.now,
            answers={},
            cluster_facts=FACTS,
        )

    def _write_status(self, release: Release, execution: Execution) -> None:
        release.achieved, release.complete = execution.achieved, execution.complete
        release.progress = execution.progress
        if execution.strategy_status is not None:
            release.conditions = tuple(execution.strategy_status["conditions"])
            release.state = execution.strategy_status["state"]
        # The weight of one that leaves still counts for the share of the others.
        if release is self.head and _is_done(execution) and not self.leaving:
            self.story.append(f"{release.number} achieved step {release.target_step}")
            self._note_promise(fresh=True)

    def _writing(self, index: int, patch: Patch) -> Callable[[], None]:
        # The write carries the resourceVersion that was looked at: a stale one is refused.
        release = next(each for each in self.releases if f"web-{each.number}" == patch.release.name)
        target: Target = getattr(release, patch.kind)
        generation, head, step = target.generation, self.head, self.head.target_step

        def write() -> None:
            if target.generation != generation or self.head is not head or head.target_step != step:
                return
            self._allowed(index, release, patch)
            target.wanted, target.generation = dict(patch.values), target.generation + 1
            self.patches += 1
            self.story.append(f"{patch.kind} of {release.number} is {target.wanted}")

        return write

    # What must hold.

    def _allowed(self, index: int, release: Release, patch: Patch) -> None:
        target: Target = getattr(release, patch.kind)
        if dict(patch.values) == target.wanted:
            raise Broken("a patch that changes nothing")
        if patch.values.keys() != target.wanted.keys():
            raise Broken("a patch for other clusters")
        leader = self.releases[self.releases.index(release) + 1] if release is not self.head else release
        if leader is not self.head:
            leader = self.head if index == len(self.releases) - 1 else leader
        pair: Pair = getattr(leader.step, patch.kind)
        wanted = pair.contender if release is self.head else pair.incumbent
        for name, value in patch.values.items():
            if value not in (target.wanted[name], wanted):
                raise Broken(f"{patch.kind} of {patch.release.name} in {name} goes to {value}, the step says {wanted}")
            if value < target.wanted[name] and len(self.releases) > 1:
                self._may_lower(release, name)

    def _may_lower(self, release: Release, name: str) -> None:
        """Whoever is lowered in a member leaves another one there that is ready and in traffic, in the whole wave."""
        head = self.head
        other = head if release is not head else self.releases[-2]
        if release is not head and self.releases.index(release) < len(self.releases) - 2:
            return
        groups = groups_of(head.strategy.waves, {*head.clusters, *other.clusters, *release.clusters}, FACTS)
        wave = next(group.clusters for group in groups if name in group.clusters)
        pair_of = (lambda pair: pair.contender) if other is head else (lambda pair: pair.incumbent)
        for each in sorted(wave & set(other.clusters)):
            share = self.members[each].shares.get(other.number, Share())
            if other.capacity.wanted[each] < pair_of(head.step.capacity):
                raise Broken(f"{release.number} is lowered in {name} before {other.number} is asked for in {each}")
            if share.ready + share.lost < pods_of(other.total, pair_of(head.step.capacity)):
                raise Broken(f"{release.number} is lowered in {name} before {other.number} is ready in {each}")
            if share.weight < pair_of(head.step.traffic):
                raise Broken(f"{release.number} is lowered in {name} before {other.number} has its traffic in {each}")

    def _look(self) -> None:
        if not self.orderly:
            return
        for name, member in self.members.items():
            weights = {number: share.weight for number, share in member.shares.items()}
            served = sum(in_traffic(member.shares, number, weights, healed=True) for number in member.shares)
            if served < min(self.promised[name]):
                raise Broken(f"{served} pods in traffic in {name}, promised are {sorted(self.promised[name])}")

    def _note_promise(self, *, fresh: bool = False) -> None:
        head, old = self.head, self.releases[-2] if len(self.releases) > 1 else None
        for name in MEMBERS:
            pair = promise(
                head.step,
                old.total if old is not None and name in old.clusters else 0,
                head.total if name in head.clusters else 0,
            )
            self.promised[name] = {pair} if fresh else self.promised[name] | {pair}

    # How it ends.

    def _calm_down(self) -> None:
        self.calm = True
        self.head.paused = False
        for release in self.releases:
            release.paused = False
        for member in self.members.values():
            member.reachable = True
        for _ in range(60):
            before = self.patches, self.head.target_step, len(self.leaving), self.head.achieved
            for _ in range(12):
                self._move()
                self._look()
            self.now += 30.0
            self._sync()
            after = self.patches, self.head.target_step, len(self.leaving), self.head.achieved
            executions = [self._executed(index) for index in range(len(self.releases))]
            if before == after and all(map(_is_done, executions)) and executions[-1].look_again is None:
                return
        raise Broken("it never becomes quiet")

    def _end_state(self) -> None:
        for index, release in enumerate(self.releases):
            execution = self._executed(index)
            if execution.patches:
                raise Broken("it is quiet and something is patched")
            if execution.strategy_status is not None and list(release.conditions) != list(
                execution.strategy_status["conditions"]
            ):
                raise Broken("it is quiet and conditions change")
            leader = self.releases[min(index + 1, len(self.releases) - 1)]
            for kind in ("capacity", "traffic"):
                pair: Pair = getattr(leader.step, kind)
                wanted = pair.contender if release is self.head else pair.incumbent
                target: Target = getattr(release, kind)
                if target.wanted != dict.fromkeys(release.clusters, wanted):
                    raise Broken(f"{kind} of {release.number} ends with {target.wanted}, the step says {wanted}")


def _is_done(execution: Execution) -> bool:
    state = {} if execution.strategy_status is None else execution.strategy_status["state"]
    return all(state.get(f"waitingFor{what}") == "False" for what in ("Installation", "Capacity", "Traffic"))


def _full(release: Release) -> bool:
    last = release.strategy.steps[-1]
    return all(
        target.view().current and target.view().whole and set(target.wanted.values()) == {value}
        for target, value in ((release.capacity, last.capacity.contender), (release.traffic, last.traffic.contender))
    )
