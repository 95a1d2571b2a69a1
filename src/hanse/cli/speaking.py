"""Who speaks for an object of the members: the source that was asked about, or another one that has the word."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from hanse.cli.doors import plain_kinds, read_kinds
from hanse.cli.failures import Failure
from hanse.cli.naming import find_source, not_federated
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden, NotFound
from hanse.kube.manifest import Key, Obj, key_of
from hanse.kube.resources import Resource
from hanse.propagation.claims import Claims, claim_of
from hanse.propagation.door import Door
from hanse.propagation.doors import Doors
from hanse.propagation.intent import Intent, Problem, Ref


class Unfederated(Failure):
    """An object that nobody speaks for in the members."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """The source that speaks for a target; `rivals` are the uids of the others, `note` says that one was asked for."""

    ref: Ref
    source: Obj
    door: Door
    rivals: tuple[str, ...] = ()
    note: str = ""

    @property
    def title(self) -> str:
        """The source's kind and name."""
        return title_of(self.ref)

    @property
    def target(self) -> Ref:
        """What members hold of it."""
        return self.door.target(self.ref)

    def translate(self) -> Intent | Problem:
        """Say what shall be where."""
        intent = self.door.translate(self.source)
        return intent if isinstance(intent, Problem) else replace(intent, inherits=self.rivals)


def title_of(ref: Ref) -> str:
    """Return what people call an object."""
    return f"{ref.resource.kind} {ref.key}"


def spoken_for(holder: Ref, target: Ref) -> str:
    """Say who has the word."""
    return f"{title_of(holder)} speaks for {title_of(target)}"


async def find_speaker(host: Client, doors: Doors, resource: Resource, key: Key) -> Speaker:
    """Find the source that speaks for what somebody named, be it a source itself, or what members hold of one.

    Raises Failure where there is none.
    """
    if resource not in doors.resources and resource not in doors.targets:
        raise Failure(not_federated(resource, plain_kinds(doors)))
    asked, source = await _find(host, doors, resource, key)
    door = doors.of(asked.resource)
    claimants = await find_claimants(host, doors, door.target(asked)) | {asked: source}
    claims = claims_of(doors, claimants)
    holder = claims.holder(door.target(asked))
    if holder is None:
        raise Unfederated(f"{title_of(asked)} is not federated: {_why_not(door, source)}")
    note = spoken_for(holder, door.target(asked)) if holder.resource.kind != resource.kind else ""
    return Speaker(holder, claimants[holder], doors.of(holder.resource), claims.rivals(holder), note)


async def find_copied(host: Client, resource: Resource, key: Key) -> tuple[Obj, Ref]:
    """Return the object that speaks for what somebody named, and what members hold of it; of any kind whatever."""
    doors = await read_kinds(host)
    if resource in doors.resources or resource in doors.targets:
        try:
            speaker = await find_speaker(host, doors, resource, key)
            return speaker.source, speaker.target
        except Unfederated:
            # What is not federated is in a cluster because somebody put it there.
            pass
    source = resource.name_kind(await find_source(host, resource, key))
    return source, target_of(doors, Ref(resource, key_of(source)))


def target_of(doors: Doors, ref: Ref) -> Ref:
    """Return what members hold of an object, which is the same for those of no door."""
    door = doors.find(ref)
    return ref if door is None else door.target(ref)


async def find_claimants(host: Client, doors: Doors, target: Ref) -> dict[Ref, Obj]:
    """Return every object of the federation that has to do with an object of the members."""
    found = {}
    for kind in doors.kinds_for(target.resource):
        for obj in await _named_alike(host, kind, target):
            ref = Ref(kind, key_of(obj))
            if doors.of(kind).target(ref) == target:
                found[ref] = obj
    return found


def claims_of(doors: Doors, sources: Mapping[Ref, Obj], fresh: Collection[Ref] = ()) -> Claims:
    """Return who speaks for what, as the engine has it.

    Objects that are `fresh`, or on no server yet, come after those that were made in the same second, the first first.
    """
    claims = Claims()
    for place, (ref, source) in enumerate(sources.items()):
        door = doors.of(ref.resource)
        if claim := claim_of(door, source):
            since = f"{claim.since or '~'} {place:06}" if ref in fresh or not claim.since else claim.since
            claims.stake(ref, door.target(ref), replace(claim, since=since))
    return claims


async def _find(host: Client, doors: Doors, resource: Resource, key: Key) -> tuple[Ref, Obj]:
    """Find what somebody named: of this kind, of one that is called the same, or of one that speaks for it."""
    candidates = dict.fromkeys((resource, *kinds_alike(doors.resources, resource), *doors.kinds_for(resource)))
    failures: list[Failure | NotFound | Forbidden] = []
    for kind in [kind for kind in candidates if kind in doors.resources]:
        try:
            source = kind.name_kind(await find_source(host, kind, _within(kind, resource, key)))
            return Ref(kind, key_of(source)), source
        except (NotFound, Forbidden, Failure) as error:
            failures.append(error)
    raise failures[0]


def kinds_alike(kinds: Iterable[Resource], resource: Resource) -> list[Resource]:
    """Return the kinds of the same name in other groups: who leaves the group out means whichever has the object."""
    return [kind for kind in kinds if kind.kind == resource.kind]


def _within(kind: Resource, asked: Resource, key: Key) -> Key:
    """Return where to look: what federates something of a whole cluster may be in any namespace."""
    return key if kind.namespaced == asked.namespaced else Key("", key.name)


async def _named_alike(host: Client, kind: Resource, target: Ref) -> list[Obj]:
    try:
        if kind.namespaced == target.resource.namespaced:
            found = await host.find(kind, target.key.name, target.key.namespace)
            return [kind.name_kind(found)] if found is not None else []
        listed = await host.list(kind, fields=f"metadata.name={target.key.name}")
    except (NotFound, Forbidden):
        # Not served here, or not for whoever asks: they are told what they may know.
        return []
    return [kind.name_kind(obj) for obj in listed.items]


def _why_not(door: Door, source: Obj) -> str:
    if door.lets_go(source):
        return "it, or its kind, was taken out of the federation"
    if door.name != "native":
        return "its type does not propagate, or its namespace is every cluster's own"
    return "it belongs to the federation's own machinery"
