"""Where lambda controllers are run: on the federation, and in members whose door is open."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.api.clusters import CLUSTERS, DOORS_ANNOTATION
from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS
from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS, COMPOSITES_DOOR, DECORATOR_CONTROLLERS
from hanse.cli.composite_parts import NO_KINDS, SOMEBODY_ELSES, obstacle
from hanse.cli.control_plane import run_control_plane, serve_composites
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import CONFIGMAPS, CRDS
from hanse.kube.runtime import SeededRuntime
from tests.simulation.composite.stage import THINGS, child, composite, parent_crd
from tests.simulation.world import World

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

# No process is started before the first parent.
PYTHON = {"sync": {"python": {"inline": "def sync(request): return {}"}}}
JSONNET = {"sync": {"jsonnet": {"inline": "function(request) {}"}}}


class CompositeWorld(World):
    """A federation whose control plane runs lambda controllers, those of one team where it is told so."""

    labels = ""

    def start_control_plane(self) -> None:
        host = Client(self._wire("host"), self.runtime)
        self._control_plane = asyncio.create_task(
            run_control_plane(
                host,
                connect=lambda endpoint: self._wire(endpoint.server.removeprefix("https://")),
                composites=self.labels,
            )
        )

    async def define(self, cluster: str) -> None:
        for crd in (*METACONTROLLER_CRDS, parent_crd(THINGS)):
            await self.clients[cluster].create(CRDS, crd)

    async def open_door(self, cluster: str, *doors: str) -> None:
        said = ",".join(doors) or None
        await self.host.patch(CLUSTERS, cluster, {"metadata": {"annotations": {DOORS_ANNOTATION: said}}})

    async def controller(self, cluster: str, name: str, hooks: Obj, **labels: str) -> None:
        written = composite(name, hooks, child(CONFIGMAPS, "InPlace"))
        written["metadata"]["labels"] = labels
        await self.clients[cluster].create(COMPOSITE_CONTROLLERS, written)

    async def told(self, cluster: str, name: str) -> tuple[str, str] | None:
        """Wait for what a controller says of itself."""
        await self.until(lambda: self.ready(cluster, name))
        return await self.ready(cluster, name)

    async def ready(self, cluster: str, name: str) -> tuple[str, str] | None:
        found = await self.clients[cluster].get(COMPOSITE_CONTROLLERS, name)
        condition = find_condition(dig(found, "status", "conditions"), "Ready")
        return None if condition is None else (condition["status"], condition["message"])


@asynccontextmanager
async def world(*members: str, labels: str = ""):
    made = CompositeWorld(SeededRuntime(0))
    made.labels = labels
    try:
        await made.start(members)
        yield made
    finally:
        await made.close()


async def test_a_members_controllers_are_run_while_its_door_is_open_and_run_nothing_beside_the_control_plane():
    async with world("east") as on:
        await on.define("east")
        await on.open_door("east", "pods")
        await on.controller("east", "code", PYTHON)
        await on.controller("east", "words", JSONNET)
        await on.runtime.sleep(30)
        closed = [await on.ready("east", name) for name in ("code", "words")]
        await on.open_door("east", "pods", COMPOSITES_DOOR)
        words = await on.told("east", "words")
        code = await on.told("east", "code")
        await on.open_door("east", "pods")
        await on.runtime.sleep(5)
        await on.controller("east", "late", JSONNET)
        await on.runtime.sleep(30)

        assert closed == [None, None]
        assert words == ("True", "the hooks are called")
        assert code[0] == "False"
        assert "put the controller on the federation" in code[1]
        assert await on.ready("east", "late") is None


async def test_only_the_controllers_that_the_selector_matches_are_run_on_the_federation_also_in_python():
    async with world(labels="team=blue") as on:
        await on.define("host")
        await on.controller("host", "other", PYTHON, team="red")
        await on.controller("host", "ours", PYTHON, team="blue")
        ours = await on.told("host", "ours")
        await on.runtime.sleep(30)

        assert ours == ("True", "the hooks are called")
        assert await on.ready("host", "other") is None


async def test_a_host_with_metacontroller_is_left_alone_until_it_has_hanses_definitions():
    async with world() as on:
        before = await obstacle(on.host)
        await on.host.create(CRDS, parent_crd(THINGS))
        # Metacontroller's own definitions keep nothing of a status, in its newer releases with a subresource for it.
        theirs = parent_crd(COMPOSITE_CONTROLLERS)
        theirs["metadata"]["annotations"] = METACONTROLLER_CRDS[0]["metadata"]["annotations"]
        stored = await on.host.create(CRDS, theirs)
        await serve_composites(on.host)
        await on.controller("host", "one", PYTHON)
        await on.runtime.sleep(30)
        alone = await on.ready("host", "one"), await obstacle(on.host)
        served = await on.host.find(CRDS, DECORATOR_CONTROLLERS.group_resource)
        await on.host.patch(CRDS, stored["metadata"]["name"], {"spec": METACONTROLLER_CRDS[0]["spec"]})
        await serve_composites(on.host)

        assert (before, alone, served) == (NO_KINDS, (None, SOMEBODY_ELSES), None)
        assert await on.told("host", "one") == ("True", "the hooks are called")
