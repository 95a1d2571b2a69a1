"""What files would change in a running federation: read, tried on its API server without effect, and foreseen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from hanse.api.clusters import Cluster
from hanse.api.names import MANAGED_LABEL
from hanse.cli.connection import read_clusters, read_policy_objects, rights_of
from hanse.cli.failures import Misuse
from hanse.cli.fleet import ask_members
from hanse.cli.naming import not_federated
from hanse.cli.paper import Papers
from hanse.clusters.access import Access
from hanse.clusters.member import Member
from hanse.kube.client import Client, WriteOptions
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj, annotations_of, is_deleting, key_of
from hanse.kube.patches.three_way import three_way_patch
from hanse.kube.resources import Resource, gvk
from hanse.native import NativeDoor
from hanse.placement.policy import read_policy
from hanse.propagation.foresight import ClusterChange, foresee
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.planning import UNSEEN, Observation, Planned, plan

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_TRIED = WriteOptions(dry_run=True)
# So many copies are asked for by name; for more of them whole kinds are listed.
_FEW = 20


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
    now = _Side(NativeDoor().informed(policies), clusters)
    then = _Side(
        NativeDoor().informed(_with_files(policies, papers.policies)), [_lose(each, lost) for each in clusters]
    )
    refused, pairs = await _tried(host, now.door, papers.objects)
    named = {pair.ref for pair in pairs}
    if papers.policies or lost:
        pairs += [pair for pair in await _everything(host, now.door) if pair.ref not in named]
    observed = await _observe(host, clusters, [pair.ref for pair in pairs])
    # The trial stamped whoever is asking here as the author of what they would write.
    access = Access(host)
    rights = {pair.ref: await rights_of(access, pair.then, clusters) for pair in pairs if pair.then is not None}
    moment = host.runtime.now()
    foreseen = [
        (pair.ref, _foreseen(pair, now, then, observed[pair.ref], rights.get(pair.ref, {}), moment)) for pair in pairs
    ]
    return refused + [outlook for ref, outlook in foreseen if ref in named or outlook.changes]


def _foreseen(
    pair: _Pair, now: _Side, then: _Side, observed: Mapping[str, Observation], rights: Mapping[str, str], moment: float
) -> Outlook:
    title = f"{pair.ref.resource.kind} {pair.ref.key}"
    before, after = _translated(now, pair.now), _translated(then, pair.then)
    if isinstance(after, Problem):
        return Outlook(title, trouble=after.message)
    planned = None
    if after is not None:
        planned = plan(_in_the_end(after.without(rights)), then.clusters, observed, now=moment)
    # An object that means nothing now keeps what it has, about which there is nothing to be compared.
    present = plan(_in_the_end(before), now.clusters, observed, now=moment) if isinstance(before, Intent) else None
    if planned is None or after is None:
        return Outlook(title, tuple(foresee(present, planned)))
    return Outlook(title, tuple(foresee(present, planned)), _trouble(planned), after.sources, planned)


def _in_the_end(intent: Intent) -> Intent:
    """Return an intent whose change has reached every cluster, however slowly its policy lets it spread."""
    return replace(intent, placement=replace(intent.placement, rollout=None))


def _trouble(planned: Planned) -> str:
    decision = planned.decision
    if decision.unplaced:
        return f"{decision.unplaced} replicas find no place: {decision.remedy}"
    if not decision.chosen():
        return "no cluster is chosen"
    return decision.notes[0] if decision.notes else ""


def _translated(side: _Side, obj: Obj | None) -> Intent | Problem | None:
    if obj is None or is_deleting(obj) or not side.door.admits(obj):
        return None
    intent = side.door.translate(obj)
    if isinstance(intent, Problem):
        return intent
    # Told is what it comes to, not the turns in which it gets there.
    return replace(intent, placement=replace(intent.placement, rollout=None))


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


async def _observe(host: Client, clusters: Sequence[Cluster], refs: Sequence[Ref]) -> dict[Ref, dict[str, Observation]]:
    answers = await ask_members(host, clusters, lambda member: _copies(member, refs))
    return {
        ref: {
            cluster: UNSEEN if isinstance(copies, str) else Observation(seen=True, copy=copies.get(ref))
            for cluster, copies in answers.items()
        }
        for ref in refs
    }


async def _copies(member: Member, refs: Sequence[Ref]) -> dict[Ref, Obj]:
    found: dict[Ref, Obj] = {}
    if len(refs) <= _FEW:
        for ref in refs:
            copy = await member.client.find(ref.resource, ref.key.name, ref.key.namespace)
            if copy is not None:
                found[ref] = copy
        return found
    for resource in {ref.resource for ref in refs}:
        try:
            listed = await member.client.list(resource, labels=f"{MANAGED_LABEL}=true")
        except NotFound:
            continue
        found |= {Ref(resource, key_of(obj)): obj for obj in listed.items}
    return found
