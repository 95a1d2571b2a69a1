"""The front doors as a command sees them: informed once, by all that says on the federation what objects mean."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from hanse.api.federated_kinds import FEDERATED_KINDS
from hanse.api.names import HOST_ANNOTATION, SYSTEM_NAMESPACE
from hanse.cli.kinds_file import usual_teachings
from hanse.composite.door import CompositeDoor
from hanse.federated import FederatedDoor
from hanse.federated.knowledge import TYPE_CONFIG_KINDS
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden, NotFound
from hanse.kube.manifest import Key, Obj, annotations_of, key_of
from hanse.kube.resources import NAMESPACES, Resource, gvk
from hanse.native import GuestDoor, NativeDoor
from hanse.propagation.doors import Doors
from hanse.propagation.teaching import Teaching
from hanse.rollouts.door import RolloutDoor
from hanse.vitess.federated.door import VitessDoor
from hanse.vitess.federated.first_door import FirstVitessDoor

Inputs = dict[Resource, dict[Key, Obj]]

# What says which kinds are federated.
KIND_INPUTS = (FEDERATED_KINDS, *TYPE_CONFIG_KINDS)


def all_doors(teachings: Sequence[Teaching] = (), *, guest: bool = False) -> Doors:
    """Return the front doors of a federation, in the order in which a control plane has them.

    As a `guest` Hanse is on a cluster with work of its own, whose plain objects are mostly that cluster's.
    """
    plain = (GuestDoor if guest else NativeDoor)(teachings=teachings)
    return Doors([FederatedDoor(), RolloutDoor(), CompositeDoor(), VitessDoor(), FirstVitessDoor(), plain])


@dataclass(frozen=True, slots=True)
class Found:
    """Everything on a federation that says what objects mean; `refused` are the kinds that may not be read."""

    inputs: Inputs
    doors: Doors
    refused: dict[Resource, Forbidden]

    def require(self, kinds: Iterable[Resource]) -> Doors:
        """Return the doors to speak about objects of these kinds; raises Forbidden where too little may be known."""
        for kind in kinds:
            for needed in self.doors.of(kind).inputs if kind in self.doors.resources else ():
                if needed in self.refused:
                    raise self.refused[needed]
        return self.doors

    def with_files(self, objects: Iterable[Obj]) -> Doors:
        """Return the doors as they are once objects out of files are applied."""
        return informed(self.doors, objects, self.inputs)


async def read_inputs(host: Client, only: Collection[Resource] = (), doors: Doors | None = None) -> Found:
    """Read what every door looks at beside the objects themselves, kinds that others of them make known included.

    With `only` no other kinds are read, as if there were no objects of them. Without `doors` it is those of a command,
    which knows of kinds what the environment says.
    """
    served = {(kind.group, kind.version, kind.plural) for kind in await host.discovery.resources()}
    doors = doors or all_doors(usual_teachings(), guest=await _is_guest(host))
    inputs, refused = Inputs(), dict[Resource, Forbidden]()

    async def read(kind: Resource) -> None:
        inputs[kind] = {}
        if (only and kind not in only) or (kind.group, kind.version, kind.plural) not in served:
            return
        try:
            inputs[kind] = {key_of(obj): kind.name_kind(obj) for obj in (await host.list(kind)).items}
        except NotFound:
            # It was served a moment ago.
            return
        except Forbidden as error:
            refused[kind] = error

    while missing := [kind for kind in doors.inputs if kind not in inputs]:
        await asyncio.gather(*(read(kind) for kind in missing))
        doors = doors.informed(inputs)
    return Found(inputs, doors, refused)


async def read_doors(host: Client, *kinds: Resource) -> Doors:
    """Return the doors of a federation, to say where objects of these kinds go; raises Forbidden."""
    return (await read_inputs(host)).require(kinds)


async def read_kinds(host: Client) -> Doors:
    """Return the doors of a federation, to say which kinds it federates and what members hold of them."""
    # On a cluster with work of its own namespaces say which plain objects are the federation's.
    return (await read_inputs(host, (*KIND_INPUTS, NAMESPACES))).doors


async def _is_guest(host: Client) -> bool:
    try:
        system = await host.find(NAMESPACES, SYSTEM_NAMESPACE)
    except Forbidden:
        return False
    return system is not None and annotations_of(system).get(HOST_ANNOTATION) == "existing"


def informed(doors: Doors, objects: Iterable[Obj], known: Inputs | None = None) -> Doors:
    """Return doors that know these objects beside those known before; what is no input of any door is left out."""
    listed = list(objects)
    while True:
        before = list(doors.inputs)
        by_gvk = {(kind.group, kind.version, kind.kind): kind for kind in before}
        inputs: Inputs = {kind: dict((known or {}).get(kind, {})) for kind in before}
        for obj in listed:
            if (kind := by_gvk.get(gvk(obj))) is not None:
                inputs[kind][key_of(obj)] = obj
        doors = doors.informed(inputs)
        # Types that files enable have inputs of their own.
        if set(doors.inputs) == set(before):
            return doors


def kind_in(kinds: Iterable[Resource], obj: Obj) -> Resource | None:
    """Return the kind of a manifest among these, None where it is of none of them."""
    return next((kind for kind in kinds if gvk(obj) == (kind.group, kind.version, kind.kind)), None)


def plain_kinds(doors: Doors) -> list[Resource]:
    """Return the kinds of objects that members hold as they were written."""
    return [kind for kind in doors.resources if kind in doors.targets]
