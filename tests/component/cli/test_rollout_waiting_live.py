"""Rollouts that move while a command waits, watches or writes: on virtual time against an API server in process."""

import asyncio

import pytest

from hanse.api.cluster_kind import CLUSTER_CRD
from hanse.api.shipper.definitions import APPLICATION_CRD, RELEASE_CRD
from hanse.api.shipper.kinds import APPLICATIONS, PAUSED_ANNOTATION, RELEASES
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.rollout_finding import find_rollout
from hanse.cli.rollout_get import follow
from hanse.cli.rollout_retry import retry
from hanse.cli.rollout_waiting import Goal, Stuck, TooLate, wait_for
from hanse.kube.client import Client
from hanse.kube.manifest import Key, annotations_of
from hanse.kube.resources import CRDS, EVENTS, NAMESPACES
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Unreachable
from tests.unit.cli.rollout_cases import application, condition, environment, release

pytestmark = pytest.mark.looptime

WEB = Key("shop", "web")


class Faltering:
    """A transport to a server that can go away for a while, and on which others act in between."""

    def __init__(self, inner):
        self._inner = inner
        self.address = inner.address
        self.away = False
        self.after_status = None

    async def send(self, request, timeout):
        if self.away:
            raise Unreachable(self.address, "it is being restarted")
        answer = await self._inner.send(request, timeout)
        if request.path.endswith("/status") and self.after_status is not None:
            then, self.after_status = self.after_status, None
            await then()
        return answer


class Rollout:
    """One application on a host, and the waiting for it."""

    def __init__(self, host, wire):
        self.host = host
        self.wire = wire
        self.told = []

    async def begin(self, *releases, version="0.0.2"):
        await self.host.create(APPLICATIONS, application(version=version))
        for each in releases:
            await self.store(each)

    async def store(self, obj):
        await self.host.create(RELEASES, {name: value for name, value in obj.items() if name != "status"})
        await self.says(obj["metadata"]["name"], obj["status"])

    async def says(self, name, status):
        await self.host.patch(RELEASES, name, {"status": status}, "shop", subresource="status")

    def wait(self, goal=None, timeout=None):
        return asyncio.create_task(wait_for(self.host, WEB, goal or Goal(), timeout, self.told.append))


@pytest.fixture
async def rollout():
    runtime = SeededRuntime(1)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    wire = Faltering(server.connect(Identity("admin", ("system:masters",))))
    host = Client(wire, runtime)
    await host.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    for definition in (APPLICATION_CRD, RELEASE_CRD, CLUSTER_CRD):
        await host.create(CRDS, definition)
    yield Rollout(host, wire)
    await server.close()


OLD = release(generation=0, step=1, achieved=1, complete=True)
ACHIEVED = {"achievedStep": {"step": 0, "name": "staging"}}


async def test_waiting_begins_before_there_is_a_release_and_ends_when_its_step_is_achieved(rollout):
    await rollout.begin(OLD)
    waiting = rollout.wait()
    await asyncio.sleep(2)
    await rollout.store(release(generation=1, version="0.0.2"))
    await asyncio.sleep(2)
    assert not waiting.done()
    await rollout.says("web-1", ACHIEVED)

    assert await waiting == "release web-1 has achieved step 1 of 2 (staging)"
    assert rollout.told == [
        "no release was made of its template yet",
        "step 1 of 2 (staging) is yet to be achieved",
    ]


async def test_a_release_that_is_replaced_or_aborted_is_not_waited_for(rollout):
    await rollout.begin(OLD, release(generation=1, version="0.0.2"))
    waiting = rollout.wait()
    await asyncio.sleep(2)
    await rollout.host.delete(RELEASES, "web-1", "shop")

    with pytest.raises(Stuck, match="release web-1 was aborted"):
        await waiting


MISSED = {"step": 0, "failure": {"message": "step 0 was not achieved within 30 seconds", "remedy": "Abort"}}


async def test_a_release_that_the_control_plane_took_back_between_two_looks_says_why(rollout):
    await rollout.begin(OLD, release(generation=1, version="0.0.2"))
    waiting = rollout.wait()
    await asyncio.sleep(2)
    event = {"apiVersion": "v1", "kind": "Event"}
    about = {"kind": "Release", "name": "web-1", "namespace": "shop"}
    said = {"reason": "RolloutAborted", "type": "Warning"}
    uid = (await rollout.host.get(RELEASES, "web-1", "shop"))["metadata"]["uid"]
    for name, of, message in (("a", "of another before it", "it was slow"), ("b", uid, "step 0 was not achieved")):
        event["metadata"] = {"name": name, "namespace": "shop"}
        await rollout.host.create(EVENTS, {**event, **said, "message": message, "involvedObject": {**about, "uid": of}})
    await rollout.host.delete(RELEASES, "web-1", "shop")

    with pytest.raises(Stuck, match=r"release web-1 was rolled back: step 1 of 2 \(staging\) was not achieved"):
        await waiting


async def test_a_release_that_is_taken_back_is_said_to_be(rollout):
    await rollout.begin(OLD, release(generation=1, version="0.0.2", progress=MISSED))

    with pytest.raises(Stuck, match=r"^step 1 of 2 \(staging\) was not achieved within 30 seconds; it is rolled back$"):
        await rollout.wait()


async def test_a_release_that_failed_and_was_replaced_by_the_one_before_was_rolled_back(rollout):
    await rollout.begin(OLD, release(generation=1, version="0.0.2"))
    waiting = rollout.wait()
    await asyncio.sleep(2)
    await rollout.host.patch(APPLICATIONS, "web", {"spec": {"template": environment("0.0.1")}}, "shop")
    await rollout.says("web-1", {"progress": {**MISSED, "failure": {**MISSED["failure"], "remedy": "Rollback"}}})
    await asyncio.sleep(2)
    await rollout.store(release(generation=2, version="0.0.1"))

    with pytest.raises(Stuck, match=r"release web-1 was rolled back: step 1 of 2 \(staging\) was not achieved"):
        await waiting


async def test_what_only_a_person_can_mend_is_not_waited_out(rollout):
    broken = condition("RollingOut", "False", "ChartVersionResolutionFailed", "broken shipper chart spec x")
    await rollout.begin(OLD)
    status = {"status": {"conditions": [broken]}}
    await rollout.host.patch(APPLICATIONS, "web", status, "shop", subresource="status")

    with pytest.raises(Stuck, match="broken shipper chart spec x"):
        await rollout.wait(timeout=1.0)


async def test_what_may_pass_is_waited_out_and_then_counts(rollout):
    away = condition("Scheduled", "False", "ChartFetchFailure", "the repository is away")
    await rollout.begin(OLD, release(generation=1, version="0.0.2", conditions=[away]))
    waiting = rollout.wait()
    await asyncio.sleep(20)
    assert not waiting.done()
    await rollout.says("web-1", {"conditions": [condition("Scheduled", "True")]})
    await asyncio.sleep(20)
    await rollout.says("web-1", {"conditions": [away]})
    await asyncio.sleep(20)
    assert not waiting.done()

    with pytest.raises(Stuck, match="the repository is away"):
        await waiting


async def test_time_runs_out_with_what_was_seen_last(rollout):
    await rollout.begin(OLD, release(generation=1, version="0.0.2", achieved=0))

    with pytest.raises(TooLate, match=r"did not get there within 5 s: .*hanse rollout promote"):
        await rollout.wait(Goal(complete=True), 5.0)


async def test_an_api_server_may_be_restarted_meanwhile(rollout):
    await rollout.begin(OLD, release(generation=1, version="0.0.2"))
    waiting = rollout.wait()
    await asyncio.sleep(2)
    rollout.wire.away = True
    await asyncio.sleep(20)
    rollout.wire.away = False
    await rollout.says("web-1", ACHIEVED)
    assert (await waiting).startswith("release web-1 has achieved")

    waiting = rollout.wait(Goal(complete=True))
    await asyncio.sleep(2)
    rollout.wire.away = True
    with pytest.raises(Unreachable):
        await waiting


async def test_a_new_template_is_waited_for_and_not_what_ran_before(rollout):
    await rollout.begin(OLD, version="0.0.1")
    assert "step 2 of 2" in await rollout.wait()
    await rollout.host.patch(APPLICATIONS, "web", {"spec": {"template": environment("0.0.3")}}, "shop")

    with pytest.raises(TooLate, match="no release was made of its template yet"):
        await rollout.wait(timeout=2.0)


@pytest.mark.parametrize(("key", "line"), [(WEB, "Release/web-1"), (Key("", ""), "web-1 ")])
async def test_watching_tells_only_what_is_new(rollout, key, line):
    await rollout.begin(OLD, release(generation=1, version="0.0.2"))
    watching = asyncio.create_task(follow(rollout.host, key, rollout.told.append, wide=False))
    await asyncio.sleep(5)
    await rollout.says("web-1", ACHIEVED)
    await asyncio.sleep(5)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)

    shown = [next(row for row in text.splitlines() if line in row) for text in rollout.told]
    assert ["working" in row for row in shown] == [True, False]
    assert ["waiting" in row for row in shown] == [False, True]


async def test_a_retry_is_not_held_up_by_a_control_plane_that_writes_meanwhile(rollout):
    failed = {"step": 0, "failure": {"message": "check smoke failed", "remedy": "Pause", "carriedOut": True}}
    paused = {PAUSED_ANNOTATION: "true"}
    await rollout.begin(OLD, release(generation=1, version="0.0.2", progress=failed, annotations=paused))
    found = await find_rollout(rollout.host, WEB)
    rollout.wire.after_status = lambda: rollout.says("web-1", {"progress": {"step": 0, "waitsFor": "a check"}})

    assert await retry(rollout.host, found) == "release web-1 tries its step again"

    after = await rollout.host.get(RELEASES, "web-1", "shop")
    assert PAUSED_ANNOTATION not in annotations_of(after)
    assert after["status"]["progress"] == {"step": 0, "waitsFor": "a check"}
