"""What files would change in a running federation: read, tried on its API server without effect, and foreseen."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from hanse.api.clusters import Cluster
from hanse.cli.company import neighbours, observe_sources, rights_to_place
from hanse.cli.connection import read_clusters
from hanse.cli.doors import read_inputs
from hanse.cli.failures import Misuse
from hanse.cli.paper import Papers
from hanse.cli.rollout_foreseeing import foresee_release
from hanse.cli.speaking import claims_of, find_claimants, spoken_for, title_of
from hanse.cli.trial import Pair, everything, spoken_of, try_objects
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, is_deleting, key_of
from hanse.placement.policy import read_policy
from hanse.propagation.doors import Doors
from hanse.propagation.foresight import ClusterChange, foresee
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.planning import Observation, Planned, plan
from hanse.propagation.rehearsing import Onlooker


@dataclass(frozen=True, slots=True)
class Outlook:
    """What would become of one object; `trouble` says what stands in the way of it.

    Of an application `note` says whether it becomes a new release, whose clusters are chosen only then.
    """

    title: str
    changes: tuple[ClusterChange, ...] = ()
    trouble: str = ""
    sources: tuple[str, ...] = ()
    planned: Planned | None = None
    note: str = ""
    new_release: bool = False

    @property
    def differs(self) -> bool:
        """Whether anything would change."""
        return bool(self.changes) or self.new_release


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two worlds that are compared."""

    doors: Doors
    clusters: Sequence[Cluster]


async def look_ahead(host: Client, papers: Papers, lost: Sequence[str]) -> list[Outlook]:
    """Say what files would change, and what the loss of clusters would; raises Misuse on a policy that is wrong."""
    for policy in papers.policies:
        if problem := read_policy(policy).problem:
            raise Misuse(f"{policy['kind']} {key_of(policy)}: {problem}")
    clusters, found = await read_clusters(host), await read_inputs(host)
    if unknown := sorted(set(lost) - {cluster.name for cluster in clusters}):
        raise Misuse(f"--lose {unknown[0]}: there is no such cluster; `hanse clusters` lists them")
    now = _Side(found.doors, clusters)
    tried = await try_objects(host, found.with_files([*papers.policies, *papers.objects]), papers.objects)
    spoken_then = [pair.then for pair in tried.inputs.values() if pair.then is not None]
    then = _Side(found.with_files([*papers.policies, *spoken_then]), [_lose(each, lost) for each in clusters])
    found.require(ref.resource for ref in tried.pairs)
    pairs, named = dict(tried.pairs), set(tried.pairs)
    spoken = await spoken_of(host, then.doors, tried.inputs)
    if papers.policies or lost or spoken is None:
        pairs = await everything(host, then.doors) | pairs
    else:
        pairs = {ref: Pair(obj, obj) for ref, obj in spoken.items()} | pairs
        pairs = await _beside(host, now, then, pairs) | pairs
    observed = await observe_sources(host, then.doors, clusters, list(pairs))
    # The trial stamped whoever is asking here as the author of what they would write.
    written = {ref: pair.then for ref, pair in pairs.items() if pair.then is not None}
    rights = await rights_to_place(host, then.doors, written, clusters)
    moment, fresh = host.runtime.now(), {ref for ref, pair in pairs.items() if pair.now is None}
    worlds = (
        _World(now, {ref: pair.now for ref, pair in pairs.items()}, observed, {}, moment),
        _World(then, {ref: pair.then for ref, pair in pairs.items()}, observed, rights, moment, fresh),
    )
    foreseen = [(ref, _foreseen(ref, *worlds)) for ref in pairs]
    refused = [Outlook(title, trouble=trouble) for title, trouble in tried.refused.items()]
    released = [_released(ref, pair) for ref, pair in tried.applications.items()]
    return refused + released + [outlook for ref, outlook in foreseen if ref in named or outlook.changes]


def _released(ref: Ref, pair: Pair) -> Outlook:
    found = foresee_release(pair.now, pair.then or {})
    return Outlook(title_of(ref), trouble=found.trouble, note=found.note, new_release=found.is_new)


async def _beside(host: Client, now: _Side, then: _Side, pairs: Mapping[Ref, Pair]) -> dict[Ref, Pair]:
    """Return what follows these objects and shares that with them, and what wants to be the same in the members."""
    before = {
        ref: pair.now for ref, pair in pairs.items() if pair.now is not None and ref.resource in now.doors.resources
    }
    after = {ref: pair.then for ref, pair in pairs.items() if pair.then is not None}
    found = await neighbours(host, now.doors, before) | await neighbours(host, then.doors, after)
    for ref in pairs:
        found |= await find_claimants(host, then.doors, then.doors.of(ref.resource).target(ref))
    return {ref: Pair(obj, obj) for ref, obj in found.items() if ref not in pairs}


class _World:
    """One of the two worlds with everything that is in it, each object where it is in the end."""

    def __init__(
        self,
        side: _Side,
        objects: Mapping[Ref, Obj | None],
        observed: Mapping[Ref, Mapping[str, Observation]],
        rights: Mapping[Ref, Mapping[str, str]],
        moment: float,
        fresh: Collection[Ref] = (),
    ) -> None:
        self._side = side
        self._observed = observed
        self._rights = rights
        self._moment = moment
        self._there = {
            ref: obj
            for ref, obj in objects.items()
            if obj is not None and not is_deleting(obj) and ref.resource in side.doors.resources
        }
        self._claims = claims_of(side.doors, self._there, fresh)
        self._onlooker = Onlooker(side.doors, side.clusters, self._there, observed, self.plan, in_the_end=True)

    def speaker(self, target: Ref) -> Ref | None:
        """Return the object that speaks for what members hold, None where none does."""
        return self._claims.holder(target)

    def supersedes(self, ref: Ref) -> bool:
        """Tell whether an object takes the word from others by its very kind, as its author means it."""
        claim = self._claims.claim(ref)
        return claim is not None and claim.supersedes

    def translated(self, ref: Ref | None) -> Intent | Problem | None:
        """Return what an object means in this world, None where it means nothing."""
        if ref is None or not self._side.doors.of(ref.resource).admits(self._there[ref]):
            return None
        intent = self._side.doors.of(ref.resource).translate(self._there[ref])
        if isinstance(intent, Problem):
            return intent
        return self._onlooker.accompanied(ref, replace(intent, inherits=self._claims.rivals(ref)))

    def plan(self, ref: Ref, intent: Intent) -> Planned:
        """Plan for an object; told is what it comes to, not the turns in which it gets there."""
        intent = replace(intent, placement=replace(intent.placement, rollout=None))
        intent = intent.without(self._rights.get(ref, {}))
        return plan(intent, self._side.clusters, self._observed[ref], now=self._moment)

    def lacks(self, ref: Ref) -> str:
        """Say what the pods of a workload will not find, "" where they find everything."""
        return next(iter(self._onlooker.lacks(ref)), "")

    def target(self, ref: Ref) -> Ref:
        """Return what members hold of an object."""
        return self._side.doors.of(ref.resource).target(ref)


def _foreseen(ref: Ref, now: _World, then: _World) -> Outlook:
    title, target = title_of(ref), then.target(ref)
    spoke, speaks = now.speaker(target), then.speaker(target)
    if speaks is not None and speaks != ref:
        told = spoken_for(speaks, target)
        return Outlook(title, sources=(told,)) if then.supersedes(speaks) else Outlook(title, trouble=told)
    before, after = now.translated(spoke), then.translated(speaks)
    if isinstance(after, Problem):
        return Outlook(title, trouble=after.message)
    planned = then.plan(ref, after) if after is not None else None
    # An object that means nothing now keeps what it has, about which there is nothing to be compared.
    present = now.plan(spoke, before) if spoke is not None and isinstance(before, Intent) else None
    changes = tuple(foresee(present, planned))
    if planned is None or after is None:
        return Outlook(title, changes)
    return Outlook(title, changes, _trouble(planned) or then.lacks(ref), after.sources, planned)


def _trouble(planned: Planned) -> str:
    decision = planned.decision
    if decision.unplaced:
        return f"{decision.unplaced} replicas find no place: {decision.remedy}"
    if not decision.chosen():
        return "no cluster is chosen"
    return decision.notes[0] if decision.notes else ""


def _lose(cluster: Cluster, lost: Sequence[str]) -> Cluster:
    return replace(cluster, ready=False, offline=True, why="it was lost") if cluster.name in lost else cluster
