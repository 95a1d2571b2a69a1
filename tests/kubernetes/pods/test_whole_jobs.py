"""Whole Jobs between two real clusters: every step of their status passes the validation of a real API server.

The Job controllers are upstream's on both sides; only the nodes are simulated.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from hanse.api.admiralty.keys import POD_FINALIZER, TARGET
from hanse.api.plain_kinds import JOBS
from hanse.clusters.member import Member
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.http import HttpTransport
from hanse.kube.manifest import dig
from hanse.kube.resources import PODS
from hanse.kube.transport import Request, Response, Stream, Transport
from hanse.pods.jobs.door import JobDoor
from hanse.propagation.engine import Engine
from tests.kubernetes.follower import closing
from tests.kubernetes.real import MEMBER, real_clusters
from tests.simulation.pods.job_world import FixedTargets, job

pytestmark = pytest.mark.kubernetes
PATIENCE_SECONDS = 90.0
INVALID = 422


class Judged:
    """A transport that takes down what an API server found invalid."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.invalid: list[str] = []

    @property
    def address(self) -> str:
        return self._inner.address

    async def send(self, request: Request, timeout: float) -> Response:
        answer = await self._inner.send(request, timeout)
        if answer.status == INVALID:
            self.invalid.append(f"{request.method} {request.path}: {answer.body.decode()}")
        return answer

    async def stream(self, request: Request, timeout: float) -> Stream:
        return await self._inner.stream(request, timeout)

    async def close(self) -> None:
        await self._inner.close()


class Pair:
    """A source, its only target, and the door between them."""

    def __init__(self, source, target):
        self.source = source
        self.target = target

    async def until(self, name, holds, *, there=False):
        """Wait until something holds of a Job in the source, or `there` in the target, and return it."""
        client = self.target if there else self.source
        found = None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not holds(found := await client.find(JOBS, name, "default")):
                    await client.runtime.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"not within {PATIENCE_SECONDS:g} s; last seen: {found}") from None
        return found

    async def until_condition(self, name, kind):
        return await self.until(name, lambda found: kind in true_conditions(found))


def true_conditions(found):
    return [each["type"] for each in dig(found, "status", "conditions", default=[]) if each["status"] == "True"]


@pytest.fixture(scope="module")
def clusters():
    with real_clusters({"source": MEMBER, "target": MEMBER}) as running:
        running["target"].start_nodes(index=31, region="eu", zone="eu-1")
        yield running


@asynccontextmanager
async def pair(clusters):
    runtime = SystemRuntime()
    ends = {name: Kubeconfig.load(each.kubeconfig).endpoint() for name, each in clusters.items()}
    judged = {name: Judged(HttpTransport(end)) for name, end in ends.items()}
    async with (
        closing(Client(HttpTransport(ends["source"]), runtime, manager="kubectl")) as source,
        closing(Client(HttpTransport(ends["target"]), runtime, manager="kubectl")) as target,
        closing(Client(judged["source"], runtime)) as host,
        closing(Client(judged["target"], runtime)) as member,
    ):
        targets = FixedTargets({"target": Member("target", member)}, runtime)
        engine = Engine(host, targets, [JobDoor("source", targets)], finalizer=POD_FINALIZER, guarded=False)
        running = [asyncio.create_task(each.run()) for each in (engine, targets)]
        yield Pair(source, target)
        for task in running:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        assert [refusal for each in judged.values() for refusal in each.invalid] == []


async def test_jobs_end_as_they_end_in_their_target(clusters):
    async with pair(clusters) as world:
        indexed = job("indexed", seconds=1, completionMode="Indexed", completions=3, parallelism=2)
        broken = job("broken", seconds=1, backoffLimit=0, template={"simulator.hanse.dev/exit-code": "3"})
        early = job("early", seconds=1, completionMode="Indexed", successPolicy={"rules": [{"succeededIndexes": "0"}]})
        brief = job("brief", seconds=1, ttlSecondsAfterFinished=0)
        for each in (indexed, broken, early, brief):
            await world.source.create(JOBS, each)

        done = await world.until_condition("indexed", "Complete")
        assert true_conditions(done) == ["SuccessCriteriaMet", "Complete", "Propagated"]
        assert (done["status"]["succeeded"], done["status"]["completedIndexes"]) == (3, "0-2")
        assert done["metadata"]["annotations"][TARGET] == "target"
        assert not (await world.source.list(PODS, namespace="default")).items

        failed = await world.until_condition("broken", "Failed")
        assert true_conditions(failed) == ["FailureTarget", "Failed", "Propagated"]
        assert [each["reason"] for each in failed["status"]["conditions"]][:2] == ["BackoffLimitExceeded"] * 2

        reasons = {
            each["reason"] for each in (await world.until_condition("early", "Complete"))["status"]["conditions"]
        }
        assert "SuccessPolicy" in reasons

        await world.until("brief", lambda found: found is None)
        await world.until("brief", lambda found: found is None, there=True)


async def test_a_job_is_suspended_scaled_and_resumed_through_its_source(clusters):
    async with pair(clusters) as world:
        await world.source.create(JOBS, job("paused", seconds=600, suspend=True, completions=4))
        await world.until_condition("paused", "Suspended")

        await world.source.patch(JOBS, "paused", {"spec": {"suspend": False, "parallelism": 3}}, "default")
        begun = await world.until("paused", lambda found: dig(found, "status", "active") == 3)
        assert begun["status"]["startTime"]

        await world.source.patch(JOBS, "paused", {"spec": {"suspend": True}}, "default")
        await world.until(
            "paused", lambda found: "Suspended" in true_conditions(found) and not dig(found, "status", "active")
        )
        await world.source.patch(JOBS, "paused", {"spec": {"suspend": False}}, "default")
        again = await world.until("paused", lambda found: dig(found, "status", "active") == 3)
        assert "Suspended" not in true_conditions(again)

        await world.source.delete(JOBS, "paused", "default")
        await world.until("paused", lambda found: found is None)
        assert await world.target.find(JOBS, "paused", "default") is None


async def test_a_job_that_is_deleted_in_its_target_has_failed(clusters):
    async with pair(clusters) as world:
        await world.source.create(JOBS, job("taken", seconds=600))
        await world.until("taken", lambda found: dig(found, "metadata", "annotations", TARGET) == "target")
        await world.target.delete(JOBS, "taken", "default")
        failed = await world.until_condition("taken", "Failed")
        assert "it was deleted in its target target" in failed["status"]["conditions"][1]["message"]
        await world.until("taken", lambda found: found is None, there=True)
