"""Deployments on a simulated cluster: roll out, change, return, scale, end."""

import asyncio

import pytest

from hanse.kube.conditions import is_true
from hanse.kube.errors import NotFound
from hanse.kube.manifest import name_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, EVENTS, PODS, REPLICASETS
from tests.component.simulator.harness import NAMESPACE, PodHistory, Wire, condition_of, deployment, running, world

pytestmark = pytest.mark.looptime


async def set_image(here, image, *, name="web"):
    template = {"spec": {"containers": [{"name": name, "image": image}]}}
    await here.client.patch(DEPLOYMENTS, name, {"spec": {"template": template}}, NAMESPACE)


async def set_spec(here, **spec):
    await here.client.patch(DEPLOYMENTS, "web", {"spec": spec}, NAMESPACE)


async def test_a_deployment_of_five_is_available_within_two_seconds():
    async with world() as here, running(here.cluster()):
        await here.client.create(DEPLOYMENTS, deployment(5))
        done = await here.available(5, seconds=2.0)
        status = done["status"]
        assert {key: value for key, value in status.items() if key != "conditions"} == {
            "observedGeneration": done["metadata"]["generation"],
            "replicas": 5,
            "updatedReplicas": 5,
            "readyReplicas": 5,
            "availableReplicas": 5,
            "terminatingReplicas": 0,
        }
        [(_, replica_set)] = (await here.replica_sets()).items()
        progressing = condition_of(done, "Progressing")
        assert progressing["reason"] == "NewReplicaSetAvailable"
        assert progressing["message"] == f'ReplicaSet "{name_of(replica_set)}" has successfully progressed.'
        assert is_true(status["conditions"], "Available")


async def test_pods_belong_to_their_replica_set_and_are_spread_over_the_nodes():
    async with world() as here, running(here.cluster()):
        await here.client.create(DEPLOYMENTS, deployment(6))
        await here.available(6)
        [replica_set] = (await here.replica_sets()).values()
        suffix = replica_set["metadata"]["labels"]["pod-template-hash"]
        pods = await here.pods()
        assert name_of(replica_set) == f"web-{suffix}"
        assert {pod["metadata"]["labels"]["pod-template-hash"] for pod in pods} == {suffix}
        assert {pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods} == {uid_of(replica_set)}
        nodes = [pod["spec"]["nodeName"] for pod in pods]
        assert {node: nodes.count(node) for node in nodes} == {f"us-east-node-{number}": 2 for number in (1, 2, 3)}
        assert len({pod["status"]["podIP"] for pod in pods}) == 6


@pytest.mark.parametrize(("surge", "unavailable"), [("25%", "25%"), (1, 0), (0, 2), ("100%", 0)])
async def test_an_image_change_rolls_out_without_leaving_the_bounds(surge, unavailable):
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    most, least = {"25%": (10, 6), 1: (9, 8), 0: (8, 6), "100%": (16, 8)}[surge]
    async with world() as here, running(here.cluster()):
        await here.client.create(DEPLOYMENTS, deployment(8, strategy=strategy))
        await here.available(8)
        async with PodHistory(here).watching() as history:
            await set_image(here, "nginx:2")
            await here.available(8)
        assert history.most <= most
        assert history.least_available is not None
        assert history.least_available >= least
        assert {pod["spec"]["containers"][0]["image"] for pod in await here.pods()} == {"nginx:2"}


async def test_going_back_uses_the_old_replica_set_again_and_notes_its_history():
    async with world() as here, running(here.cluster()):
        await here.client.create(DEPLOYMENTS, deployment(3))
        await here.available(3)
        first = name_of((await here.replica_sets())["1"])
        await set_image(here, "nginx:2")
        await here.available(3)
        await set_image(here, "nginx:1")
        done = await here.available(3)
        found = await here.replica_sets()
        assert set(found) == {"2", "3"}
        assert name_of(found["3"]) == first
        assert found["3"]["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"
        assert done["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"


async def test_old_revisions_beyond_the_limit_are_forgotten():
    async with world() as here, running(here.cluster()):
        await here.client.create(DEPLOYMENTS, deployment(1, revisionHistoryLimit=2))
        await here.available(1)
        for image in ("nginx:2", "nginx:3", "nginx:4", "nginx:5"):
            await set_image(here, image)
            await here.available(1)
        await here.runtime.sleep(5.0)
        assert set(await here.replica_sets()) == {"3", "4", "5"}


async def test_scaling_up_and_down_keeps_the_pods_that_stay():
    async with world() as here, running(here.cluster(nodes=1)):
        await here.client.create(DEPLOYMENTS, deployment(3))
        await here.available(3)
        before = {uid_of(pod) for pod in await here.pods()}
        await here.runtime.sleep(2.0)
        await set_spec(here, replicas=7)
        await here.available(7)
        assert before < {uid_of(pod) for pod in await here.pods()}
        await set_spec(here, replicas=3)
        await here.available(3)
        # The youngest go first.
        assert {uid_of(pod) for pod in await here.pods()} == before
        await set_spec(here, replicas=0)
        await here.available(0)
        assert await here.pods() == []


async def test_recreate_never_runs_old_and_new_at_once():
    async with world() as here, running(here.cluster()):
        await here.client.create(DEPLOYMENTS, deployment(4, strategy={"type": "Recreate"}))
        await here.available(4)
        async with PodHistory(here).watching() as history:
            await set_image(here, "nginx:2")
            await here.available(4)
        assert history.most == 4
        assert history.least_available == 0
        assert len(history.seen) == 8


async def test_a_paused_deployment_rolls_nothing_out_until_it_is_resumed():
    async with world() as here, running(here.cluster()):
        await here.client.create(DEPLOYMENTS, deployment(2))
        await here.available(2)
        await set_spec(here, paused=True)
        await set_image(here, "nginx:2")
        await here.runtime.sleep(20.0)
        assert {pod["spec"]["containers"][0]["image"] for pod in await here.pods()} == {"nginx:1"}
        paused = await here.client.get(DEPLOYMENTS, "web", NAMESPACE)
        assert condition_of(paused, "Progressing")["reason"] == "DeploymentPaused"
        await set_spec(here, paused=None)
        await here.available(2)
        assert {pod["spec"]["containers"][0]["image"] for pod in await here.pods()} == {"nginx:2"}


async def test_deleting_a_deployment_takes_everything_with_it():
    async with world() as here, running(here.cluster()):
        await here.client.create(DEPLOYMENTS, deployment(3))
        await here.available(3)
        await here.client.delete(DEPLOYMENTS, "web", NAMESPACE)
        await here.until_gone(REPLICASETS)
        await here.until_gone(PODS)
        with pytest.raises(NotFound):
            await here.client.get(DEPLOYMENTS, "web", NAMESPACE)


async def test_a_rollout_that_cannot_go_on_is_called_stuck_after_its_deadline():
    asks = {"container": {"resources": {"requests": {"cpu": "100"}}}}
    async with world() as here, running(here.cluster()):
        await here.client.create(DEPLOYMENTS, deployment(1, pod=asks, progressDeadlineSeconds=30))
        stuck = await here.until(
            DEPLOYMENTS,
            "web",
            lambda obj: condition_of(obj, "Progressing").get("status") == "False",
            seconds=40.0,
        )
        progressing = condition_of(stuck, "Progressing")
        assert progressing["reason"] == "ProgressDeadlineExceeded"
        assert progressing["message"].endswith("has timed out progressing.")


async def test_min_ready_seconds_delay_availability():
    async with world() as here, running(here.cluster()):
        began = here.runtime.monotonic()
        await here.client.create(DEPLOYMENTS, deployment(2, minReadySeconds=20))
        await here.available(2, seconds=60.0)
        assert 20.0 <= here.runtime.monotonic() - began <= 24.0


async def test_a_pod_that_is_deleted_is_replaced():
    async with world() as here, running(here.cluster()):
        await here.client.create(DEPLOYMENTS, deployment(3))
        await here.available(3)
        victim = (await here.pods())[0]
        await here.client.delete(PODS, name_of(victim), NAMESPACE)
        await here.until(DEPLOYMENTS, "web", lambda obj: obj["status"].get("availableReplicas") == 2)
        await here.available(3)
        assert uid_of(victim) not in {uid_of(pod) for pod in await here.pods()}


async def test_an_orphan_that_matches_is_adopted():
    async with world() as here, running(here.cluster()):
        await here.client.create(DEPLOYMENTS, deployment(1))
        await here.available(1)
        [replica_set] = (await here.replica_sets()).values()
        labels = replica_set["spec"]["selector"]["matchLabels"]
        spec = {"containers": [{"name": "web", "image": "nginx:1"}]}
        metadata = {"name": "stray", "namespace": NAMESPACE, "labels": labels}
        await here.client.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        await here.runtime.sleep(10.0)
        [pod] = await here.pods()
        assert pod["metadata"]["ownerReferences"][0]["uid"] == uid_of(replica_set)


async def test_scaling_is_told_in_events():
    async with world() as here, running(here.cluster()):
        await here.client.create(DEPLOYMENTS, deployment(2))
        await here.available(2)
        [replica_set] = (await here.replica_sets()).values()
        told = [event["message"] for event in (await here.client.list(EVENTS, NAMESPACE)).items]
        assert f"Scaled up replica set {name_of(replica_set)} from 0 to 2" in told


@pytest.mark.parametrize("seed", range(3))
async def test_a_cache_that_lags_behind_never_doubles_a_pod(seed):
    async with world(seed=seed) as here:
        slow = here.cluster(wrap=lambda transport: Wire(transport, here.runtime, lag_seconds=0.5))
        async with running(slow), PodHistory(here).watching() as history:
            await here.client.create(DEPLOYMENTS, deployment(5))
            await here.available(5, seconds=300.0)
            assert (history.most, len(history.seen)) == (5, 5)
            await set_spec(here, replicas=2)
            await here.available(2, seconds=300.0)
            assert len(history.seen) == 5


@pytest.mark.parametrize("seed", range(5))
async def test_requests_and_answers_that_are_lost_double_nothing(seed):
    async with world(seed=seed) as here:
        leaky = here.cluster(wrap=lambda transport: Wire(transport, here.runtime, lost=0.4))
        async with running(leaky), PodHistory(here).watching() as history:
            await here.client.create(DEPLOYMENTS, deployment(5))
            await here.available(5, seconds=300.0)
            assert (history.most, len(history.seen)) == (5, 5)


async def test_the_same_seed_gives_the_same_pods():
    async def names():
        async with world(seed=7) as here, running(here.cluster()):
            await here.client.create(DEPLOYMENTS, deployment(5))
            await here.available(5)
            return sorted((name_of(pod), pod["spec"]["nodeName"], pod["status"]["podIP"]) for pod in await here.pods())

    first = await names()
    assert first == await names()
    assert asyncio.get_running_loop().time() < 60.0
