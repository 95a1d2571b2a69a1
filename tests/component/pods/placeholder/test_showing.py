"""What a placeholder shows of its pod when its API server does not take all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from hanse.api.admiralty.keys import SHOWN
from hanse.apiserver import ApiServer, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, Invalid, ServerError
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, annotations_of, name_of, namespace_of, uid_of
from hanse.kube.resources import EVENTS, PODS
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Request
from hanse.pods.placeholder.shapes import readable
from hanse.pods.placeholder.showing import Showing
from hanse.propagation.intent import Ref
from tests.component.pods.wire import ADMINISTRATOR, Wire

pytestmark = pytest.mark.looptime
REF = Ref(PODS, Key("default", "web-1"))
POD: Obj = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-1", "namespace": "default", "annotations": {"mine": "m"}},
    "spec": {"containers": [{"name": "main", "image": "busybox"}]},
}


class Source:
    """A cluster with one placeholder, and what shows on it."""

    def __init__(self, server: ApiServer, runtime: SeededRuntime) -> None:
        self.wire = Wire(server.connect(ADMINISTRATOR))
        self.client = Client(self.wire, runtime)
        self.showing = Showing(self._write, EventRecorder(self.client, "hanse"))

    async def _write(self, _ref: Ref, placeholder: Obj, patch: Obj, part: str) -> Obj:
        whole = {**patch, "metadata": {**patch.get("metadata", {}), "uid": uid_of(placeholder)}}
        where = namespace_of(placeholder)
        return await self.client.patch(PODS, name_of(placeholder), whole, where, subresource=part)

    async def pod(self) -> Obj:
        return await self.client.get(PODS, "web-1", "default")

    async def follow(self, annotations: dict[str, str] | None = None, **status: Any) -> Obj:
        """The placeholder after it was shown that its pod has such a status and such annotations."""
        told = {**status, "podAnnotations": annotations or {}}
        chaperon = readable({"metadata": {"name": "web-1"}, "status": told})
        await self.showing.follow(REF, await self.pod(), chaperon)
        return await self.pod()

    async def told(self) -> list[str]:
        return [event["message"] for event in (await self.client.list(EVENTS, "default")).items]

    def writes_of_the_pod(self) -> int:
        return len([path for method, path in self.wire.writes if method == "PATCH" and "/pods/" in path])


@pytest.fixture
async def source() -> AsyncIterator[Source]:
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="source", storage=MemoryStorage(), runtime=runtime)
    made = Source(server, runtime)
    await made.client.create(PODS, POD)
    yield made
    await server.close()


def _refusing(part: str, error: ApiError) -> Callable[[Request], None]:
    def refuse(request: Request) -> None:
        if "/pods/" in request.path and request.path.endswith(part):
            raise error

    return refuse


async def test_a_large_annotation_does_not_keep_the_status_from_being_shown(source: Source) -> None:
    shown = await source.follow({"large": "x" * 300_000, "small": "s"}, phase="Running")
    assert shown["status"]["phase"] == "Running"
    assert annotations_of(shown) == {"mine": "m", "small": "s", SHOWN: "small"}
    assert await source.told() == ["large: annotations of its pod for which there is no room here"]
    before = len(source.wire.writes)
    await source.follow({"large": "x" * 300_000, "small": "s"}, phase="Running")
    assert len(source.wire.writes) == before


async def test_a_status_that_is_refused_is_told_and_not_tried_again_until_it_is_another(source: Source) -> None:
    source.wire.before_write = _refusing("/status", Invalid(422, "Invalid", "status.phase: it flies"))
    shown = await source.follow({"k": "v"}, phase="Running")
    assert annotations_of(shown) == {"mine": "m", "k": "v", SHOWN: "k"}
    assert await source.told() == [
        "the status of its pod cannot be shown here until it changes: status.phase: it flies"
    ]
    source.wire.before_write = lambda _request: None
    before = source.writes_of_the_pod()
    assert (await source.follow({"k": "v"}, phase="Running"))["status"]["phase"] == "Pending"
    assert source.writes_of_the_pod() == before
    assert (await source.follow({"k": "v"}, phase="Succeeded"))["status"]["phase"] == "Succeeded"


async def test_what_only_fails_now_is_tried_again(source: Source) -> None:
    source.wire.before_write = _refusing("/status", ServerError(500, "InternalError", "etcd is away"))
    with pytest.raises(ServerError):
        await source.follow(phase="Running")
    source.wire.before_write = lambda _request: None
    assert (await source.follow(phase="Running"))["status"]["phase"] == "Running"
    assert await source.told() == []


async def test_another_placeholder_of_that_name_is_shown_what_the_last_one_refused(source: Source) -> None:
    source.wire.before_write = _refusing("/status", Invalid(422, "Invalid", "no"))
    await source.follow(phase="Running")
    source.wire.before_write = lambda _request: None
    await source.client.delete(PODS, "web-1", "default", grace_seconds=0)
    await source.client.create(PODS, POD)
    assert (await source.follow(phase="Running"))["status"]["phase"] == "Running"
