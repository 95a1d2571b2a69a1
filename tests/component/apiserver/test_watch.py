"""Watches: what they show, where they resume, how they end."""

from __future__ import annotations

import pytest

from hanse.apiserver import ApiServer, MemoryStorage
from hanse.kube.runtime import SystemRuntime
from hanse.kube.transport import Request, Unreachable
from tests.component.apiserver.conftest import ADMIN, Api, Events, config

CONFIGS = "/api/v1/namespaces/default/configmaps"


async def current_version(api: Api) -> str:
    return str((await api.get(CONFIGS)).body["metadata"]["resourceVersion"])


async def test_a_watch_shows_every_change_from_its_version_on(api: Api) -> None:
    events = await api.watch(f"{CONFIGS}?resourceVersion={await current_version(api)}")
    await api.create(CONFIGS, config("a"))
    await api.patch(f"{CONFIGS}/a", {"data": {"a": "2"}})
    await api.delete(f"{CONFIGS}/a")
    seen = [await events.next() for _ in range(3)]
    assert [kind for kind, _ in seen] == ["ADDED", "MODIFIED", "DELETED"]
    versions = [int(obj["metadata"]["resourceVersion"]) for _, obj in seen]
    assert versions == sorted(set(versions))


async def test_a_watch_resumes_without_loss_or_repetition(api: Api) -> None:
    first = await api.watch(f"{CONFIGS}?resourceVersion={await current_version(api)}")
    await api.create(CONFIGS, config("a"))
    _, seen = await first.next()
    await first.stream.close()
    await api.create(CONFIGS, config("b"))
    second = await api.watch(f"{CONFIGS}?resourceVersion={seen['metadata']['resourceVersion']}")
    await api.create(CONFIGS, config("c"))
    names = [(await second.next())[1]["metadata"]["name"] for _ in range(2)]
    assert names == ["b", "c"]


async def test_a_watch_without_a_version_begins_with_what_is_there(api: Api) -> None:
    await api.create(CONFIGS, config("a", labels={"x": "y"}))
    kind, obj = await (await api.watch(f"{CONFIGS}?labelSelector=x=y")).next()
    assert (kind, obj["metadata"]["name"]) == ("ADDED", "a")


async def test_initial_events_end_with_a_marked_bookmark(api: Api) -> None:
    await api.create(CONFIGS, config("a", labels={"x": "y"}))
    events = await api.watch(
        f"{CONFIGS}?labelSelector=x=y&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    )
    seen = [await events.next(), await events.next()]
    assert [kind for kind, _ in seen] == ["ADDED", "BOOKMARK"]
    assert seen[1][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_an_object_that_leaves_the_selection_is_deleted_from_the_stream(api: Api) -> None:
    await api.create(CONFIGS, config("a", labels={"x": "y"}))
    events = await api.watch(f"{CONFIGS}?labelSelector=x=y&resourceVersion={await current_version(api)}")
    changed = await api.patch(f"{CONFIGS}/a", {"metadata": {"labels": {"x": "z"}}})
    kind, obj = await events.next()
    assert kind == "DELETED"
    assert obj["metadata"]["labels"] == {"x": "y"}
    assert obj["metadata"]["resourceVersion"] == changed.body["metadata"]["resourceVersion"]


async def test_a_watch_ends_after_its_time_with_a_bookmark(api: Api) -> None:
    version = await current_version(api)
    events = await api.watch(f"{CONFIGS}?resourceVersion={version}&timeoutSeconds=1&allowWatchBookmarks=true")
    assert [kind for kind, _ in await events.rest()] == ["BOOKMARK"]


async def test_a_version_older_than_the_history_is_expired() -> None:
    server = await ApiServer.open(name="short", storage=MemoryStorage(history=3), runtime=SystemRuntime())
    api = Api(server.connect(ADMIN))
    for count in range(5):
        await api.create(CONFIGS, config(f"c{count}"))
    events = await (await api.watch(f"{CONFIGS}?resourceVersion=1")).rest()
    listed = await api.get(f"{CONFIGS}?resourceVersion=1&resourceVersionMatch=Exact")
    await server.close()
    assert [(kind, obj["code"], obj["reason"]) for kind, obj in events] == [("ERROR", 410, "Expired")]
    assert (listed.code, listed.body["reason"]) == (410, "Expired")


async def test_table_rows_come_with_columns_once(api: Api) -> None:
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    request = Request("GET", CONFIGS, (("watch", "1"), ("resourceVersion", await current_version(api))), accept)
    stream = await api.transport.stream(request, 5)
    events = Events(stream)
    await api.create(CONFIGS, config("a"))
    await api.create(CONFIGS, config("b"))
    first, second = await events.next(), await events.next()
    assert [column["name"] for column in first[1]["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert second[1]["columnDefinitions"] is None
    assert second[1]["rows"][0]["cells"][0] == "b"


async def test_a_stopped_server_cuts_remote_streams_and_refuses_remote_requests(server: ApiServer) -> None:
    remote, local = Api(server.connect(ADMIN, as_remote=True)), Api(server.connect(ADMIN))
    cut = await remote.watch(f"{CONFIGS}?resourceVersion={await current_version(local)}")
    kept = await local.watch(f"{CONFIGS}?resourceVersion={await current_version(local)}")
    await server.stop_serving()
    with pytest.raises(Unreachable):
        await cut.next()
    with pytest.raises(Unreachable):
        await remote.get(CONFIGS)
    await local.create(CONFIGS, config("a"))
    assert (await kept.next())[0] == "ADDED"
