"""Claims get volumes, pods wait for them, and both go when nobody needs them."""

import pytest

from hanse.kube.errors import NotFound
from hanse.kube.manifest import name_of
from hanse.kube.resources import PODS
from hanse.simulator.volumes.kinds import CLAIMS, STORAGE_CLASSES, VOLUMES
from tests.component.simulator.harness import NAMESPACE, condition_of, running, world

pytestmark = pytest.mark.looptime


def claim(name="data", **spec):
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}, **spec}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": wanted}


def pod_with(name="data", **spec):
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": name}}
    body = {"containers": [{"name": "main", "image": "db:1"}], "volumes": [volume], **spec}
    metadata = {"name": "solo", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def in_phase(phase):
    return lambda found: (found.get("status") or {}).get("phase") == phase


async def gone(here, resource, name, namespace=""):
    for _ in range(100):
        try:
            await here.client.get(resource, name, namespace)
        except NotFound:
            return True
        await here.runtime.sleep(0.1)
    return False


async def test_a_new_cluster_has_a_default_storage_class():
    async with world() as here, running(here.cluster()):
        found = await here.until(STORAGE_CLASSES, "standard", lambda _: True, namespace="")
        assert found["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true"
        assert found["volumeBindingMode"] == "WaitForFirstConsumer"


async def test_a_claim_waits_for_its_pod_and_gets_a_volume_in_the_pods_zone():
    async with world() as here, running(here.cluster()):
        await here.until(STORAGE_CLASSES, "standard", lambda _: True, namespace="")
        await here.client.create(CLAIMS, claim())
        await here.runtime.sleep(5.0)
        assert (await here.client.get(CLAIMS, "data", NAMESPACE))["status"]["phase"] == "Pending"
        await here.client.create(PODS, pod_with(nodeSelector={"topology.kubernetes.io/zone": "us-b"}))
        pod = await here.until(PODS, "solo", in_phase("Running"))
        assert pod["spec"]["nodeName"] == "us-east-node-2"
        bound = await here.until(CLAIMS, "data", in_phase("Bound"))
        assert bound["spec"]["storageClassName"] == "standard"
        assert bound["status"]["capacity"] == {"storage": "2Gi"}
        volume = await here.until(VOLUMES, bound["spec"]["volumeName"], in_phase("Bound"), namespace="")
        [term] = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"][0]["values"] == ["us-b"]


async def test_an_immediate_claim_is_bound_at_once_and_its_volume_goes_with_it():
    async with world() as here, running(here.cluster()):
        await here.client.create(CLAIMS, claim(storageClassName="immediate"))
        bound = await here.until(CLAIMS, "data", in_phase("Bound"))
        await here.client.delete(CLAIMS, "data", NAMESPACE)
        assert await gone(here, CLAIMS, "data", NAMESPACE)
        assert await gone(here, VOLUMES, bound["spec"]["volumeName"])


async def test_a_volume_that_is_to_be_retained_stays_released():
    keeping = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "keeping"},
        "provisioner": "disk.simulator.hanse.dev",
        "reclaimPolicy": "Retain",
        "volumeBindingMode": "Immediate",
    }
    async with world() as here, running(here.cluster()):
        await here.client.create(STORAGE_CLASSES, keeping)
        await here.client.create(CLAIMS, claim(storageClassName="keeping"))
        bound = await here.until(CLAIMS, "data", in_phase("Bound"))
        await here.client.delete(CLAIMS, "data", NAMESPACE)
        await here.until(VOLUMES, bound["spec"]["volumeName"], in_phase("Released"), namespace="")
        await here.runtime.sleep(10.0)
        assert name_of(await here.client.get(VOLUMES, bound["spec"]["volumeName"])) == bound["spec"]["volumeName"]


async def test_a_claim_in_use_is_gone_only_after_its_pod():
    async with world() as here, running(here.cluster()):
        protected = claim(storageClassName="immediate")
        protected["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection"]
        await here.client.create(CLAIMS, protected)
        await here.client.create(PODS, pod_with())
        await here.until(PODS, "solo", in_phase("Running"))
        await here.client.delete(CLAIMS, "data", NAMESPACE)
        await here.runtime.sleep(10.0)
        assert (await here.client.get(CLAIMS, "data", NAMESPACE))["metadata"]["deletionTimestamp"]
        await here.client.delete(PODS, "solo", NAMESPACE)
        assert await gone(here, CLAIMS, "data", NAMESPACE)


async def test_a_volume_that_is_there_already_is_taken_rather_than_made():
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "shelf"},
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "by-hand",
            "hostPath": {"path": "/data"},
        },
    }
    async with world() as here, running(here.cluster()):
        await here.client.create(CLAIMS, claim(storageClassName="by-hand"))
        await here.client.create(PODS, pod_with())
        await here.until(PODS, "solo", lambda found: condition_of(found, "PodScheduled").get("status") == "False")
        await here.client.create(VOLUMES, volume)
        bound = await here.until(CLAIMS, "data", in_phase("Bound"))
        assert (bound["spec"]["volumeName"], bound["status"]["capacity"]) == ("shelf", {"storage": "5Gi"})
        await here.until(PODS, "solo", in_phase("Running"))
