"""Two sources of one object, plain and federated, and a control plane that dies while the copies change hands."""

from __future__ import annotations

from typing import Any

from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.api.names import FEDERATE_ANNOTATION, OWNER_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, uid_of
from hanse.kube.resources import CONFIGMAPS, Resource
from hanse.kube.transport import Request, Unreachable
from tests.simulation.playing import quietly
from tests.simulation.world import World, config

FEDERATED_CONFIGS = template_resource(FORM_D, CONFIGMAPS)


def wrapped(target: Resource, template: Obj, name: str, namespace: str, **placement: Any) -> Obj:
    """A federated object; without a placement it goes everywhere."""
    resource = template_resource(FORM_D, target)
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": template, "placement": placement or {"clusterSelector": {}}},
    }


class Copies:
    """What members have of one object."""

    def __init__(self, world: World, resource: Resource, name: str, namespace: str = "default") -> None:
        self._world = world
        self._where = (resource, name, namespace)

    async def found(self) -> dict[str, Obj]:
        found = {cluster: await self._world.find(cluster, *self._where) for cluster in self._world.clusters}
        return {cluster: copy for cluster, copy in found.items() if copy is not None}

    async def uids(self) -> dict[str, str]:
        return {cluster: uid_of(copy) for cluster, copy in (await self.found()).items()}

    async def are_in(self, *clusters: str) -> bool:
        return set(await self.found()) == set(clusters)

    async def owners(self) -> dict[str, str | None]:
        return {name: annotations_of(copy).get(OWNER_ANNOTATION) for name, copy in (await self.found()).items()}

    async def until_owned_by(self, source: Obj, *clusters: str) -> None:
        wanted = dict.fromkeys(clusters or self._world.clusters, uid_of(source))

        async def holds() -> bool:
            owners = await self.owners()
            return {name: owners.get(name) for name in wanted} == wanted

        await self._world.until(holds)

    async def until_gone(self) -> None:
        await self._world.until(self.are_in)


async def until_gone(world: World, resource: Resource, name: str, namespace: str = "") -> None:
    """Wait until the host has an object no longer."""

    async def holds() -> bool:
        return await world.host.find(resource, name, namespace) is None

    await world.until(holds)


class Strike:
    """From its request of that number on the control plane writes nothing any more."""

    def __init__(self, world: World, request: int) -> None:
        self.happened = False
        self._world = world
        self._left = request
        for wire in world.wires.values():
            wire.before_write = self._before_write

    def end(self) -> None:
        for wire in self._world.wires.values():
            wire.before_write = lambda _request: None

    def _before_write(self, _request: Request) -> None:
        self._left -= 1
        if self._left <= 0:
            self.happened = True
            raise Unreachable("somewhere", "whoever asks is about to be killed")


async def hand_over_and_die(world: World, request: int, *, deleted: bool) -> bool:
    """Have a plain ConfigMap go that a federated one follows, with a control plane that dies at a request.

    Returns whether there was such a request; raises AssertionError where a copy was lost or made anew.
    """
    name = f"settings-{request}"
    copies = Copies(world, CONFIGMAPS, name)
    first = await world.host.create(CONFIGMAPS, config(name))
    await copies.until_owned_by(first)
    uids = await copies.uids()
    await world.runtime.sleep(2)
    second = await world.host.create(FEDERATED_CONFIGS, wrapped(CONFIGMAPS, {"data": {"x": "y"}}, name, "default"))
    await world.runtime.sleep(2)

    strike = Strike(world, request)
    if deleted:
        await world.host.delete(CONFIGMAPS, name, "default")
    else:
        patch = {"metadata": {"annotations": {FEDERATE_ANNOTATION: "false"}}}
        await world.host.patch(CONFIGMAPS, name, patch, "default")
    with quietly():
        await world.runtime.sleep(3)
        if strike.happened:
            await world.kill_control_plane()
            strike.end()
            world.start_control_plane()
        await copies.until_owned_by(second)
    strike.end()
    if deleted:
        await until_gone(world, CONFIGMAPS, name, "default")
    assert await copies.uids() == uids
    return strike.happened
