"""A watch cache stays true through disconnects, restarts and expiry, and never tells of what did not happen."""

import asyncio
import random

import pytest

from hanse.kube.cache import Cache, NotSynced
from hanse.kube.errors import Gone, Invalid
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.transport import Unreachable

pytestmark = pytest.mark.looptime


def config(name, **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"team": data.get("team", "red")}},
        "data": data,
    }


class Follower:
    """A cache, its task, and everything its handler heard."""

    def __init__(self, client, **scope):
        self.cache = Cache(client, CONFIGMAPS, **scope)
        self.heard = []
        self.cache.subscribe(self._hear)
        self.task = None

    def _hear(self, change):
        kind = "+" if change.old_bytes is None else "-" if change.new_bytes is None else "~"
        if change.key.name != "kube-root-ca.crt":
            self.heard.append(f"{kind}{change.key.name}")

    async def __aenter__(self):
        self.task = asyncio.create_task(self.cache.run())
        await asyncio.wait_for(self.cache.wait_synced(), 60)
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def settle():
    await asyncio.sleep(30)


async def test_reading_before_the_first_list_is_refused(client):
    with pytest.raises(NotSynced, match="configmaps"):
        Cache(client, CONFIGMAPS).get(Key("default", "a"))


async def test_changes_are_told_once_and_in_order(client):
    await client.create(CONFIGMAPS, config("a"))
    async with Follower(client, namespace="default") as follower:
        await client.create(CONFIGMAPS, config("b"))
        await client.patch(CONFIGMAPS, "a", {"data": {"x": "1"}}, "default")
        await client.delete(CONFIGMAPS, "b", "default")
        await settle()

        assert follower.heard == ["+a", "+b", "~a", "-b"]
        assert follower.cache.get(Key("default", "a"))["data"] == {"x": "1"}
        assert follower.cache.get(Key("default", "b")) is None


async def test_a_reader_cannot_change_the_copy(client):
    await client.create(CONFIGMAPS, config("a", x="1"))
    async with Follower(client, namespace="default") as follower:
        follower.cache.get(Key("default", "a"))["data"]["x"] = "changed"

        assert follower.cache.get(Key("default", "a"))["data"] == {"x": "1"}


async def test_a_subscriber_that_comes_late_hears_of_what_is_there(client):
    await client.create(CONFIGMAPS, config("a"))
    async with Follower(client, namespace="default") as follower:
        late = []
        follower.cache.subscribe(lambda change: late.append(change.key.name))

        assert "a" in late


async def test_an_outage_is_survived_and_what_happened_meanwhile_is_told(server, client, connect, runtime):
    insider = connect()
    insider.transport = server.connect(client.transport._identity)
    await client.create(CONFIGMAPS, config("stays"))
    await client.create(CONFIGMAPS, config("goes"))
    async with Follower(client, namespace="default") as follower:
        await server.stop_serving()
        await settle()
        assert not follower.cache.connected
        assert isinstance(follower.cache.last_error, Unreachable)

        await insider.delete(CONFIGMAPS, "goes", "default")
        await insider.create(CONFIGMAPS, config("new"))
        server.resume()
        await settle()

        assert follower.heard == ["+goes", "+stays", "-goes", "+new"]
        assert follower.cache.connected


async def test_an_outage_alone_deletes_nothing(server, client):
    await client.create(CONFIGMAPS, config("a"))
    async with Follower(client, namespace="default") as follower:
        await server.stop_serving()
        await asyncio.sleep(3600)

        assert follower.heard == ["+a"]
        assert follower.cache.get(Key("default", "a")) is not None


class ExpiringOnce:
    """A transport on which the next watch is told that its version is too old."""

    def __init__(self, inner):
        self.inner = inner
        self.expire = False
        self.lists = 0
        self.streams_lists = True

    @property
    def address(self):
        return self.inner.address

    async def send(self, request, timeout):
        self.lists += request.method == "GET" and any(name == "limit" for name, _ in request.query)
        return await self.inner.send(request, timeout)

    async def stream(self, request, timeout):
        if ("sendInitialEvents", "true") in request.query:
            if not self.streams_lists:
                raise Invalid(422, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch")
            self.lists += 1
        if self.expire:
            self.expire = False
            raise Gone(410, "Expired", "too old resource version")
        return await self.inner.stream(request, timeout)

    async def close(self):
        await self.inner.close()


@pytest.mark.parametrize("streams_lists", [True, False])
async def test_an_expired_version_leads_to_a_new_list_without_a_false_deletion(server, client, streams_lists):
    await client.create(CONFIGMAPS, config("a"))
    wire = client.transport = ExpiringOnce(client.transport)
    wire.streams_lists = streams_lists
    async with Follower(client, namespace="default", streaming=True) as follower:
        wire.expire = True
        await server.stop_serving()
        server.resume()
        await settle()
        await client.create(CONFIGMAPS, config("b"))
        await settle()

        assert wire.lists == 2
        assert follower.heard == ["+a", "+b"]


async def test_a_label_scope_sees_objects_come_and_go_with_their_labels(client):
    await client.create(CONFIGMAPS, config("a", team="red"))
    await client.create(CONFIGMAPS, config("b", team="blue"))
    async with Follower(client, labels="team=red") as follower:
        await client.patch(CONFIGMAPS, "a", {"metadata": {"labels": {"team": "blue"}}}, "default")
        await client.patch(CONFIGMAPS, "b", {"metadata": {"labels": {"team": "red"}}}, "default")
        await settle()

        assert follower.heard == ["+a", "-a", "+b"]


async def test_ones_own_write_can_be_read_at_once_and_never_comes_back_from_the_dead(client):
    async with Follower(client, namespace="default") as follower:
        created = await client.create(CONFIGMAPS, config("a"))
        follower.cache.remember(created)
        assert follower.cache.get(Key("default", "a")) is not None

        await client.delete(CONFIGMAPS, "a", "default")
        await settle()
        follower.cache.remember(created)

        assert follower.cache.get(Key("default", "a")) is None


async def test_a_write_taken_in_quietly_is_there_and_nobody_is_told(client):
    created = await client.create(CONFIGMAPS, config("a"))
    # An answer that comes before the watch tells of the write.
    version = str(int(created["metadata"]["resourceVersion"]) + 1000)
    written = {**created, "metadata": {**created["metadata"], "resourceVersion": version}, "data": {"color": "blue"}}
    async with Follower(client) as follower:
        follower.cache.remember(written, quietly=True)

        assert follower.cache.get(Key("default", "a"))["data"] == {"color": "blue"}
        assert follower.cache.version(Key("default", "a")) == version
        assert follower.cache.version(Key("default", "b")) == ""
        assert follower.heard == ["+a"]


async def test_the_projection_decides_what_is_kept(client):
    await client.create(CONFIGMAPS, config("a", big="x" * 1000))

    def name_only(obj):
        return {"metadata": {"name": obj["metadata"]["name"]}}

    async with Follower(client, namespace="default", project=name_only) as follower:
        assert follower.cache.get(Key("default", "a")) == {"metadata": {"name": "a"}}


@pytest.mark.parametrize("seed", range(5))
async def test_under_random_changes_and_cuts_the_copy_ends_equal_and_no_change_is_invented(
    server, client, connect, seed
):
    chance = random.Random(seed)
    insider = connect()
    insider.transport = server.connect(client.transport._identity)
    alive: set[str] = set()
    history: list[str] = []
    async with Follower(client, namespace="default") as follower:
        for number in range(200):
            if chance.random() < 0.1:
                await server.stop_serving()
                await asyncio.sleep(chance.random() * 5)
                server.resume()
            name = f"c{chance.randrange(12)}"
            if name not in alive:
                await insider.create(CONFIGMAPS, config(name, n=str(number)))
                alive.add(name)
                history.append(f"+{name}")
            elif chance.random() < 0.4:
                await insider.delete(CONFIGMAPS, name, "default")
                alive.discard(name)
                history.append(f"-{name}")
            else:
                await insider.patch(CONFIGMAPS, name, {"data": {"n": str(number)}}, "default")
                history.append(f"~{name}")
            await asyncio.sleep(chance.random())
        await settle()

        listed = (await insider.list(CONFIGMAPS, "default")).items
        truth = {obj["metadata"]["name"]: obj["data"] for obj in listed}
        assert {key.name: follower.cache.get(key)["data"] for key in follower.cache} == truth
        assert follower.heard == history


async def test_metadata_alone_can_be_followed(client):
    await client.create(CONFIGMAPS, config("a", secret="long"))
    async with Follower(client, namespace="default", metadata_only=True) as follower:
        await client.create(CONFIGMAPS, config("b", secret="long"))
        await settle()

        for name in "ab":
            held = follower.cache.get(Key("default", name))
            assert held["metadata"]["labels"] == {"team": "red"}
            assert "data" not in held
