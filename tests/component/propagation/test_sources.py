"""The source objects of a host: what is in a namespace, what the engine holds there, and what is known at all."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.api.names import FINALIZER
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, SECRETS, Resource
from hanse.kube.runtime import SeededRuntime
from hanse.propagation.intent import Ref
from hanse.propagation.sources import Sources

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

UNSERVED = Resource("none.such", "v1", "gadgets", "Gadget")
SETTINGS = Ref(CONFIGMAPS, Key("default", "settings"))
TOKEN = Ref(SECRETS, Key("default", "token"))


def manifest(ref, *finalizers):
    metadata = {"name": ref.key.name, "namespace": ref.key.namespace, "finalizers": list(finalizers)}
    return {"apiVersion": ref.resource.api_version, "kind": ref.resource.kind, "metadata": metadata}


@asynccontextmanager
async def followed(*kinds, changed=lambda _resource, _change: None):
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    sources = Sources(host, changed)
    sources.follow(kinds)
    running = asyncio.create_task(sources.run())
    try:
        yield host, sources
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await server.close()


async def test_what_is_in_a_namespace_follows_objects_and_kinds():
    async with followed(CONFIGMAPS, SECRETS) as (host, sources):
        await host.create(CONFIGMAPS, manifest(SETTINGS))
        await sources.wait_seen()
        await host.create(SECRETS, manifest(TOKEN))
        await host.runtime.sleep(1)
        both = set(sources.within("default"))
        sources.follow([CONFIGMAPS])
        one = set(sources.within("default"))
        await host.delete(CONFIGMAPS, "settings", "default")
        await host.runtime.sleep(1)

        assert both >= {SETTINGS, TOKEN}
        assert both - one == {ref for ref in both if ref.resource == SECRETS}
        assert SETTINGS in one
        assert SETTINGS not in sources.within("default")
        assert not sources.within("elsewhere")


async def test_a_namespace_is_held_by_what_the_engine_holds_in_it():
    async with followed(CONFIGMAPS, UNSERVED) as (host, sources):
        unknown = sources.hold("default")
        await host.create(CONFIGMAPS, manifest(SETTINGS, FINALIZER))
        await sources.wait_seen()
        held = sources.hold("default")
        await host.patch(CONFIGMAPS, "settings", {"metadata": {"finalizers": None}}, "default")
        await host.runtime.sleep(1)

        assert unknown
        assert held
        assert not sources.hold("default")


async def test_a_kind_is_known_once_all_of_it_was_seen_or_the_host_does_not_serve_it():
    async with followed(CONFIGMAPS, UNSERVED) as (_host, sources):
        before = sources.seen((CONFIGMAPS,)), sources.seen((SECRETS,)), sources.complete()
        await sources.wait_seen()
        after = sources.seen((CONFIGMAPS, UNSERVED)), sources.complete()
        sources.follow([CONFIGMAPS, UNSERVED, SECRETS])

        assert before == (False, True, False)
        assert after == (True, True)
        assert sources.seen((CONFIGMAPS,))
        assert not sources.seen((SECRETS,))
        await sources.wait_seen()
        assert sources.complete()


async def test_what_is_told_of_a_source_is_no_news_even_where_the_watch_is_faster_than_the_answer():
    heard = []
    async with followed(CONFIGMAPS, changed=lambda _resource, change: heard.append(change.key.name)) as (host, sources):
        written = await host.create(CONFIGMAPS, manifest(SETTINGS))
        await sources.wait_seen()
        await host.runtime.sleep(1)
        heard.clear()
        told = {**written, "data": {"a": "told"}}

        with sources.telling(SETTINGS, told):
            await host.update(CONFIGMAPS, told)
            await host.runtime.sleep(1)
        assert sources.get(SETTINGS)["data"] == {"a": "told"}
        assert heard == []

        with sources.telling(SETTINGS, told):
            await host.patch(CONFIGMAPS, "settings", {"data": {"a": "another's"}}, "default")
            await host.runtime.sleep(1)
        assert heard == ["settings"]
