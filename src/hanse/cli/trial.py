"""Objects of files tried on a federation's API server without effect, and the objects of it that they speak of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import orjson

from hanse.api.shipper.kinds import APPLICATIONS
from hanse.cli.doors import kind_in, plain_kinds
from hanse.cli.naming import not_federated
from hanse.kube.cache import Change
from hanse.kube.client import Client, WriteOptions
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj, annotations_of, key_of
from hanse.kube.packing import pack
from hanse.kube.patches.three_way import three_way_patch
from hanse.kube.resources import Resource
from hanse.propagation.doors import Doors
from hanse.propagation.intent import Ref

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_TRIED = WriteOptions(dry_run=True)


@dataclass(frozen=True, slots=True)
class Pair:
    """An object now and then; None where it does not exist."""

    now: Obj | None
    then: Obj | None


@dataclass(frozen=True, slots=True)
class Tried:
    """What the server says of objects in files.

    Those that go into members, what speaks of others, applications that become releases, and why it refuses one.
    """

    pairs: dict[Ref, Pair] = field(default_factory=dict)
    inputs: dict[Ref, Pair] = field(default_factory=dict)
    applications: dict[Ref, Pair] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


async def try_objects(host: Client, doors: Doors, objects: Iterable[Obj]) -> Tried:
    """Try each object on the federation's API server, which refuses what is wrong and fills in what is left out."""
    tried, kinds = Tried(), [*doors.resources, *doors.inputs, APPLICATIONS]
    for obj in objects:
        title, key, resource = f"{obj['kind']} {key_of(obj)}", key_of(obj), kind_in(kinds, obj)
        try:
            if resource is None:
                tried.refused[title] = not_federated(await host.resource_of(obj), plain_kinds(doors))
                continue
            live = await host.find(resource, key.name, key.namespace)
            then = resource.name_kind(await _try(host, resource, obj, live))
        except ApiError as error:
            tried.refused[title] = str(error)
            continue
        pair = Pair(None if live is None else resource.name_kind(live), then)
        if resource == APPLICATIONS:
            tried.applications[Ref(resource, key)] = pair
        if resource in doors.inputs:
            tried.inputs[Ref(resource, key)] = pair
        if resource in doors.resources:
            tried.pairs[Ref(resource, key)] = pair
    return tried


async def spoken_of(host: Client, doors: Doors, inputs: Mapping[Ref, Pair]) -> dict[Ref, Obj] | None:
    """Return the objects of the federation of which changed inputs speak, None where that may be any of them."""
    found: dict[Ref, Obj] = {}
    for ref, pair in inputs.items():
        for door, affected in doors.affected(ref.resource, _change(ref, pair)):
            if affected.everything:
                return None
            for spoken in affected.refs:
                obj = await host.find(spoken.resource, spoken.key.name, spoken.key.namespace)
                found |= {} if obj is None else {spoken: spoken.resource.name_kind(obj)}
            if affected.namespace:
                found |= await _all(host, doors, doors.kinds_of(door), affected.namespace)
    return found


async def everything(host: Client, doors: Doors) -> dict[Ref, Pair]:
    """Return every federated object, each as it is: a policy or a lost cluster may concern any of them."""
    return {ref: Pair(obj, obj) for ref, obj in (await _all(host, doors, doors.resources)).items()}


def _change(ref: Ref, pair: Pair) -> Change:
    before, after = (None if obj is None else pack(obj) for obj in (pair.now, pair.then))
    return Change(ref.key, before, after)


async def _all(host: Client, doors: Doors, kinds: Iterable[Resource], namespace: str = "") -> dict[Ref, Obj]:
    found: dict[Ref, Obj] = {}
    for kind in kinds:
        if namespace and not kind.namespaced:
            continue
        try:
            listed = [kind.name_kind(obj) for obj in (await host.list(kind, namespace)).items]
        except NotFound:
            continue
        found |= {Ref(kind, key_of(obj)): obj for obj in listed if doors.of(kind).admits(obj)}
    return found


async def _try(host: Client, resource: Resource, obj: Obj, live: Obj | None) -> Obj:
    if live is None:
        try:
            return await host.create(resource, obj, options=_TRIED)
        except NotFound:
            # Its namespace or its kind may come with the same files; it is taken as it was written.
            return obj
    last = annotations_of(live).get(_LAST_APPLIED)
    if last:
        patch = three_way_patch(orjson.loads(last), obj, live)
        key = key_of(obj)
        return await host.patch(resource, key.name, patch, key.namespace, options=_TRIED)
    kubectl = Client(host.transport, host.runtime, manager="kubectl")
    return await kubectl.apply(resource, obj, options=_TRIED)
