"""One controller that no cluster stores, as `hanse composite run` runs it."""

import asyncio

import pytest

from hanse.api.metacontroller.kinds import CONTROLLER_REVISIONS
from hanse.composite.hosting.alone import run_alone
from hanse.composite.hosting.place import Place, UnknownKind
from hanse.composite.hosting.server import NotServed
from hanse.composite.hosting.shelf import CacheShelf
from hanse.composite.reading import read_controller
from hanse.composite.spec import ControllerSpec
from hanse.kube.events import EventRecorder
from hanse.kube.resources import CONFIGMAPS, CRDS, PODS, Resource
from tests.simulation.composite.stage import THINGS, child, composite, config, parent_crd, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


def alone(on, controller, started=lambda: None):
    spec = read_controller(controller)
    assert isinstance(spec, ControllerSpec)
    place = Place(on.client, CacheShelf(on.client), EventRecorder(on.client, "metacontroller"), on._open)
    return run_alone(controller, spec, place, started)


async def test_it_makes_children_until_it_is_ended_and_leaves_them():
    async with stage() as on:
        hook = on.hook("sync", lambda _body: {"children": [config("one-0")], "status": {"n": 1}})
        started = asyncio.Event()
        await on.create(thing())
        running = asyncio.create_task(
            alone(on, composite("alone", {"sync": hook}, child(CONFIGMAPS, "InPlace")), started.set)
        )
        await started.wait()
        made = await on.until(lambda: on.names(CONFIGMAPS, labels="thing=one"))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await on.client.delete(CONFIGMAPS, "one-0", "default")
        await on.settle()

        assert made == ["one-0"]
        assert await on.names(CONFIGMAPS, labels="thing=one") == []


async def test_what_stands_in_its_way_is_told_before_it_starts():
    geese, stones = (Resource("ctl.example.com", "v1", plural, "Other") for plural in ("geese", "stones"))
    rolling = child(PODS, "RollingRecreate")
    async with stage() as on:
        await on.kill()
        await on.client.create(CRDS, parent_crd(stones, status=False))
        await on.client.delete(CRDS, CONTROLLER_REVISIONS.group_resource)
        hook = on.hook("sync", lambda _body: {})
        for parents, made, problem, said in (
            (geese, child(CONFIGMAPS), UnknownKind, "no geese of ctl.example.com/v1"),
            (THINGS, child(geese), UnknownKind, "no geese of ctl.example.com/v1"),
            (stones, child(CONFIGMAPS), NotServed, "no status subresource"),
            (THINGS, rolling, UnknownKind, "no controllerrevisions"),
        ):
            started = asyncio.Event()
            with pytest.raises(problem, match=said):
                await alone(on, composite("alone", {"sync": hook}, made, of=parents), started.set)
            assert not started.is_set()
