"""Virtual nodes on an API server: kept as targets come, change and go, and silent in between."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.api.admiralty.kinds import CLUSTER_SUMMARIES, CLUSTER_TARGETS, TARGETS
from hanse.api.clusters import Cluster
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import dig, labels_of, name_of, uid_of
from hanse.kube.resources import CRDS, LEASES, NODES, PODS, Resource
from hanse.pods.nodes.keeper import NodeKeeper
from tests.component.simulator.harness import ADMIN, NAMESPACE, running, world

pytestmark = pytest.mark.looptime

DAEMONSETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
READY = Cluster("eu", ready=True, version="v1.36.3", capacity={"cpu": "12", "memory": "24Gi"})


class Roster:
    """Targets that a test names."""

    def __init__(self, *clusters, troubles=None):
        self.now = {cluster.name: cluster for cluster in clusters}
        self.bad = troubles or {}
        self._listeners = []
        self.work = []

    def attach(self, work):
        self.work.append(work)

    def subscribe(self, listener):
        self._listeners.append(listener)

    def clusters(self):
        return [self.now[name] for name in sorted(self.now)]

    def troubles(self):
        return self.bad

    async def wait_synced(self):
        return

    def tell(self, cluster):
        self.now[cluster.name] = cluster
        self._say(cluster.name)

    def remove(self, name):
        del self.now[name]
        self._say(name)

    def _say(self, name):
        for listener in self._listeners:
            listener(name)


def definition(resource, **extra):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": resource.plural, "kind": resource.kind, "singular": resource.kind.lower()}
    version = {"name": resource.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
            **extra,
        },
    }


@asynccontextmanager
async def kept(here, roster, kubelet=("10.0.0.7", 10250)):
    client = Client(here.server.connect(ADMIN), here.runtime)
    keeper = NodeKeeper(client, roster, kubelet)
    task = asyncio.create_task(keeper.run())
    try:
        yield keeper
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def serving_targets():
    async with world() as here:
        for resource in (TARGETS, CLUSTER_TARGETS, CLUSTER_SUMMARIES):
            await here.client.create(CRDS, definition(resource))
        await here.runtime.sleep(1.0)
        yield here


async def node(here, name="admiralty-eu", holds=lambda _obj: True, seconds=60.0):
    return await here.until(NODES, name, holds, seconds=seconds, namespace="")


def is_ready(obj):
    return is_true(dig(obj, "status", "conditions"), "Ready")


async def gone(here, name, seconds=60.0):
    async with asyncio.timeout(seconds):
        while await here.client.find(NODES, name) is not None:
            await here.runtime.sleep(0.1)


async def test_a_target_gets_a_ready_node_with_a_lease_and_steady_is_silent():
    async with serving_targets() as here, running(here.cluster(nodes=1)), kept(here, Roster(READY)):
        await node(here, holds=is_ready)
        await here.runtime.sleep(30.0)
        made = await here.client.get(NODES, "admiralty-eu")
        lease = await here.client.get(LEASES, "admiralty-eu", "kube-node-lease")
        await here.runtime.sleep(120.0)
        later = await here.client.get(NODES, "admiralty-eu")
        renewed = await here.client.get(LEASES, "admiralty-eu", "kube-node-lease")

    assert made["spec"]["taints"] == [
        {"key": "virtual-kubelet.io/provider", "value": "admiralty", "effect": "NoSchedule"}
    ]
    assert made["status"]["capacity"] == {"cpu": "12", "memory": "24Gi"}
    assert lease["spec"]["leaseDurationSeconds"] == 40
    assert lease["metadata"]["ownerReferences"][0]["uid"] == uid_of(made)
    assert later == made
    assert renewed["spec"]["renewTime"] > lease["spec"]["renewTime"]


async def test_a_node_on_a_host_without_node_controllers_is_not_left_tainted_as_unready():
    async with serving_targets() as here, kept(here, Roster(READY)):
        made = await node(here, holds=lambda obj: is_ready(obj) and len(obj["spec"]["taints"]) == 1)

    assert made["spec"]["taints"][0]["key"] == "virtual-kubelet.io/provider"


async def test_a_node_that_somebody_deletes_comes_back_as_it_was():
    async with serving_targets() as here, kept(here, Roster(READY)):
        first = await node(here, holds=is_ready)
        await here.client.delete(NODES, "admiralty-eu")
        again = await node(here, holds=lambda obj: is_ready(obj) and uid_of(obj) != uid_of(first))
        await here.runtime.sleep(30.0)
        lease = await here.client.get(LEASES, "admiralty-eu", "kube-node-lease")

    assert labels_of(again) == labels_of(first)
    assert again["spec"]["taints"][0] in first["spec"]["taints"]
    assert lease["metadata"]["ownerReferences"][0]["uid"] == uid_of(again)


async def test_what_operators_write_stays_and_what_a_target_lost_goes():
    async with serving_targets() as here, world(seed=1) as there:
        await there.client.create(CRDS, definition(CLUSTER_SUMMARIES))
        await there.runtime.sleep(1.0)
        summary = {
            "apiVersion": CLUSTER_SUMMARIES.api_version,
            "kind": "ClusterSummary",
            "metadata": {"name": "singleton", "labels": {"disk": "ssd", "arch": "arm"}},
            "capacity": {"cpu": "12"},
            "allocatable": {"cpu": "11"},
        }
        await there.client.create(CLUSTER_SUMMARIES, summary)
        target = {"apiVersion": CLUSTER_TARGETS.api_version, "kind": "ClusterTarget", "metadata": {"name": "eu"}}
        await here.client.create(CLUSTER_TARGETS, {**target, "spec": {"excludedLabelsRegexp": "^arch="}})
        roster = Roster(READY)
        async with kept(here, roster):
            (work,) = roster.work
            following = asyncio.create_task(work(Member("eu", there.client)))
            await node(here, holds=lambda obj: labels_of(obj).get("disk") == "ssd")
            price = {"metadata": {"labels": {"price": "low"}}, "spec": {"unschedulable": True}}
            await here.client.patch(NODES, "admiralty-eu", price)
            change = {"metadata": {"labels": {"disk": None, "gpu": "yes"}}, "capacity": {"cpu": "16"}}
            await there.client.patch(CLUSTER_SUMMARIES, "singleton", change)
            seen = await node(
                here, holds=lambda obj: "gpu" in labels_of(obj) and dig(obj, "status", "capacity") == {"cpu": "16"}
            )
            following.cancel()

    assert (labels_of(seen).get("price"), seen["spec"]["unschedulable"]) == ("low", True)
    assert {"disk", "arch"}.isdisjoint(labels_of(seen))
    assert seen["status"]["allocatable"] == {"cpu": "11"}


async def test_labels_stay_over_a_restart_until_the_target_says_that_it_lost_them():
    async with serving_targets() as here, world(seed=1) as there:
        async with kept(here, Roster(READY)):
            first = await node(here, holds=is_ready)
        applied = {**labels_of(first), "disk": "ssd"}
        metadata = {"name": "admiralty-eu", "labels": applied, "annotations": first["metadata"]["annotations"]}
        await here.client.apply(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        roster = Roster(READY)
        async with kept(here, roster):
            await here.runtime.sleep(60.0)
            unknown = await node(here)
            (work,) = roster.work
            # The target answers, and it has no summary.
            following = asyncio.create_task(work(Member("eu", there.client)))
            await here.runtime.sleep(5.0)
            roster.tell(READY)
            await node(here, holds=lambda obj: "disk" not in labels_of(obj))
            following.cancel()

    assert labels_of(unknown)["disk"] == "ssd"


async def test_a_node_that_lost_its_labels_is_still_ours():
    async with serving_targets() as here, kept(here, Roster(READY)):
        first = await node(here, holds=is_ready)
        await here.client.patch(NODES, "admiralty-eu", {"metadata": {"labels": None}})
        again = await node(here, holds=labels_of)

    assert (labels_of(again), uid_of(again)) == (labels_of(first), uid_of(first))


async def test_a_node_is_as_ready_as_its_cluster():
    roster = Roster(READY)
    async with serving_targets() as here, kept(here, roster):
        await node(here, holds=is_ready)
        roster.tell(Cluster("eu", ready=True, offline=True, why="connection refused"))
        lost = await node(here, holds=lambda obj: not is_ready(obj))
        roster.tell(READY)
        await node(here, holds=is_ready)

    told = {entry["type"]: entry for entry in lost["status"]["conditions"]}["Ready"]
    assert (told["reason"], told["message"]) == ("ClusterOffline", "cluster eu: it is offline: connection refused")


async def test_the_node_of_a_target_that_is_gone_goes_and_others_nodes_stay():
    roster = Roster(READY, Cluster("default/c2", ready=True))
    foreign = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "admiralty-other", "labels": {"virtual-kubelet.io/provider": "admiralty"}},
    }
    async with serving_targets() as here:
        await here.client.create(NODES, foreign)
        async with kept(here, roster):
            await node(here, "admiralty-default-c2", is_ready)
            await node(here, holds=is_ready)
            roster.remove("eu")
            await gone(here, "admiralty-eu")
            await here.runtime.sleep(60.0)
            left = {name_of(each) for each in (await here.client.list(NODES)).items}
        # What went while nobody looked goes when somebody does.
        async with kept(here, Roster()):
            await gone(here, "admiralty-default-c2")

    assert left == {"admiralty-default-c2", "admiralty-other"}


async def test_a_target_that_can_no_longer_be_used_has_a_node_that_says_why_and_a_new_one_has_none():
    roster = Roster(READY, troubles={"default/c2": "Secret default/c2 is missing"})
    async with serving_targets() as here, kept(here, roster):
        await node(here, holds=is_ready)
        roster.bad["eu"] = "Secret default/eu is missing"
        roster.remove("eu")
        lost = await node(here, holds=lambda obj: not is_ready(obj))
        await here.runtime.sleep(60.0)
        left = {name_of(each) for each in (await here.client.list(NODES)).items}

    told = {entry["type"]: entry for entry in lost["status"]["conditions"]}["Ready"]
    assert "Secret default/eu is missing" in told["message"]
    assert left == {"admiralty-eu"}


async def test_an_exclusion_that_cannot_be_used_excludes_nothing():
    async with serving_targets() as here, world(seed=1) as there:
        await there.client.create(CRDS, definition(CLUSTER_SUMMARIES))
        await there.runtime.sleep(1.0)
        summary = {"apiVersion": CLUSTER_SUMMARIES.api_version, "kind": "ClusterSummary", "capacity": {"cpu": "12"}}
        await there.client.create(
            CLUSTER_SUMMARIES, {**summary, "metadata": {"name": "singleton", "labels": {"x": "y"}}}
        )
        target = {"apiVersion": CLUSTER_TARGETS.api_version, "kind": "ClusterTarget", "metadata": {"name": "eu"}}
        await here.client.create(CLUSTER_TARGETS, {**target, "spec": {"excludedLabelsRegexp": "(?!x)"}})
        roster = Roster(READY)
        async with kept(here, roster):
            following = asyncio.create_task(roster.work[0](Member("eu", there.client)))
            await node(here, holds=lambda obj: labels_of(obj).get("x") == "y")
            following.cancel()


async def test_a_machine_of_the_same_name_is_left_alone():
    async with serving_targets() as here:
        machine = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "admiralty-eu", "labels": {"a": "b"}}}
        before = await here.client.create(NODES, machine)
        async with kept(here, Roster(READY)):
            await here.runtime.sleep(60.0)
        after = await here.client.get(NODES, "admiralty-eu")
        with pytest.raises(NotFound):
            await here.client.get(LEASES, "admiralty-eu", "kube-node-lease")

    assert after == before


async def test_daemons_do_not_run_on_virtual_nodes():
    labels = {"app": "d"}
    daemons = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "d", "namespace": NAMESPACE},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    }
    async with serving_targets() as here, running(here.cluster(nodes=2)), kept(here, Roster(READY)):
        await node(here, holds=is_ready)
        await here.client.create(DAEMONSETS, daemons)
        await here.until(DAEMONSETS, "d", lambda obj: dig(obj, "status", "numberReady") == 2)
        await here.runtime.sleep(60.0)
        placed = {pod["spec"].get("nodeName") for pod in await here.pods()}

    assert placed == {"us-east-node-1", "us-east-node-2"}


async def test_a_node_whose_keeper_is_gone_is_called_unknown_and_comes_back_with_it():
    async with serving_targets() as here, running(here.cluster(nodes=1)):
        async with kept(here, Roster(READY)):
            await node(here, holds=is_ready)
        await node(here, holds=lambda obj: not is_ready(obj), seconds=120.0)
        async with kept(here, Roster(READY)):
            back = await node(here, holds=lambda obj: is_ready(obj) and len(obj["spec"]["taints"]) == 1, seconds=120.0)

    assert back["spec"]["taints"][0]["key"] == "virtual-kubelet.io/provider"


async def test_a_drain_of_a_virtual_node_honours_disruption_budgets():
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": NAMESPACE},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}},
    }
    placeholder = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": NAMESPACE, "labels": {"app": "p"}},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "schedulerName": "admiralty-proxy",
            "nodeName": "admiralty-eu",
            "terminationGracePeriodSeconds": 0,
        },
    }
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": NAMESPACE}}
    async with serving_targets() as here, running(here.cluster(nodes=1)), kept(here, Roster(READY)):
        await node(here, holds=is_ready)

        budgets = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
        await here.client.create(PODS, placeholder)
        conditions = [{"type": "Ready", "status": "True"}]
        status = {"phase": "Running", "conditions": conditions}
        await here.client.patch(PODS, "p", {"status": status}, NAMESPACE, subresource="status")
        await here.client.create(budgets, budget)
        await here.until(budgets, "b", lambda obj: dig(obj, "status", "currentHealthy") == 1)
        with pytest.raises(ApiError, match="disruption budget"):
            await here.client.create(PODS, eviction, subresource="eviction")
        await here.client.delete(budgets, "b", NAMESPACE)
        await here.client.create(PODS, eviction, subresource="eviction")

        assert await here.client.find(PODS, "p", NAMESPACE) is None
