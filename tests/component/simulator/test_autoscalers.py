"""Autoscalers on a simulated cluster follow the load of their pods."""

import pytest

from hanse.kube.resources import DEPLOYMENTS, SERVICES
from hanse.simulator.workloads.kinds import AUTOSCALERS
from tests.component.simulator.harness import NAMESPACE, condition_of, deployment, running, world

pytestmark = pytest.mark.looptime

LOAD = "simulator.hanse.dev/load"


def autoscaler(**spec):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    resource = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    metrics = [{"type": "Resource", "resource": resource}]
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 6, "metrics": metrics, **spec},
    }


async def test_load_is_followed_up_soon_and_down_after_a_while():
    asks = {"container": {"resources": {"requests": {"cpu": "100m"}}}}
    async with world() as here, running(here.cluster()) as cluster:
        metadata = {"name": "web", "namespace": NAMESPACE, "annotations": {LOAD: "1200m"}}
        spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
        await here.client.create(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        await here.client.create(DEPLOYMENTS, deployment(1, pod=asks))
        await here.client.create(AUTOSCALERS, autoscaler())
        await here.available(2, seconds=60.0)

        unread = await here.until(
            AUTOSCALERS, "web", lambda one: condition_of(one, "ScalingActive").get("status") == "False", seconds=60.0
        )
        assert condition_of(unread, "ScalingActive")["reason"] == "FailedGetResourceMetric"
        assert condition_of(unread, "ScalingActive")["message"] == (
            "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for "
            "resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested "
            "resource (get pods.metrics.k8s.io)"
        )

        cluster.serve_through(here.server)
        await here.available(6, seconds=120.0)
        full = await here.until(AUTOSCALERS, "web", lambda one: one["status"].get("currentReplicas") == 6, seconds=60.0)
        assert condition_of(full, "ScalingLimited")["reason"] == "TooManyReplicas"
        assert full["status"]["currentMetrics"][0]["resource"]["current"]["averageUtilization"] > 100

        await here.client.patch(SERVICES, "web", {"metadata": {"annotations": {LOAD: "10m"}}}, NAMESPACE)
        began = here.runtime.monotonic()
        await here.available(2, seconds=600.0)
        # Five minutes must have passed since more was last asked for.
        assert here.runtime.monotonic() - began >= 280.0


async def test_a_target_that_is_not_there_is_said():
    async with world() as here, running(here.cluster()):
        await here.client.create(AUTOSCALERS, autoscaler())
        told = await here.until(AUTOSCALERS, "web", lambda one: condition_of(one, "AbleToScale"), seconds=60.0)
        entry = condition_of(told, "AbleToScale")
        assert (entry["status"], entry["reason"]) == ("False", "FailedGetScale")
        assert 'deployments.apps "web" not found' in entry["message"]
