"""The operator on upstream Kubernetes, with real etcd, vtctld and vtorc: only the tablets have no MySQL.

Every Pod of a tablet that runs has a served tablet, which registers itself, and ends with its Pod. A client writes into
the shard all the time, whoever is primary.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from hanse.api.planetscale.definitions import PLANETSCALE_CRDS, VITESS_PRIORITY_CLASS
from hanse.api.planetscale.kinds import COMPONENT_LABEL
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.manifest import dig
from hanse.kube.resources import PODS
from hanse.kube.runtime import SystemRuntime
from hanse.vitess.operator.pods import is_ready
from hanse.vitess.operator.running import VitessOperator
from hanse.vitess.operator.tablets import alias_of
from hanse.vitess.tablets.grpc_calling import GrpcCaller
from hanse.vitess.topology import paths
from tests.kubernetes.real import MEMBER, real_clusters
from tests.kubernetes.vitess.programs import ROOT, real_vitess
from tests.kubernetes.vitess.served_tablets import ServedShard
from tests.vitess_specs import keyspace, pool, vitess_cluster

pytestmark = pytest.mark.timeout(900)
TABLETS = f"{COMPONENT_LABEL}=vttablet"
# For how long a planned reparent may keep a client from writing, on a machine that has much else to do.
LONGEST_PAUSE = 5.0


class CallerHere(GrpcCaller):
    """Asks the vtctld of this test, under whichever name of a Service it is looked for."""

    def __init__(self, vtctld):
        super().__init__()
        self._here = vtctld

    async def ask_vtctld(self, address, method, question, timeout):
        return await super().ask_vtctld(self._here, method, question, timeout)


class Fleet:
    """A served tablet for every Pod that runs one, and a client that writes all the time."""

    def __init__(self, client, topology):
        self.shard = ServedShard(topology, "commerce", "-")
        self._client = client
        self.most_missing = 0
        self.pauses = []
        self.written = 0

    async def pods(self):
        return list((await self._client.list(PODS, "default", labels=TABLETS)).items)

    async def follow(self):
        """Start and end tablets with their Pods until cancelled."""
        while True:
            pods = await self.pods()
            running = {alias_of(pod) for pod in pods if dig(pod, "status", "phase") == "Running"}
            for alias in sorted(set(self.shard.alive()) - running):
                await self.shard.kill(alias)
            for alias in sorted(running - set(self.shard.alive())):
                await (self.shard.start(alias) if alias in self.shard.tablets else self.shard.add(alias))
            self.most_missing = max(self.most_missing, 3 - sum(map(is_ready, pods)))
            await SystemRuntime().sleep(0.2)

    async def write(self):
        """Write until cancelled; while no write counts, it is a pause, which lasts until the next that does."""
        runtime = SystemRuntime()
        last, pausing = runtime.monotonic(), False
        while True:
            now = runtime.monotonic()
            if any(self.shard.tablets[alias].mysql.write() for alias in self.shard.primaries()):
                self.written += 1
                self.pauses += [now - last] if pausing else []
                last, pausing = now, False
            else:
                pausing = True
            await runtime.sleep(0.002)


@asynccontextmanager
async def at_work(*jobs):
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        yield
        assert [task.exception() for task in tasks if task.done()] == []
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def in_thread(cluster, *argv, **more):
    """Run kubectl while the tablets of this process live on."""
    return await asyncio.to_thread(cluster.kubectl, *argv, **more)


@pytest.fixture(scope="module")
def home():
    with real_vitess() as vitess, real_clusters({"home": MEMBER}) as clusters:
        clusters["home"].start_nodes(index=37)
        yield clusters["home"], vitess


async def test_an_image_rolls_tablet_by_tablet_and_writes_stop_only_for_the_planned_reparent(home):
    cluster, vitess = home
    transport = HttpTransport(Kubeconfig.load(cluster.kubeconfig).endpoint(""))
    client, stores, caller = Client(transport, SystemRuntime()), vitess.stores(), CallerHere(vitess.vtctld)
    topology = vitess.topology(stores)
    fleet = Fleet(client, topology)
    operator = VitessOperator(client, stores, caller=caller)
    external = {"implementation": "etcd2", "address": vitess.etcd, "rootPath": ROOT}
    # Upstream's controllers have nobody here who makes disks.
    diskless = {name: value for name, value in pool().items() if name != "dataVolumeClaimTemplate"}
    commerce = keyspace("commerce", 1, diskless, durabilityPolicy="semi_sync")
    wish = vitess_cluster(
        globalLockserver={"external": external}, keyspaces=[commerce], updateStrategy={"type": "Immediate"}
    )
    script = ["create", "secret", "generic", "example-cluster-config", "--from-literal=init_db.sql="]
    await in_thread(cluster, *script)
    for each in (*PLANETSCALE_CRDS, VITESS_PRIORITY_CLASS, wish):
        await in_thread(cluster, "apply", "--server-side", "-f", "-", input=json.dumps(each))
        if each["kind"] == "CustomResourceDefinition":
            await in_thread(cluster, "wait", "--for=condition=Established", f"crd/{each['metadata']['name']}")

    async def told():
        said = await in_thread(cluster, "get", "vitessclusters,vitessshards,pods,events", "-o", "wide")
        return said[-6000:]

    async def is_ready_now():
        path = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"
        return await in_thread(cluster, "get", "vitessclusters,vitessshards", "-o", path) == "True True"

    async def settled(holds, seconds):
        try:
            async with asyncio.timeout(seconds):
                while not await holds():
                    await SystemRuntime().sleep(0.5)
        except TimeoutError:
            pytest.fail(await told())

    try:
        async with at_work(operator.run(), fleet.follow()):
            await settled(is_ready_now, 180)
            found = await vitess.client("GetTablets", "--keyspace=commerce", "--format=json")
            assert len(found) == 3
            [first] = fleet.shard.primaries()
            record = await topology.find(paths.shard("commerce", "-"))
            assert str(record.primary) == first
            fleet.most_missing, before = 0, {pod["metadata"]["uid"] for pod in await fleet.pods()}

            async with at_work(fleet.write()):
                patch = json.dumps({"spec": {"images": {"vttablet": "vitess/lite:v2"}}})
                await in_thread(cluster, "patch", "vitesscluster", "example", "--type=merge", f"--patch={patch}")

                async def is_rolled():
                    pods = await fleet.pods()
                    new = {pod["metadata"]["uid"] for pod in pods} & before == set()
                    return new and len(pods) == 3 and all(map(is_ready, pods)) and len(fleet.shard.alive()) == 3

                await settled(is_rolled, 400)

            [now] = fleet.shard.primaries()
            assert now != first
            assert fleet.most_missing == 1
            # From the demotion to the promotion, and perhaps from there until a replica acknowledges.
            assert len(fleet.pauses) <= 2
            assert sum(fleet.pauses) < LONGEST_PAUSE
            assert "PlannedReparent" in await in_thread(cluster, "get", "events", "-o", "jsonpath={..reason}")
            created = {alias_of(pod): pod["metadata"]["creationTimestamp"] for pod in await fleet.pods()}
            assert max(created, key=lambda alias: created[alias]) == first
            assert fleet.written > 1000
    finally:
        await fleet.shard.close()
        await caller.close()
        await stores.close()
        await transport.close()
