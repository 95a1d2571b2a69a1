"""What explanations and plans must read beside an object: those that name it, what it names, and their copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hanse.api.clusters import Cluster
from hanse.api.names import MANAGED_LABEL
from hanse.cli.connection import rights_of
from hanse.cli.fleet import ask_members
from hanse.clusters.access import Access
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, key_of
from hanse.kube.resources import Resource
from hanse.native.dividing import runs_pods
from hanse.native.kinds import DEFAULT_KINDS
from hanse.propagation.dependencies import NAMEABLE
from hanse.propagation.doors import Doors
from hanse.propagation.intent import Intent, Ref
from hanse.propagation.planning import UNSEEN, Observation, Planned, plan
from hanse.propagation.rehearsing import Onlooker

# So many copies are asked for by name; for more of them whole kinds are listed.
_FEW = 20


async def look_around(host: Client, doors: Doors, clusters: Sequence[Cluster], ref: Ref, source: Obj) -> Onlooker:
    """Read everything on which it depends where an object goes because it follows others, or others follow it."""
    sources = {ref: source, **await neighbours(host, doors, {ref: source})}
    observed = await observe_sources(host, doors, clusters, list(sources)) if len(sources) > 1 else {}
    rights = await rights_to_place(host, doors, sources, clusters) if observed else {}
    now = host.runtime.now()

    def planning(other: Ref, intent: Intent) -> Planned:
        return plan(intent.without(rights[other]), clusters, observed[other], now=now)

    return Onlooker(doors, clusters, sources, observed, planning)


async def neighbours(host: Client, doors: Doors, sources: Mapping[Ref, Obj]) -> dict[Ref, Obj]:
    """Return the objects on which it depends where these go, and what they name; all of them where one is named."""
    found: dict[Ref, Obj] = {}
    for ref, source in sources.items():
        needs = doors.of(ref.resource).needs(source)
        for need in needs.named if needs.follow else ():
            if need.ref not in sources and need.ref not in found:
                named = await host.find(need.ref.resource, need.ref.key.name, need.ref.key.namespace)
                found |= {} if named is None else {need.ref: need.ref.resource.name_kind(named)}
        if ref.resource in NAMEABLE:
            found |= await _users(host, doors, ref.key.namespace, {ref})
    # What follows one of these may be shared with others, which must not go without.
    for namespace in {ref.key.namespace for ref in found if ref.resource in NAMEABLE}:
        found |= await _users(host, doors, namespace, {ref for ref in found if ref.key.namespace == namespace})
    return {ref: obj for ref, obj in found.items() if ref not in sources}


async def _users(host: Client, doors: Doors, namespace: str, named: set[Ref]) -> dict[Ref, Obj]:
    found = {}
    for resource in doors.resources:
        # What a federated template names is federated by itself: only plain objects have company.
        if not resource.namespaced or resource not in doors.targets:
            continue
        if not runs_pods(resource) and resource in DEFAULT_KINDS:
            continue
        door = doors.of(resource)
        for obj in await _listed(host, resource, namespace):
            if door.admits(obj) and any(need.ref in named for need in door.needs(obj).named):
                found[Ref(resource, key_of(obj))] = obj
    return found


async def _listed(host: Client, resource: Resource, namespace: str) -> list[Obj]:
    try:
        return [resource.name_kind(obj) for obj in (await host.list(resource, namespace)).items]
    except NotFound:
        # A kind that the federation does not serve has no objects.
        return []


async def rights_to_place(
    host: Client, doors: Doors, sources: Mapping[Ref, Obj], clusters: Sequence[Cluster]
) -> dict[Ref, dict[str, str]]:
    """Return for each object the clusters that its author may not use, or those who say where it goes, and why."""
    access, found = Access(host), {}
    for ref, source in sources.items():
        intent = doors.of(ref.resource).translate(source)
        voices = intent.voices if isinstance(intent, Intent) else ()
        found[ref] = await rights_of(access, source, clusters, voices)
    return found


async def observe_sources(
    host: Client, doors: Doors, clusters: Sequence[Cluster], refs: Sequence[Ref]
) -> dict[Ref, dict[str, Observation]]:
    """Ask every member for what it holds of these objects of the federation."""
    targets = {ref: doors.of(ref.resource).target(ref) for ref in refs}
    observed = await observe_copies(host, clusters, list(dict.fromkeys(targets.values())))
    return {ref: observed[target] for ref, target in targets.items()}


async def observe_copies(
    host: Client, clusters: Sequence[Cluster], refs: Sequence[Ref]
) -> dict[Ref, dict[str, Observation]]:
    """Ask every member for objects of its own."""
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
