"""The client: verbs over plain manifests, typed refusals, patience."""

import asyncio

import pytest

from hanse.kube.client import Client, PatchType
from hanse.kube.errors import AlreadyExists, Conflict, Gone, Invalid, NotFound, ServerError, TooManyRequests
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Response, Unreachable

pytestmark = pytest.mark.looptime


def config(name, **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data,
    }


async def test_objects_are_created_read_changed_and_deleted(client):
    created = await client.create(CONFIGMAPS, config("a", x="1"))
    await client.update(CONFIGMAPS, {**created, "data": {"x": "2"}})
    await client.patch(CONFIGMAPS, "a", {"data": {"y": "3"}}, "default")
    patch = [{"op": "add", "path": "/data/z", "value": "4"}]
    await client.patch(CONFIGMAPS, "a", patch, "default", patch_type=PatchType.JSON)
    assert (await client.get(CONFIGMAPS, "a", "default"))["data"] == {"x": "2", "y": "3", "z": "4"}

    await client.delete(CONFIGMAPS, "a", "default", uid=created["metadata"]["uid"])

    assert await client.find(CONFIGMAPS, "a", "default") is None


async def test_refusals_have_types(client):
    created = await client.create(CONFIGMAPS, config("a"))
    with pytest.raises(AlreadyExists, match='configmaps "a" already exists'):
        await client.create(CONFIGMAPS, config("a"))
    await client.patch(CONFIGMAPS, "a", {"data": {"x": "1"}}, "default")
    with pytest.raises(Conflict, match="the object has been modified"):
        await client.update(CONFIGMAPS, created)
    with pytest.raises(Conflict):
        await client.delete(CONFIGMAPS, "a", "default", uid="another")
    with pytest.raises(NotFound, match='configmaps "b" not found'):
        await client.get(CONFIGMAPS, "b", "default")
    with pytest.raises(Invalid, match=r"metadata\.name"):
        await client.create(CONFIGMAPS, config("Not_A_Name"))


async def test_a_list_is_complete_however_many_pages_it_takes(client, monkeypatch):
    monkeypatch.setattr("hanse.kube.client.PAGE_SIZE", 7)
    for number in range(30):
        await client.create(CONFIGMAPS, config(f"c{number:02}"))

    listed = await client.list(CONFIGMAPS, "default")

    names = [obj["metadata"]["name"] for obj in listed.items if obj["metadata"]["name"].startswith("c")]
    assert names == [f"c{number:02}" for number in range(30)]
    assert listed.items[0]["kind"] == "ConfigMap"


async def test_applied_fields_are_owned_and_removed_again(client, connect):
    await client.apply(CONFIGMAPS, config("a", keep="1", drop="2"))
    await connect(manager="other").patch(CONFIGMAPS, "a", {"data": {"theirs": "3"}}, "default")

    applied = await client.apply(CONFIGMAPS, config("a", keep="1"))

    assert applied["data"] == {"keep": "1", "theirs": "3"}


async def test_a_watch_gives_changes_and_says_when_it_has_begun(client):
    start = (await client.list(CONFIGMAPS, "default")).resource_version
    opened = asyncio.Event()

    async def first():
        async for event in client.watch(CONFIGMAPS, "default", version=start, opened=opened.set):
            return event
        return None

    task = asyncio.create_task(first())
    await opened.wait()
    await client.create(CONFIGMAPS, config("a"))

    event = await task
    assert (event.type, event.object["metadata"]["name"]) == ("ADDED", "a")


async def test_kinds_are_found_by_manifest_and_by_what_people_type(client):
    found = await client.resource_of({"apiVersion": "apps/v1", "kind": "Deployment"})
    assert (found, found.namespaced) == (DEPLOYMENTS, True)
    for word in ("deployment", "deployments", "deploy", "deployments.apps", "Deployment"):
        assert await client.discovery.named(word) == DEPLOYMENTS
    assert await client.discovery.named("ns") == NAMESPACES
    with pytest.raises(NotFound, match='resource type "widgets"'):
        await client.discovery.named("widgets")
    with pytest.raises(NotFound, match='no matches for kind "Widget" in version "x/v1"'):
        await client.resource_of({"apiVersion": "x/v1", "kind": "Widget"})


class Scripted:
    """A transport that gives prepared answers and counts the questions."""

    address = "https://scripted"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    async def send(self, request, timeout):
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def close(self):
        pass


def answer(status, body=b"{}", **headers):
    return Response(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


async def test_a_server_that_asks_for_patience_gets_it():
    wire = Scripted(answer(429, retry_after="7"), answer(429, retry_after="3"), answer(200, b'{"kind": "ok"}'))
    start = asyncio.get_running_loop().time()

    found = await Client(wire, SeededRuntime()).get(CONFIGMAPS, "a", "default")

    assert found == {"kind": "ok"}
    assert asyncio.get_running_loop().time() - start >= 10


async def test_patience_ends():
    wire = Scripted(answer(429, b'{"message": "slow down"}', retry_after="1"))

    with pytest.raises(TooManyRequests, match="slow down"):
        await Client(wire, SeededRuntime()).get(CONFIGMAPS, "a", "default")

    assert wire.asked == 5


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        (answer(500, b'{"message": "etcd is gone"}'), ServerError, "etcd is gone"),
        (answer(410, b'{"reason": "Expired"}'), Gone, "HTTP 410 Expired"),
        (answer(502, b"<html>bad gateway</html>"), ServerError, "HTTP 502: <html>bad gateway</html>"),
        (answer(200, b"<html>hello</html>"), Unreachable, "not as a Kubernetes API server does"),
        (answer(200, b"[1]"), Unreachable, "not as a Kubernetes API server does"),
    ],
)
async def test_what_a_server_says_wrong_becomes_one_sentence_and_is_not_retried(given, error, sentence):
    wire = Scripted(given)

    with pytest.raises(error, match=sentence):
        await Client(wire, SeededRuntime()).get(CONFIGMAPS, "a", "default")

    assert wire.asked == 1
