"""Workload controllers whose caches lag and whose requests and answers are lost: nothing is made or counted twice."""

import asyncio

import pytest

from hanse.kube.conditions import is_true
from hanse.kube.manifest import annotations_of, finalizers_of, name_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, NODES, PODS
from hanse.kube.transport import Unreachable
from hanse.simulator.workloads.kinds import CONTROLLER_REVISIONS, CRON_JOBS, DAEMON_SETS, JOBS, STATEFUL_SETS
from tests.behaviour.stage import Stage, selecting, template
from tests.component.simulator.harness import ADMIN, NAMESPACE, PodHistory, Wire, deployment, running, world

pytestmark = pytest.mark.looptime

INDEX = "batch.kubernetes.io/job-completion-index"


def badly(here):
    return here.cluster(wrap=lambda transport: Wire(transport, here.runtime, lag_seconds=0.2, lost=0.2))


async def test_every_index_of_a_job_runs_and_counts_once():
    async with world(seed=3) as here, running(badly(here)), PodHistory(here, app="work").watching() as history:
        stage = Stage(here.client, NAMESPACE)
        work = template("work", command=["sleep", "1s"], restartPolicy="Never")
        spec = {"completions": 6, "parallelism": 3, "completionMode": "Indexed", "template": work}
        await stage.create(JOBS, "work", spec)
        done = await here.until(
            JOBS, "work", lambda job: is_true(job["status"].get("conditions"), "Complete"), seconds=300.0
        )
        pods = await here.pods()
        assert done["status"]["succeeded"] == 6
        assert "failed" not in done["status"]
        assert sorted(annotations_of(pod)[INDEX] for pod in pods) == ["0", "1", "2", "3", "4", "5"]
        assert len(history.seen) == 6
        assert history.most <= 3
        assert all(not finalizers_of(pod) for pod in pods)


async def test_a_job_without_indexes_makes_no_pod_too_many():
    async with world(seed=4) as here, running(badly(here)), PodHistory(here, app="work").watching() as history:
        stage = Stage(here.client, NAMESPACE)
        work = template("work", command=["sleep", "1s"], restartPolicy="Never")
        await stage.create(JOBS, "work", {"completions": 5, "parallelism": 2, "template": work})
        done = await here.until(
            JOBS, "work", lambda job: is_true(job["status"].get("conditions"), "Complete"), seconds=300.0
        )
        assert done["status"]["succeeded"] == len(history.seen) == 5


async def test_a_stateful_set_never_has_two_pods_of_an_ordinal_or_two_in_the_making():
    async with world(seed=5) as here, running(badly(here)), PodHistory(here, app="db").watching() as history:
        stage = Stage(here.client, NAMESPACE)
        spec = {"replicas": 3, "selector": selecting("db"), "serviceName": "db", "template": template("db")}
        await stage.create(STATEFUL_SETS, "db", spec)
        await here.until(STATEFUL_SETS, "db", lambda one: one["status"].get("readyReplicas") == 3, seconds=300.0)
        assert len(history.seen) == 3
        await stage.set_image(STATEFUL_SETS, "db", "nginx:2")
        done = await here.until(
            STATEFUL_SETS,
            "db",
            lambda one: (
                one["status"]["observedGeneration"] == 2
                and one["status"].get("updatedReplicas") == 3
                and one["status"]["currentRevision"] == one["status"]["updateRevision"]
            ),
            seconds=300.0,
        )
        assert done["status"]["readyReplicas"] == 3
        assert len(history.seen) == 6
        assert history.least_available == 2
        assert len(await stage.all(CONTROLLER_REVISIONS)) == 2


async def test_a_daemon_set_has_one_pod_a_node():
    async with world(seed=6) as here, running(badly(here)), PodHistory(here, app="agent").watching() as history:
        stage = Stage(here.client, NAMESPACE)
        nodes = {name_of(node) for node in (await here.client.list(NODES)).items}
        await stage.create(DAEMON_SETS, "agent", {"selector": selecting("agent"), "template": template("agent")})
        await here.until(DAEMON_SETS, "agent", lambda one: one["status"].get("numberReady") == 3, seconds=300.0)
        assert {pod["spec"]["nodeName"] for pod in await here.pods()} == nodes
        assert history.most == len(history.seen) == len(nodes)


async def test_a_cron_job_starts_one_job_a_minute():
    async with world(seed=7) as here, running(badly(here)):
        stage = Stage(here.client, NAMESPACE)
        work = template("work", command=["sleep", "1s"], restartPolicy="Never")
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": work}}, "successfulJobsHistoryLimit": 9}
        await stage.create(CRON_JOBS, "tick", spec)
        await here.runtime.sleep(3 * 60.0)
        found = await stage.all(JOBS)
        minutes = [int(name_of(job).removeprefix("tick-")) for job in found]
        assert minutes == list(range(minutes[0], minutes[0] + 3))
        assert len({uid_of(job) for job in found}) == 3
        assert all(is_true(job["status"].get("conditions"), "Complete") for job in found[:-1])


async def test_a_cluster_that_fails_in_the_middle_goes_on_where_it_was():
    async with world(seed=8) as here, running(here.cluster()) as cluster:
        stage = Stage(here.client, NAMESPACE)
        work = template("work", command=["sleep", "2s"], restartPolicy="Never")
        await stage.create(JOBS, "work", {"completions": 4, "parallelism": 2, "template": work})
        for _ in range(4):
            await here.runtime.sleep(1.3)
            cluster.fail()
            await here.runtime.sleep(5.0)
            cluster.heal()
        done = await here.until(JOBS, "work", lambda job: is_true(job["status"].get("conditions"), "Complete"))
        assert done["status"]["succeeded"] == 4
        assert done["status"]["uncountedTerminatedPods"] == {}
        assert len(await stage.all(PODS)) == 4


class Deafening(Wire):
    """A way to the server on which nothing is heard of ReplicaSets from some moment on."""

    def __init__(self, inner, runtime):
        super().__init__(inner, runtime)
        self.deaf = asyncio.Event()

    async def send(self, request, timeout):
        self._refuse(request)
        return await super().send(request, timeout)

    async def stream(self, request, timeout):
        self._refuse(request)
        stream = await super().stream(request, timeout)
        return Ending(stream, self.deaf) if "/replicasets" in request.path else stream

    def _refuse(self, request):
        if self.deaf.is_set() and request.method == "GET" and "/replicasets" in request.path:
            raise Unreachable(self.address, "connection refused")


class Ending:
    """A stream that ends when something happens."""

    def __init__(self, inner, event):
        self._inner = inner
        self._event = event
        self.status, self.headers, self.close = inner.status, inner.headers, inner.close

    async def chunks(self):
        ends = asyncio.ensure_future(self._event.wait())
        chunks = aiter(self._inner.chunks())
        while not ends.done():
            chunk = asyncio.ensure_future(anext(chunks))
            await asyncio.wait({chunk, ends}, return_when=asyncio.FIRST_COMPLETED)
            if not chunk.done():
                chunk.cancel()
                return
            yield chunk.result()


async def test_no_pods_are_made_for_a_replica_set_that_may_be_gone():
    async with world(seed=8) as here:
        wire = Deafening(here.server.connect(ADMIN), here.runtime)
        async with running(here.cluster(wrap=lambda _: wire)), PodHistory(here).watching() as history:
            await here.client.create(DEPLOYMENTS, deployment(3))
            await here.available(3)

            wire.deaf.set()
            await here.runtime.sleep(5)
            await here.client.delete(DEPLOYMENTS, "web", NAMESPACE)
            await here.until_gone(PODS)
            await here.runtime.sleep(60)

            assert len(history.seen) == 3
