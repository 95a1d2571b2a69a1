"""Chaperons, summaries and senders on a real cluster: upstream components, simulated nodes."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from hanse.api.admiralty.keys import POD_MISSING_SINCE
from hanse.api.admiralty.kinds import CLUSTER_SOURCES, CLUSTER_SUMMARIES, POD_CHAPERONS, SOURCES
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.conditions import is_true
from hanse.kube.http import HttpTransport
from hanse.kube.manifest import annotations_of, dig, finalizers_of, labels_of, name_of
from hanse.kube.resources import NODES, PODS
from hanse.pods.chaperons.keeper import ChaperonKeeper
from hanse.pods.placeholder.template import chaperon_of
from hanse.pods.senders.keeper import SenderKeeper
from hanse.pods.summaries.keeper import SummaryKeeper
from tests.behaviour.admiralty_kinds import serve_admiralty
from tests.component.pods.chaperons.stage import by_hand, chaperon
from tests.component.pods.wire import Wire
from tests.kubernetes.follower import closing
from tests.kubernetes.real import KubectlError

pytestmark = pytest.mark.kubernetes
PATIENCE_SECONDS = 60.0


class Target:
    """A real cluster with everything that Hanse runs in one to which pods are sent."""

    def __init__(self, cluster, client, wire):
        self.cluster = cluster
        self.client = client
        self.wire = wire

    async def until(self, look, holds=bool):
        """Wait until something holds of what a look gives, and return that."""
        found = None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not holds(found := await look()):
                    await self.client.runtime.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"not within {PATIENCE_SECONDS:g} s; last seen: {found}") from None
        return found

    async def until_phase(self, phase, name="web-abcde", namespace="default"):
        def reached(found):
            return dig(found, "status", "fence", "phase") == phase

        return await self.until(lambda: self.client.find(POD_CHAPERONS, name, namespace), reached)

    async def until_gone(self, name="web-abcde"):
        await self.until(lambda: self.client.find(POD_CHAPERONS, name, "default"), lambda found: found is None)

    async def kubectl(self, *arguments, said=None):
        return await asyncio.to_thread(self.cluster.kubectl, *arguments, input=said)


@asynccontextmanager
async def target(member):
    endpoint = Kubeconfig.load(member.kubeconfig).endpoint()
    wire = Wire(HttpTransport(endpoint))
    async with (
        closing(Client(HttpTransport(endpoint), SystemRuntime(), manager="kubectl")) as client,
        closing(Client(wire, SystemRuntime())) as keepers,
    ):
        running = [asyncio.create_task(each(keepers).run()) for each in (ChaperonKeeper, SummaryKeeper, SenderKeeper)]
        yield Target(member, client, wire)
        for task in running:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@pytest.fixture(scope="module")
def ready(member):
    """The cluster with nodes and Admiralty's kinds."""

    async def serve():
        endpoint = Kubeconfig.load(member.kubeconfig).endpoint()
        async with closing(Client(HttpTransport(endpoint), SystemRuntime())) as client:
            await serve_admiralty(client)

    asyncio.run(serve())
    member.start_nodes()
    return member


async def test_a_pod_lives_and_goes_with_its_chaperon(ready):
    async with target(ready) as place:
        await place.client.create(POD_CHAPERONS, chaperon())
        await place.until_phase("Bound")

        def is_ready(found):
            return [each["ready"] for each in dig(found, "status", "containerStatuses", default=[])] == [True]

        shown = await place.until(lambda: place.client.get(POD_CHAPERONS, "web-abcde", "default"), is_ready)
        pod = await place.client.get(PODS, "web-abcde", "default")
        assert dig(shown, "status", "podIP") == dig(pod, "status", "podIP")
        assert dig(shown, "status", "fence", "nodeName") == dig(pod, "spec", "nodeName")
        assert "Bound" in await place.kubectl("get", "podchaperons", "web-abcde")
        await place.kubectl("delete", "podchaperon", "web-abcde", "--wait=false")
        await place.until_gone()
        assert await place.client.find(PODS, "web-abcde", "default") is None


async def test_a_chaperon_that_shows_what_its_pod_shows_is_not_written_again(ready):
    """What is null in a real pod's conditions does not differ from what a chaperon can store."""
    async with target(ready) as place:
        await place.client.create(POD_CHAPERONS, chaperon("steady", nodeSelector={"a": "b"}))
        await place.until_phase("Unschedulable", "steady")
        place.wire.writes.clear()
        await place.kubectl("annotate", "podchaperon", "steady", "looked=at")
        # Those are looked at in turn: when this one is done, the other has been.
        await place.client.create(POD_CHAPERONS, chaperon("later"))
        await place.until_phase("Bound", "later")
        assert [path for _, path in place.wire.writes if "steady" in path] == []
        for name in ("steady", "later"):
            await place.client.delete(POD_CHAPERONS, name, "default")
            await place.until_gone(name)


async def test_a_pod_that_runs_once_ends_is_recorded_and_not_made_again(ready):
    async with target(ready) as place:
        script = {"name": "main", "image": "job:1", "command": ["sh", "-c", "sleep 1; exit 3"]}
        await place.client.create(POD_CHAPERONS, chaperon(restartPolicy="Never", containers=[script]))
        ended = await place.until_phase("Ended")
        assert dig(ended, "status", "phase") == "Failed"
        await place.until(lambda: place.client.get(PODS, "web-abcde", "default"), lambda pod: finalizers_of(pod) == [])
        await place.client.delete(POD_CHAPERONS, "web-abcde", "default")
        await place.until_gone()


async def test_a_pod_that_somebody_deletes_is_missed_and_the_engine_leaves_the_mark(ready):
    async with target(ready) as place:
        script = {"name": "main", "image": "job:1", "command": ["sleep", "1000"]}
        sent = chaperon(restartPolicy="Never", containers=[script])
        engine = Client(place.client.transport, SystemRuntime())
        await engine.create(POD_CHAPERONS, sent)
        await place.until_phase("Bound")
        await place.kubectl("delete", "pod", "web-abcde", "--wait=false")
        await place.until_phase("Lost")
        sent["metadata"]["annotations"]["team"] = "red"
        await engine.apply(POD_CHAPERONS, sent)

        def marked(found):
            return POD_MISSING_SINCE in annotations_of(found)

        stored = await place.until(lambda: place.client.get(POD_CHAPERONS, "web-abcde", "default"), marked)
        assert annotations_of(stored)["team"] == "red"
        await place.client.delete(POD_CHAPERONS, "web-abcde", "default")
        await place.until_gone()


async def test_what_the_cluster_refuses_is_told_in_its_own_words(ready):
    async with target(ready) as place:
        for namespace in ("small", "strict"):
            await place.kubectl("create", "namespace", namespace)
        await place.kubectl("label", "namespace", "strict", "pod-security.kubernetes.io/enforce=restricted")
        await place.kubectl("create", "quota", "none", "--hard=pods=0", "--namespace=small")

        def counted(quota):
            return dig(quota, "status", "hard") is not None

        async def quota():
            return await asyncio.to_thread(place.cluster.get, "quota", "none", "--namespace=small")

        await place.until(quota, counted)
        cases = [("small", {}, "exceeded quota"), ("strict", {}, "violates PodSecurity")]
        cases.append(("default", {"serviceAccountName": "nobody"}, 'serviceaccount "nobody" not found'))
        for namespace, spec, said in cases:
            sent = by_hand("refused", **spec)
            sent["metadata"]["namespace"] = namespace
            await place.client.create(POD_CHAPERONS, sent)
            refused = await place.until_phase("Refused", "refused", namespace)
            assert said in dig(refused, "status", "fence", "message")
        await place.kubectl("delete", "quota", "none", "--namespace=small")
        await place.until_phase("Bound", "refused", "small")
        for namespace in ("small", "strict", "default"):
            await place.client.delete(POD_CHAPERONS, "refused", namespace)


async def test_no_node_is_told_in_the_schedulers_words(ready):
    async with target(ready) as place:
        await place.client.create(POD_CHAPERONS, chaperon("picky", nodeSelector={"a": "b"}))
        await place.client.create(POD_CHAPERONS, chaperon("gated", schedulingGates=[{"name": "example.com/wait"}]))
        picky = await place.until_phase("Unschedulable", "picky")
        assert "didn't match Pod's node affinity/selector" in dig(picky, "status", "fence", "message")
        await place.until_phase("Unschedulable", "gated")
        for name in ("picky", "gated"):
            await place.client.delete(POD_CHAPERONS, name, "default")
            await place.until_gone(name)


async def test_34_the_priority_is_that_which_the_target_gives(ready):
    async with target(ready) as place:
        usual = ("--value=1000", "--global-default", "--description=what pods have here")
        await place.kubectl("create", "priorityclass", "usual", *usual)
        calm = {"name": "calm", "namespace": "default"}
        submitted = {"metadata": calm, "spec": {**chaperon()["spec"], "priority": 0}}
        placeholder = {"metadata": {**calm, "uid": "uid-34"}, "spec": {}}
        sent = chaperon_of("home", placeholder, submitted)
        await place.client.create(POD_CHAPERONS, sent)
        await place.until_phase("Bound", name_of(sent))
        assert (await place.client.get(PODS, name_of(sent), "default"))["spec"]["priority"] == 1000
        await place.client.delete(POD_CHAPERONS, name_of(sent), "default")
        await place.until_gone(name_of(sent))
        await place.kubectl("delete", "priorityclass", "usual")


async def test_the_summary_is_the_sum_of_the_nodes(ready):
    async with target(ready) as place:
        found = await place.until(lambda: place.client.find(CLUSTER_SUMMARIES, "singleton"))
        nodes = (await place.client.list(NODES)).items
        assert int(found["capacity"]["cpu"]) == sum(int(node["status"]["capacity"]["cpu"]) for node in nodes)
        assert labels_of(found)["kubernetes.io/os"] == "linux"
        assert ("kubernetes.io/hostname" in labels_of(found)) == (len(nodes) == 1)


async def test_a_source_may_send_and_then_may_not(ready):
    async with target(ready) as place:
        source = {"apiVersion": SOURCES.api_version, "kind": SOURCES.kind, "spec": {"serviceAccountName": "home"}}
        await place.client.create(SOURCES, {**source, "metadata": {"name": "home", "namespace": "default"}})

        async def may(*asked):
            try:
                await place.kubectl("auth", "can-i", *asked, "--as=system:serviceaccount:default:home")
            except KubectlError:
                return False
            return True

        await place.until(lambda: may("create", "podchaperons"))
        await place.until(lambda: may("list", "clustersummaries"))
        assert not await may("create", "pods")
        assert not await may("create", "podchaperons", "--namespace=kube-system")
        assert await place.kubectl("get", "serviceaccount", "home")
        await place.client.create(
            CLUSTER_SOURCES,
            {
                "apiVersion": CLUSTER_SOURCES.api_version,
                "kind": CLUSTER_SOURCES.kind,
                "metadata": {"name": "anna"},
                "spec": {"userName": "anna"},
            },
        )

        def is_told(found):
            return is_true(dig(found, "status", "conditions"), "Ready")

        await place.until(lambda: place.client.get(CLUSTER_SOURCES, "anna"), is_told)
        await place.client.delete(CLUSTER_SOURCES, "anna")
        # Bindings are stored as they were written: none had to be mended.
        assert [path for method, path in place.wire.writes if method == "PUT" and "bindings" in path] == []
        await place.client.delete(SOURCES, "home", "default")
        await place.until(lambda: may("create", "podchaperons"), lambda allowed: not allowed)
        await place.until(lambda: may("list", "clustersummaries"), lambda allowed: not allowed)
