"""Zero values in a template, which servers do not keep, are no reason to write for ever: on virtual time."""

import pytest

from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.api.names import CLUSTER_SELECTOR_ANNOTATION
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import dig
from hanse.kube.resources import DEPLOYMENTS, SERVICES, Resource
from tests.simulation.world import federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
NOWHERE = '[{"key": "tier", "operator": "In", "values": ["gold"]}]'
EVERYWHERE: dict[str, dict[str, str]] = {"clusterSelector": {}}
POD = {
    "hostNetwork": False,
    "nodeSelector": {},
    "tolerations": [],
    "priorityClassName": "",
    "automountServiceAccountToken": False,
    "containers": [{"name": "web", "image": "web:1", "stdin": False, "env": [], "ports": [{"containerPort": 80}]}],
}
DEPLOYMENT = {
    "metadata": {"labels": {}},
    "spec": {
        "replicas": 0,
        "paused": False,
        "minReadySeconds": 0,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD},
    },
}
SERVICE = {
    "spec": {
        "type": "NodePort",
        "clusterIP": "",
        "externalIPs": [],
        "selector": {"app": "web"},
        "ports": [{"name": "", "port": 80, "nodePort": 0}],
    }
}
CASES = ((DEPLOYMENTS, DEPLOYMENT), (SERVICES, SERVICE))


def federated(target, template, **spec):
    kind = template_resource(FORM_D, target)
    metadata = {"name": "web", "namespace": "default"}
    body = {"template": template, "placement": EVERYWHERE, **spec}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": body}


async def propagation(world, target):
    obj = await world.host.get(template_resource(FORM_D, target), "web", "default")
    return find_condition(dig(obj, "status", "conditions"), "Propagation") or {}


async def test_templates_with_zero_values_are_in_sync_and_at_rest():
    async with federation("a", forms=(FORM_D,)) as world:
        for target, template in CASES:
            await world.host.create(template_resource(FORM_D, target), federated(target, template))

        async def in_sync():
            told = [await propagation(world, target) for target, _ in CASES]
            return all(each.get("status") == "True" and "message" not in each for each in told)

        await world.until(in_sync)
        await world.runtime.sleep(10)
        world.forget_writes()
        await world.runtime.sleep(30)
        assert not [write for write in world.writes().get("a", []) if "leases" not in write[1]]
        assert await in_sync()
        port = dig(await world.find("a", SERVICES, "web"), "spec", "ports")[0]
        assert port["nodePort"] >= 30000, "a port that is 0 is one that the cluster chooses"
        pod = dig(await world.find("a", DEPLOYMENTS, "web"), "spec", "template", "spec")
        assert pod["automountServiceAccountToken"] is False, "what a server tells from silence is written"


async def test_an_override_to_a_zero_value_takes_back_what_the_template_says():
    off = [{"clusterName": "a", "clusterOverrides": [{"path": "/spec/paused", "value": False}]}]
    template = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "paused": True}}
    async with federation("a", "b", forms=(FORM_D,)) as world:
        await world.host.create(template_resource(FORM_D, DEPLOYMENTS), federated(DEPLOYMENTS, template, overrides=off))

        async def paused():
            found = [await world.find(name, DEPLOYMENTS, "web") for name in ("a", "b")]
            return None not in found and [dig(obj, "spec", "paused", default=False) for obj in found] == [False, True]

        await world.until(paused)
        await world.host.patch(
            template_resource(FORM_D, DEPLOYMENTS),
            "web",
            {"spec": {"template": {"spec": {"paused": False}}}},
            "default",
        )

        async def running():
            found = [await world.find(name, DEPLOYMENTS, "web") for name in ("a", "b")]
            return [dig(obj, "spec", "paused", default=False) for obj in found] == [False, False]

        await world.until(running)


async def test_a_status_with_zeros_that_servers_fill_in_is_written_once():
    stateful = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default", "annotations": {CLUSTER_SELECTOR_ANNOTATION: NOWHERE}},
        "spec": {**DEPLOYMENT["spec"], "serviceName": "db", "replicas": 3},
    }
    stateful["spec"].pop("paused")
    async with federation("a") as world:
        await world.host.create(STATEFUL_SETS, stateful)
        await world.runtime.sleep(20)
        world.forget_writes()

        for note in "xyz":
            await world.host.patch(STATEFUL_SETS, "db", {"metadata": {"annotations": {"note": note}}}, "default")
            await world.runtime.sleep(20)

        assert world.writes() == {}
