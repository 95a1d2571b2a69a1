"""What files would change in a running federation: read, tried on its API server without effect, and foreseen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from hanse.api.clusters import Cluster
from hanse.cli.company import neighbours, observe_copies, rights_to_place
from hanse.cli.connection import read_clusters, read_policy_objects
from hanse.cli.failures import Misuse
from hanse.cli.kinds_file import usual_door
from hanse.cli.naming import not_federated
from hanse.cli.paper import Papers
from hanse.kube.client import Client, WriteOptions
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj, annotations_of, is_deleting, key_of
from hanse.kube.patches.three_way import three_way_patch
from hanse.kube.resources import Resource, gvk
from hanse.native import NativeDoor
from hanse.placement.policy import read_policy
from hanse.propagation.door import keyed
from hanse.propagation.foresight import ClusterChange, foresee
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.planning import Observation, Planned, plan
from hanse.propagation.rehearsing import Onlooker

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_TRIED = WriteOptions(dry_run=True)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What would become of one object; `trouble` says what stands in the way of it."""

    title: str
    changes: tuple[ClusterChange, ...] = ()
    trouble: str = ""
    sources: tuple[str, ...] = ()
    planned: Planned | None = None


@dataclass(frozen=True, slots=True)
class _Pair:
    """An object now and then; None where it does not exist."""

    ref: Ref
    now: Obj | None
    then: Obj | None


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two worlds that are compared."""

    door: NativeDoor
    clusters: Sequence[Cluster]


async def look_ahead(host: Client, papers: Papers, lost: Sequence[str]) -> list[Outlook]:
    """Say what files would change, and what the loss of clusters would; raises Misuse on a policy that is wrong."""
    for policy in papers.policies:
        if problem := read_policy(policy).problem:
            raise Misuse(f"{policy['kind']} {key_of(policy)}: {problem}")
    clusters, policies = await read_clusters(host), await read_policy_objects(host)
    if unknown := sorted(set(lost) - {cluster.name for cluster in clusters}):
        raise Misuse(f"--lose {unknown[0]}: there is no such cluster; `hanse clusters` lists them")
    now = _Side(usual_door().informed(keyed(policies)), clusters)
    then = _Side(
        usual_door().informed(keyed(_with_files(policies, papers.policies))), [_lose(each, lost) for each in clusters]
    )
    refused, pairs = await _tried(host, now.door, papers.objects)
    named = {pair.ref for pair in pairs}
    if papers.policies or lost:
        pairs += [pair for pair in await _everything(host, now.door) if pair.ref not in named]
    else:
        pairs += await _beside(host, now, then, pairs)
    observed = await observe_copies(host, clusters, [pair.ref for pair in pairs])
    # The trial stamped whoever is asking here as the author of what they would write.
    rights = await rights_to_place(host, {pair.ref: pair.then for pair in pairs if pair.then is not None}, clusters)
    moment = host.runtime.now()
    worlds = (
        _World(now, {pair.ref: pair.now for pair in pairs}, observed, {}, moment),
        _World(then, {pair.ref: pair.then for pair in pairs}, observed, rights, moment),
    )
    foreseen = [(pair.ref, _foreseen(pair, *worlds)) for pair in pairs]
    return refused + [outlook for ref, outlook in foreseen if ref in named or outlook.changes]


async def _beside(host: Client, now: _Side, then: _Side, pairs: Sequence[_Pair]) -> list[_Pair]:
    """Return the objects that follow those in the files, and those with which they share what follows."""
    before = {pair.ref: pair.now for pair in pairs if pair.now is not None}
    after = {pair.ref: pair.then for pair in pairs if pair.then is not None}
    found = await neighbours(host, now.door, before) | await neighbours(host, then.door, after)
    named = {pair.ref for pair in pairs}
    return [_Pair(ref, obj, obj) for ref, obj in found.items() if ref not in named]


class _World:
    """One of the two worlds with everything that is in it, each object where it is in the end."""

    def __init__(
        self,
        side: _Side,
        objects: Mapping[Ref, Obj | None],
        observed: Mapping[Ref, Mapping[str, Observation]],
        rights: Mapping[Ref, Mapping[str, str]],
        moment: float,
    ) -> None:
        self._side = side
        self._observed = observed
        self._rights = rights
        self._moment = moment
        there = {ref: obj for ref, obj in objects.items() if obj is not None and not is_deleting(obj)}
        self._onlooker = Onlooker(side.door, side.clusters, there, observed, self.plan, in_the_end=True)

    def translated(self, ref: Ref, obj: Obj | None) -> Intent | Problem | None:
        """Return what an object means in this world, None where it means nothing."""
        if obj is None or is_deleting(obj) or not self._side.door.admits(obj):
            return None
        intent = self._side.door.translate(obj)
        return intent if isinstance(intent, Problem) else self._onlooker.accompanied(ref, intent)

    def plan(self, ref: Ref, intent: Intent) -> Planned:
        """Plan for an object; told is what it comes to, not the turns in which it gets there."""
        intent = replace(intent, placement=replace(intent.placement, rollout=None))
        intent = intent.without(self._rights.get(ref, {}))
        return plan(intent, self._side.clusters, self._observed[ref], now=self._moment)

    def lacks(self, ref: Ref) -> str:
        """Say what the pods of a workload will not find, "" where they find everything."""
        return next(iter(self._onlooker.lacks(ref)), "")


def _foreseen(pair: _Pair, now: _World, then: _World) -> Outlook:
    title = f"{pair.ref.resource.kind} {pair.ref.key}"
    before, after = now.translated(pair.ref, pair.now), then.translated(pair.ref, pair.then)
    if isinstance(after, Problem):
        return Outlook(title, trouble=after.message)
    planned = then.plan(pair.ref, after) if after is not None else None
    # An object that means nothing now keeps what it has, about which there is nothing to be compared.
    present = now.plan(pair.ref, before) if isinstance(before, Intent) else None
    changes = tuple(foresee(present, planned))
    if planned is None or after is None:
        return Outlook(title, changes)
    return Outlook(title, changes, _trouble(planned) or then.lacks(pair.ref), after.sources, planned)


def _trouble(planned: Planned) -> str:
    decision = planned.decision
    if decision.unplaced:
        return f"{decision.unplaced} replicas find no place: {decision.remedy}"
    if not decision.chosen():
        return "no cluster is chosen"
    return decision.notes[0] if decision.notes else ""


def _lose(cluster: Cluster, lost: Sequence[str]) -> Cluster:
    return replace(cluster, ready=False, offline=True, why="it was lost") if cluster.name in lost else cluster


def _with_files(policies: Mapping[Resource, list[Obj]], files: Sequence[Obj]) -> dict[Resource, list[Obj]]:
    """Return the policies as they are once the files are applied."""
    replaced = {(policy["kind"], key_of(policy)) for policy in files}
    return {
        resource: [
            *(policy for policy in known if (resource.kind, key_of(policy)) not in replaced),
            *(policy for policy in files if policy["kind"] == resource.kind),
        ]
        for resource, known in policies.items()
    }


async def _tried(host: Client, door: NativeDoor, objects: Iterable[Obj]) -> tuple[list[Outlook], list[_Pair]]:
    """Try each object on the federation's API server, which refuses what is wrong and fills in what is left out."""
    refused, pairs = [], []
    for obj in objects:
        title = f"{obj['kind']} {key_of(obj)}"
        try:
            resource = next(
                (kind for kind in door.resources if gvk(obj) == (kind.group, kind.version, kind.kind)), None
            )
            if resource is None:
                refused.append(Outlook(title, trouble=not_federated(await host.resource_of(obj), door.resources)))
                continue
            key = key_of(obj)
            live = await host.find(resource, key.name, key.namespace)
            pairs.append(_Pair(Ref(resource, key), live, resource.name_kind(await _try(host, resource, obj, live))))
        except ApiError as error:
            refused.append(Outlook(title, trouble=str(error)))
    return refused, pairs


async def _try(host: Client, resource: Resource, obj: Obj, live: Obj | None) -> Obj:
    if live is None:
        try:
            return await host.create(resource, obj, options=_TRIED)
        except NotFound:
            # Its namespace may come with the same files; it is taken as it was written.
            return obj
    last = annotations_of(live).get(_LAST_APPLIED)
    if last:
        patch = three_way_patch(orjson.loads(last), obj, live)
        key = key_of(obj)
        return await host.patch(resource, key.name, patch, key.namespace, options=_TRIED)
    kubectl = Client(host.transport, host.runtime, manager="kubectl")
    return await kubectl.apply(resource, obj, options=_TRIED)


async def _everything(host: Client, door: NativeDoor) -> list[_Pair]:
    """Return every federated object, each as it is: a policy or a lost cluster may concern any of them."""
    pairs = []
    for resource in door.resources:
        try:
            listed = (await host.list(resource)).items
        except NotFound:
            continue
        pairs += [_Pair(Ref(resource, key_of(obj)), obj, obj) for obj in listed if door.admits(obj)]
    return pairs
