"""The examples that run pods: each is scaled, rolled out, broken by hand and deleted, as its README says."""

from itertools import pairwise

import pytest

from hanse.api.metacontroller.kinds import CONTROLLER_REVISIONS
from hanse.composite.hooks.calling import HookFailed
from hanse.kube.client import PatchType
from hanse.kube.conditions import is_true
from hanse.kube.manifest import is_deleting, uid_of
from hanse.kube.resources import NODES, PODS, REPLICASETS, SERVICES, Resource
from tests.simulation.composite.examples import Example
from tests.simulation.composite.stage import stage

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
JOBS = Resource("batch", "v1", "jobs", "Job")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
GROUP = "examples.hanse.dev"
CATSETS = Resource(GROUP, "v1", "catsets", "CatSet")
BLUE_GREENS = Resource(GROUP, "v1", "bluegreendeployments", "BlueGreenDeployment")
INDEXED_JOBS = Resource(GROUP, "v1", "indexedjobs", "IndexedJob")
DAEMON_JOBS = Resource(GROUP, "v1", "daemonjobs", "DaemonJob")


async def pods(on):
    """Return the pods that are there to stay, by name."""
    listed = (await on.client.list(PODS, "default")).items
    return {pod["metadata"]["name"]: pod for pod in listed if not is_deleting(pod)}


async def ready(on, *names):
    """Tell whether exactly these pods are there, and all are ready."""
    found = (await on.client.list(PODS, "default")).items
    return sorted(each["metadata"]["name"] for each in found) == sorted(names) and all(
        is_true((each.get("status") or {}).get("conditions"), "Ready") and not is_deleting(each) for each in found
    )


async def gone(on, resource, name):
    return await on.client.find(resource, name, "default") is None


def image_of(pod):
    return pod["spec"]["containers"][0]["image"]


async def images(on):
    return {name: image_of(pod) for name, pod in (await pods(on)).items()}


def cats(count):
    return [f"cats-{ordinal}" for ordinal in range(count)]


def template(image):
    return {"spec": {"template": {"spec": {"containers": [{"name": "nginx", "image": image}]}}}}


async def test_a_catset_grows_and_shrinks_in_order_keeps_its_volumes_and_goes_from_the_last_pod_to_the_first():
    catset = Example("catset")
    async with stage(nodes=True) as on:
        await catset.serve(on)
        await catset.create(on)
        await on.until(lambda: ready(on, *cats(3)))
        assert await on.silent()
        seen = [len(call["children"]["Pod.v1"]) for call in catset.hook(on).requests]
        assert all(after - before <= 1 for before, after in pairwise(seen))

        await on.client.patch(CATSETS, "cats", {"spec": {"replicas": 2}}, "default")
        await on.until(lambda: ready(on, *cats(2)))
        assert await on.names(CLAIMS) == [f"www-{name}" for name in cats(3)]

        await on.client.delete(CATSETS, "cats", "default")
        await on.until(lambda: gone(on, CATSETS, "cats"))
        left = [sorted(call["children"]["Pod.v1"]) for call in catset.hook(on, "finalize").requests]
        assert [names for names, after in pairwise([*left, None]) if names != after] == [cats(2), cats(1), []]
        await on.settle()
        assert (await on.names(PODS), await on.names(CLAIMS), await on.names(CONTROLLER_REVISIONS)) == ([], [], [])


async def test_a_catset_is_rolled_out_from_the_last_pod_to_the_first_and_mends_what_is_broken():
    catset = Example("catset")
    async with stage(nodes=True) as on:
        await catset.serve(on)
        await catset.create(on, replicas=2)
        await on.until(lambda: ready(on, *cats(2)))

        await on.client.patch(CATSETS, "cats", template("nginx:1.30"), "default")
        await on.until(lambda: has_image(on, "cats-1", "nginx:1.30"))
        assert (await images(on))["cats-0"] == "nginx:1.29"
        await on.until(lambda: has_image(on, "cats-0", "nginx:1.30"))
        await on.until(lambda: ready(on, *cats(2)))

        theirs = [{"op": "replace", "path": "/spec/containers/0/image", "value": "theirs"}]
        await on.client.patch(PODS, "cats-1", theirs, "default", patch_type=PatchType.JSON)
        await on.until(lambda: has_image(on, "cats-1", "nginx:1.30"))
        await on.until(lambda: ready(on, *cats(2)))

        hook = catset.hook(on)
        works, hook.function = hook.function, lambda _request: HookFailed("the cat sleeps")
        await on.client.delete(PODS, "cats-0", "default")
        await on.client.patch(CATSETS, "cats", {"spec": {"replicas": 0}}, "default")
        await on.until(lambda: on.events("SyncError"))
        await on.until(lambda: ready(on, "cats-1"))
        await on.client.patch(CATSETS, "cats", {"spec": {"replicas": 2}}, "default")
        hook.function = works
        await on.until(lambda: ready(on, *cats(2)))
        assert set((await images(on)).values()) == {"nginx:1.30"}


async def has_image(on, name, image):
    return (await images(on)).get(name) == image


async def test_a_blue_green_deployment_turns_only_to_a_complete_version_and_back_from_a_broken_one():
    blue_green = Example("blue-green-deployment")

    async def sizes():
        listed = (await on.client.list(REPLICASETS, "default")).items
        return {each["metadata"]["name"]: each["spec"]["replicas"] for each in listed}

    async def serves(colour, **replicas):
        status = (await on.client.get(BLUE_GREENS, "shop", "default")).get("status") or {}
        wanted = {f"shop-{name}": count for name, count in replicas.items()}
        return (status.get("active"), status.get("availableReplicas")) == (colour, replicas[colour]) and (
            await sizes() == wanted
        )

    async with stage(nodes=True) as on:
        await blue_green.serve(on)
        await blue_green.create(on, replicas=2)
        await on.until(lambda: serves("blue", blue=2))

        await on.client.patch(BLUE_GREENS, "shop", template("nginx:missing"), "default")
        await on.settle(10)
        assert await serves("blue", blue=2, green=2)
        assert sorted((await images(on)).values()) == ["nginx:1.29"] * 2 + ["nginx:missing"] * 2

        await on.client.patch(BLUE_GREENS, "shop", template("nginx:1.30"), "default")
        await on.until(lambda: serves("green", blue=0, green=2))
        assert (await on.client.get(SERVICES, "shop", "default"))["spec"]["selector"] == {
            "app": "shop",
            "examples.hanse.dev/colour": "green",
        }

        await on.client.delete(SERVICES, "shop", "default")
        await on.client.patch(REPLICASETS, "shop-green", {"spec": {"replicas": 0}}, "default")
        await on.client.patch(BLUE_GREENS, "shop", {"spec": {"replicas": 3}}, "default")
        await on.until(lambda: serves("green", blue=0, green=3))
        assert set((await images(on)).values()) == {"nginx:1.30"}
        assert await on.silent()

        await on.client.delete(BLUE_GREENS, "shop", "default")
        await on.until(lambda: ready(on))
        assert (await on.names(REPLICASETS), await on.names(SERVICES)) == ([], ["kubernetes"])


async def test_an_indexed_job_does_each_piece_once_a_few_at_a_time_and_again_if_its_pod_is_lost():
    indexed_job = Example("indexed-job")

    async def status():
        return (await on.client.get(INDEXED_JOBS, "frames", "default")).get("status") or {}

    async def complete():
        return is_true((await status()).get("conditions"), "Complete")

    async with stage(nodes=True) as on:
        await indexed_job.serve(on)
        await indexed_job.create(on)
        await on.until(lambda: ready(on, "frames-0", "frames-1"))
        first = uid_of((await pods(on))["frames-1"])
        evicted = {"metadata": {"annotations": {"simulator.hanse.dev/evict": "memory"}}}
        await on.client.patch(PODS, "frames-1", evicted, "default")
        await on.client.patch(INDEXED_JOBS, "frames", {"spec": {"parallelism": 3}}, "default")
        await on.until(complete)
        assert await on.silent()
        done = await pods(on)
        assert sorted(done) == [f"frames-{index}" for index in range(5)]
        assert uid_of(done["frames-1"]) != first
        assert done["frames-4"]["spec"]["containers"][0]["env"] == [{"name": "JOB_INDEX", "value": "4"}]
        running = [
            sum(pod.get("status", {}).get("phase") == "Running" for pod in call["children"]["Pod.v1"].values())
            for call in indexed_job.hook(on).requests
        ]
        assert max(running) in (2, 3)

        await on.client.delete(PODS, "frames-2", "default")
        await on.settle()
        assert "frames-2" not in await pods(on)
        assert (await status())["completedIndexes"] == [0, 1, 2, 3, 4]
        await on.client.delete(INDEXED_JOBS, "frames", "default")
        await on.until(lambda: ready(on))


async def test_a_daemon_job_runs_once_on_every_node_anew_when_it_changes_and_goes_with_its_node():
    daemon_job = Example("daemon-job")

    async def ran(count):
        status = (await on.client.get(DAEMON_JOBS, "warm-up", "default")).get("status") or {}
        return status.get("succeeded") == count and is_true(status.get("conditions"), "Complete")

    async with stage(nodes=True) as on:
        nodes = await on.names(NODES, "")
        await daemon_job.serve(on)
        await daemon_job.create(on)
        await on.until(lambda: ran(len(nodes)))
        found = {pod["spec"]["nodeName"] for pod in (await pods(on)).values()}
        assert found == set(nodes)
        assert await on.names(JOBS) == [f"warm-up-{node}" for node in nodes]

        assert await on.silent()
        before = uid_of(await on.client.get(JOBS, f"warm-up-{nodes[0]}", "default"))
        container = {"name": "warm-up", "image": "busybox:1.38", "command": ["true"]}
        await on.client.patch(
            DAEMON_JOBS, "warm-up", {"spec": {"template": {"spec": {"containers": [container]}}}}, "default"
        )
        await on.until(lambda: replaced(on, nodes[0], before))
        await on.client.delete(JOBS, f"warm-up-{nodes[1]}", "default")
        await on.until(lambda: ran(len(nodes)))
        assert set((await images(on)).values()) == {"busybox:1.38"}

        await on.client.patch(DAEMON_JOBS, "warm-up", {"spec": {"nodeSelector": {"disk": "fast"}}}, "default")
        await on.until(lambda: ran(0))
        await on.client.patch(NODES, nodes[2], {"metadata": {"labels": {"disk": "fast"}}})
        await on.until(lambda: ran(1))
        assert await on.names(JOBS) == [f"warm-up-{nodes[2]}"]
        await on.client.delete(DAEMON_JOBS, "warm-up", "default")
        await on.until(lambda: ready(on))
        assert await on.names(JOBS) == []


async def replaced(on, node, uid):
    job = await on.client.find(JOBS, f"warm-up-{node}", "default")
    return job is not None and uid_of(job) != uid


async def test_each_pod_of_an_annotated_stateful_set_has_a_service_until_the_annotation_or_the_set_goes():
    service_per_pod = Example("service-per-pod")
    annotation = f"{GROUP}/service-per-pod"

    async def services():
        return [name for name in await on.names(SERVICES) if name != "kubernetes"]

    async def has(*names):
        return await services() == list(names)

    async with stage() as on:
        await service_per_pod.serve(on)
        made = await service_per_pod.create(on)
        await on.until(lambda: has("db-0", "db-1"))
        service = await on.client.get(SERVICES, "db-1", "default")
        assert service["spec"]["selector"] == {"statefulset.kubernetes.io/pod-name": "db-1"}
        assert [(each["port"], each["targetPort"]) for each in service["spec"]["ports"]] == [(80, 8080), (9100, 9100)]

        await on.client.patch(STATEFUL_SETS, "db", {"spec": {"replicas": 3}}, "default")
        await on.until(lambda: has("db-0", "db-1", "db-2"))
        await on.client.delete(SERVICES, "db-0", "default")
        await on.client.patch(SERVICES, "db-1", {"spec": {"selector": {"app": "theirs"}}}, "default")
        await on.client.patch(STATEFUL_SETS, "db", {"metadata": {"annotations": {annotation: "81"}}}, "default")
        await on.settle()
        for name in ("db-0", "db-1", "db-2"):
            spec = (await on.client.get(SERVICES, name, "default"))["spec"]
            assert (spec["ports"][0]["port"], len(spec["ports"])) == (81, 1)
        # The merge puts back what the hook says; what somebody added beside it is theirs.
        assert (await on.client.get(SERVICES, "db-1", "default"))["spec"]["selector"] == {
            "statefulset.kubernetes.io/pod-name": "db-1",
            "app": "theirs",
        }

        assert await on.silent()
        await on.client.patch(STATEFUL_SETS, "db", {"metadata": {"annotations": {annotation: "http"}}}, "default")
        await on.settle()
        assert await has("db-0", "db-1", "db-2")
        await on.client.patch(STATEFUL_SETS, "db", {"metadata": {"annotations": {annotation: None}}}, "default")
        await on.until(has)
        stays = await on.client.get(STATEFUL_SETS, "db", "default")
        assert (uid_of(stays), stays["metadata"].get("finalizers", [])) == (uid_of(made), [])
        await on.client.patch(STATEFUL_SETS, "db", {"metadata": {"annotations": {annotation: "80"}}}, "default")
        await on.until(lambda: has("db-0", "db-1", "db-2"))
        await on.client.delete(STATEFUL_SETS, "db", "default")
        await on.until(lambda: gone(on, STATEFUL_SETS, "db"))
        assert await services() == []
