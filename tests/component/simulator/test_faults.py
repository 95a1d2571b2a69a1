"""What each fault does on the wire and to a cluster, to whom it does it, and that it ends."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube import Client, SeededRuntime
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, LEASES, NODES, PODS
from hanse.kube.runtime import parse_timestamp
from hanse.kube.transport import Request, Unreachable
from hanse.simulator.faults.breakable import BreakableCluster
from hanse.simulator.faults.clock import ClusterClock
from hanse.simulator.faults.gate import CONTROL_PLANE_USER, NODES_USER, party_of
from hanse.simulator.faults.values import Party, fault_from
from hanse.simulator.settings import ClusterSettings
from tests.component.simulator.harness import NAMESPACE, deployment, rolled_out

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]
MASTERS = ("system:masters",)
WHO = {
    Party.CONTROL_PLANE: Identity(CONTROL_PLANE_USER, MASTERS),
    Party.USERS: Identity("somebody", MASTERS),
    Party.NODES: Identity(NODES_USER, MASTERS),
}


class Stage:
    """One breakable cluster, and a way in for each party and for nobody in particular."""

    def __init__(self, server, runtime, clock, **settings):
        self.server = server
        self.runtime = runtime
        chosen = {"name": "us-east", "zones": ("us-a", "us-b"), "nodes": 1, **settings}
        self.breakable = BreakableCluster(server, ClusterSettings(**chosen), clock, self)
        self.ways = {party: server.connect(identity, as_remote=True) for party, identity in WHO.items()}
        self.clients = {party: Client(way, runtime, timeout=5.0) for party, way in self.ways.items()}
        self.inside = Client(server.connect(WHO[Party.USERS]), runtime)

    async def stop(self):
        await self.server.stop_serving()

    async def start(self):
        self.server.resume()

    async def have(self, *entries):
        self.breakable.breakage.set([fault_from(entry) for entry in entries])
        await self.runtime.sleep(0)
        await self.runtime.sleep(0)

    async def ask(self, party, path="/version", **headers):
        begin = self.runtime.monotonic()
        try:
            answer = await self.ways[party].send(Request("GET", path, (), headers), 5.0)
        except Unreachable as error:
            return error.why, self.runtime.monotonic() - begin, {}
        return answer.status, self.runtime.monotonic() - begin, answer.headers

    async def until(self, holds, seconds=120.0):
        async with asyncio.timeout(seconds):
            while not (found := await holds()):
                await self.runtime.sleep(0.5)
        return found


@asynccontextmanager
async def stage(**settings):
    runtime = SeededRuntime(1)
    clock = ClusterClock(runtime)
    server = await ApiServer.open(name="us-east", storage=MemoryStorage(), runtime=clock)
    here = Stage(server, runtime, clock, **settings)
    task = asyncio.create_task(here.breakable.run())
    try:
        await here.breakable.cluster.ready()
        yield here
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await server.close()


def config(name, **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": data or {"a": "1"},
    }


def test_who_asks_is_known_by_identity_and_on_a_socket_by_user_agent():
    def agent(text):
        return Request("GET", "/", headers={"user-agent": text})

    administrator = Identity("hanse-admin", MASTERS)
    assert party_of(agent("kubectl/v1.36"), administrator) is Party.USERS
    assert party_of(agent("hanse-cli"), administrator) is Party.USERS
    assert party_of(agent("hanse-controller"), administrator) is Party.CONTROL_PLANE
    assert party_of(agent(""), WHO[Party.NODES]) is Party.NODES


async def test_wire_faults_concern_whom_they_name_and_end():
    timeout = "no answer within 5 s"
    cases = [
        ({"fault": "latency", "delay": "2s", "from": "users"}, (200, 2.0), (200, 0.0)),
        ({"fault": "hang", "from": "users"}, (timeout, 5.0), (200, 0.0)),
        ({"fault": "partition", "from": "users"}, (timeout, 5.0), (200, 0.0)),
        ({"fault": "expired-credentials", "from": "users"}, (401, 0.0), (200, 0.0)),
        ({"fault": "throttle", "from": "users", "retryAfter": "3s"}, (429, 0.0), (200, 0.0)),
        ({"fault": "crash"}, ("connection refused", 0.0), ("connection refused", 0.0)),
        ({"fault": "down"}, ("connection refused", 0.0), ("connection refused", 0.0)),
    ]
    async with stage() as here:
        for entry, users, control_plane in cases:
            await here.have(entry)
            found = [await here.ask(Party.USERS), await here.ask(Party.CONTROL_PLANE)]
            told = [(one[0], pytest.approx(one[1], abs=0.01)) for one in found]
            assert told == [users, control_plane], entry
            assert found[0][2].get("retry-after") == ("3" if entry["fault"] == "throttle" else None)
            await here.have()
            assert (await here.ask(Party.USERS))[0] == 200, entry


async def test_a_request_that_waits_out_a_partition_is_answered_in_the_end():
    async with stage() as here:
        await here.have({"fault": "partition", "from": "users"})
        waiting = asyncio.create_task(here.ask(Party.USERS))
        await here.runtime.sleep(3)
        await here.have()

        status, took, _ = await waiting

        assert (status, took) == (200, pytest.approx(3.0, abs=0.01))


async def test_some_requests_fail_and_of_those_some_were_done():
    async with stage() as here:
        await here.have({"fault": "errors", "rate": 0.5, "from": "users"})
        answered, failed = set(), {}
        for number in range(80):
            try:
                await here.clients[Party.USERS].create(CONFIGMAPS, config(f"c{number}"))
                answered.add(f"c{number}")
            except ApiError as error:
                failed[f"c{number}"] = error.code
        there = {one["metadata"]["name"] for one in (await here.inside.list(CONFIGMAPS, NAMESPACE)).items}

        assert answered <= there
        assert 20 < len(failed) < 60
        assert {failed[name] for name in failed if name in there} == {504}
        assert {failed[name] for name in failed if name not in there} == {500}


async def test_events_of_a_silent_watch_come_when_the_silence_ends_and_those_of_a_slow_one_late_in_order():
    async with stage() as here:
        seen = []

        async def follow():
            async for event in here.clients[Party.USERS].watch(CONFIGMAPS, NAMESPACE, version="", timeout_seconds=600):
                name = event.object["metadata"].get("name", "")
                if name in ("c1", "c2", "c3"):
                    seen.append((name, round(here.runtime.monotonic() - begin, 1)))

        begin = here.runtime.monotonic()
        following = asyncio.create_task(follow())
        await here.runtime.sleep(1)
        await here.have({"fault": "partition", "from": "users"})
        for name in ("c1", "c2"):
            await here.inside.create(CONFIGMAPS, config(name))
        await here.runtime.sleep(9)
        assert seen == []
        await here.have({"fault": "latency", "delay": "2s", "from": "users"})
        await here.inside.create(CONFIGMAPS, config("c3"))
        await here.runtime.sleep(5)
        following.cancel()

        assert seen == [("c1", 10.0), ("c2", 10.0), ("c3", 12.0)]


async def test_watches_break_again_and_again_and_only_those_concerned():
    async with stage() as here:
        broken = {Party.USERS: 0, Party.CONTROL_PLANE: 0}

        async def follow(party):
            while True:
                try:
                    async for _ in here.clients[party].watch(CONFIGMAPS, NAMESPACE, version="", timeout_seconds=600):
                        pass
                except Unreachable:
                    broken[party] += 1

        followers = [asyncio.create_task(follow(party)) for party in broken]
        await here.runtime.sleep(1)
        await here.have({"fault": "cut-watches", "every": "10s", "from": "users"})
        await here.runtime.sleep(35)
        await here.have()
        await here.runtime.sleep(60)
        for one in followers:
            one.cancel()

        assert broken == {Party.USERS: 4, Party.CONTROL_PLANE: 0}


async def test_stale_reads_show_the_past_and_writes_meet_the_present():
    async with stage() as here:
        users = here.clients[Party.USERS]
        await users.create(CONFIGMAPS, config("old", a="1"))
        await here.have({"fault": "stale-reads", "from": "users"})
        await here.inside.patch(CONFIGMAPS, "old", {"data": {"a": "2"}}, NAMESPACE)
        await here.inside.create(CONFIGMAPS, config("new"))

        past = await users.get(CONFIGMAPS, "old", NAMESPACE)
        listed = {one["metadata"]["name"] for one in (await users.list(CONFIGMAPS, NAMESPACE)).items}
        with pytest.raises(ApiError) as conflict:
            await users.update(CONFIGMAPS, {**past, "data": {"a": "3"}})
        await here.have()
        present = await users.get(CONFIGMAPS, "old", NAMESPACE)

        assert (past["data"], past["kind"]) == ({"a": "1"}, "ConfigMap")
        assert "old" in listed
        assert "new" not in listed
        assert conflict.value.code == 409
        assert present["data"] == {"a": "2"}


async def test_a_cluster_with_a_wrong_clock_stamps_wrong_times():
    async with stage() as here:
        await here.have({"fault": "clock-skew", "skew": "-1h"})
        made = await here.inside.create(CONFIGMAPS, config("c"))
        await here.have()
        later = await here.inside.create(CONFIGMAPS, config("d"))

        ages = [here.runtime.now() - parse_timestamp(one["metadata"]["creationTimestamp"]) for one in (made, later)]
        assert ages == [pytest.approx(3600, abs=2), pytest.approx(0, abs=2)]


async def test_a_lost_node_sends_no_heartbeats_and_does_nothing_with_its_pods_until_it_is_back():
    async with stage(nodes=2) as here:
        renewed = {}

        async def heartbeat(name):
            lease = await here.inside.get(LEASES, name, "kube-node-lease")
            return parse_timestamp(lease["spec"]["renewTime"])

        await here.have({"fault": "lost-node", "node": "us-east-node-1"})
        for name in ("us-east-node-1", "us-east-node-2"):
            renewed[name] = await heartbeat(name)
        await here.inside.create(PODS, bare_pod("us-east-node-1"))
        await here.runtime.sleep(25)
        assert await heartbeat("us-east-node-1") == renewed["us-east-node-1"]
        assert await heartbeat("us-east-node-2") > renewed["us-east-node-2"]
        assert (await here.inside.get(PODS, "bare", NAMESPACE))["status"].get("phase", "Pending") == "Pending"

        await here.have()

        async def runs():
            return (await here.inside.get(PODS, "bare", NAMESPACE))["status"].get("phase") == "Running"

        await here.until(runs, 30)
        assert await heartbeat("us-east-node-1") > renewed["us-east-node-1"]


def bare_pod(node):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "bare", "namespace": NAMESPACE},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "nginx"}]},
    }


async def test_a_lost_zone_takes_its_nodes_and_no_other():
    async with stage(nodes=4) as here:
        await here.have({"fault": "lost-zone", "zone": "us-a"})

        troubles = here.breakable.cluster.troubles
        lost = [node["metadata"]["name"] for node in (await here.inside.list(NODES)).items]

        assert [troubles.is_lost(name) for name in sorted(lost)] == [True, False, True, False]


async def test_pods_start_later_on_a_slow_node():
    async with stage(nodes=1) as here:
        await here.have({"fault": "slow-node", "node": "us-east-node-1", "delay": "20s"})
        begin = here.runtime.monotonic()
        await here.inside.create(PODS, bare_pod("us-east-node-1"))

        async def runs():
            return (await here.inside.get(PODS, "bare", NAMESPACE))["status"].get("phase") == "Running"

        await here.until(runs)
        assert here.runtime.monotonic() - begin >= 20


@pytest.mark.parametrize("fault", ["down", "crash"])
async def test_what_was_stored_survives_and_the_cluster_goes_on_from_it(fault):
    async with stage() as here:
        await here.inside.create(DEPLOYMENTS, deployment(3))

        async def available():
            return rolled_out(await here.inside.get(DEPLOYMENTS, "web", NAMESPACE), wanted)

        wanted = 3
        await here.until(available)
        await here.have({"fault": fault})
        await here.inside.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}}, NAMESPACE)
        await here.runtime.sleep(5)
        assert len((await here.inside.list(PODS, NAMESPACE)).items) == 3

        await here.have()
        wanted = 5

        await here.until(available)
        with pytest.raises(NotFound):
            await here.clients[Party.USERS].get(PODS, "nobody", NAMESPACE)


async def test_a_distant_cluster_is_slow_for_everyone_outside_of_it():
    async with stage(latency_seconds=0.2) as here:
        assert (await here.ask(Party.USERS))[1] == pytest.approx(0.2)
        assert (await here.ask(Party.NODES))[1] == pytest.approx(0.0)
