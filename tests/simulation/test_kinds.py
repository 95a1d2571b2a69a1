"""Plain kinds over clusters, on virtual time; numbers are the lines of the fact sheet of federation v1."""

import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.federated_kinds import FEDERATED_KINDS, federated_kind_manifest
from hanse.api.names import (
    ADOPT_ANNOTATION,
    AUTOSCALED_ANNOTATION,
    CLUSTER_SELECTOR_ANNOTATION,
    FEDERATE_ANNOTATION,
    FINALIZER,
    MANAGED_LABEL,
    STATUS_ANNOTATION,
)
from hanse.api.plain_kinds import (
    AUTOSCALERS,
    CLAIMS,
    CRON_JOBS,
    DAEMON_SETS,
    DISRUPTION_BUDGETS,
    INGRESSES,
    JOBS,
    LIMIT_RANGES,
    NETWORK_POLICIES,
    PRIORITY_CLASSES,
    QUOTAS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from hanse.kube.conditions import is_true
from hanse.kube.manifest import annotations_of, dig, finalizers_of, labels_of
from hanse.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, SERVICE_ACCOUNTS, Resource
from tests.simulation.world import config, deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

POD = {"containers": [{"name": "main", "image": "web:1"}]}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": POD}
ONCE = {"spec": {**POD, "restartPolicy": "Never"}}


def made(resource, name="web", **fields):
    metadata = {"name": name} | ({"namespace": "default"} if resource.namespaced else {})
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **fields}


SELECTOR = {"matchLabels": {"app": "web"}}
STORAGE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
PLAIN = {
    REPLICATION_CONTROLLERS: {"spec": {"replicas": 6, "selector": {"app": "rc"},
        "template": {"metadata": {"labels": {"app": "rc"}}, "spec": POD}}},
    STATEFUL_SETS: {"spec": {"replicas": 3, "serviceName": "web", "selector": {"matchLabels": {"app": "sts"}},
        "template": {"metadata": {"labels": {"app": "sts"}}, "spec": POD}}},
    DAEMON_SETS: {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
    JOBS: {"spec": {"parallelism": 3, "completions": 10, "template": ONCE}},
    CRON_JOBS: {"spec": {"schedule": "0 4 * * *", "jobTemplate": {"spec": {"template": ONCE}}}},
    DISRUPTION_BUDGETS: {"spec": {"minAvailable": "50%", "selector": SELECTOR}},
    CLAIMS: {"spec": STORAGE},
    INGRESSES: {"spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}},
    NETWORK_POLICIES: {"spec": {"podSelector": {}}},
    LIMIT_RANGES: {"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}},
    QUOTAS: {"spec": {"hard": {"pods": "50"}}},
    PRIORITY_CLASSES: {"value": 7},
    SERVICE_ACCOUNTS: {},
}  # fmt: skip


async def copies(world, resource, name="web"):
    found = {cluster: await world.clients[cluster].find(resource, name, "default") for cluster in world.clusters}
    return {cluster: obj for cluster, obj in found.items() if obj is not None}


async def numbers(world, resource, *path, name="web"):
    return {cluster: dig(obj, *path) for cluster, obj in (await copies(world, resource, name)).items()}


async def status(world, resource, name="web"):
    return (await world.host.get(resource, name, "default")).get("status") or {}


async def test_plain_kinds_go_everywhere_each_divided_as_it_divides():
    """Lines 4, 21, 45 and 51; seed 003's ReplicationController of 6 over 3 clusters is 2, 2 and 2."""
    async with federation() as world:
        for resource, fields in PLAIN.items():
            await world.host.create(resource, made(resource, **fields))

        async def placed():
            rc = await numbers(world, REPLICATION_CONTROLLERS, "status", "readyReplicas")
            everywhere = [len(await copies(world, resource)) == 3 for resource in PLAIN if resource != CRON_JOBS]
            return rc == {"a": 2, "b": 2, "c": 2} and all(everywhere)

        await world.until(placed)
        assert await numbers(world, STATEFUL_SETS, "spec", "replicas") == {"a": 1, "b": 1, "c": 1}
        assert sum((await numbers(world, JOBS, "spec", "completions")).values()) == 10
        assert len(await copies(world, CRON_JOBS)) == 1, "what runs once a night runs in one cluster"

        async def told():
            rc, stateful = await status(world, REPLICATION_CONTROLLERS), await status(world, STATEFUL_SETS)
            daemons = await status(world, DAEMON_SETS)
            return (
                rc.get("readyReplicas") == 6
                and stateful.get("readyReplicas") == 3
                and stateful.get("currentRevision") == stateful.get("updateRevision")
                and daemons.get("numberReady") == daemons.get("desiredNumberScheduled")
                and is_true((await status(world, JOBS)).get("conditions"), "Propagated")
            )

        await world.until(told)
        await world.runtime.sleep(30)
        world.forget_writes()
        await world.runtime.sleep(30)
        assert world.writes() == {}

        for resource in PLAIN:
            await world.host.delete(resource, "web", "default" if resource.namespaced else "")

        async def gone():
            return not any([await copies(world, resource) for resource in PLAIN])

        await world.until(gone)


def widget_definition(**metadata):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": "widgets.example.com", **metadata},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
            "versions": [{**version, "subresources": {"status": {}}}],
        },
    }


WIDGETS = Resource("example.com", "v1", "widgets", "Widget")


async def serves_widgets(world, name):
    crd = await world.clients[name].find(CRDS, "widgets.example.com")
    return crd is not None and is_true(dig(crd, "status", "conditions"), "Established")


async def sizes_are(world, **sizes):
    serving = [name for name in world.clusters if await serves_widgets(world, name)]
    found = {name: await world.clients[name].find(WIDGETS, "web", "default") for name in serving}
    return {name: dig(obj, "spec", "size") for name, obj in found.items()} == sizes


async def says(world, resource, name, sentence):
    source = await world.host.get(resource, name, "default")
    return sentence in annotations_of(source).get(STATUS_ANNOTATION, "")


async def test_a_custom_kind_is_federated_from_the_moment_that_it_is_enabled_until_it_is_disabled():
    """The definition goes before its instances; a cluster that does not serve the kind says so and hurts nobody."""
    async with federation("a", "b") as world:
        await world.host.patch(CLUSTERS, "a", {"metadata": {"labels": {"widgets": "yes"}}})
        only_a = {"annotations": {CLUSTER_SELECTOR_ANNOTATION: '[{"key": "widgets", "operator": "exists"}]'}}
        await world.host.create(CRDS, widget_definition(**only_a))
        await world.until(lambda: serves_widgets(world, "host"))
        await world.host.create(WIDGETS, made(WIDGETS, spec={"size": 5, "own": "federation"}))
        await world.runtime.sleep(5)
        assert not await serves_widgets(world, "a"), "nobody has asked for it"

        taught = federated_kind_manifest(WIDGETS)
        rules = [{"path": "status.size"}, {"path": "status.places", "expression": "clusters.map(c, c.name)"}]
        taught["spec"] |= {"replicas": {"path": "spec.size"}, "status": rules, "omit": ["spec.own"]}
        await world.host.create(FEDERATED_KINDS, taught)
        await world.host.create(FEDERATED_KINDS, federated_kind_manifest(CRDS))

        await world.until(lambda: sizes_are(world, a=5))
        copy = await world.clients["a"].get(WIDGETS, "web", "default")
        assert "own" not in copy["spec"]
        await world.until(lambda: says(world, WIDGETS, "web", "b: it does not serve Widget (example.com/v1)"))

        nobody = {"metadata": {"annotations": {CLUSTER_SELECTOR_ANNOTATION: None}}}
        await world.host.patch(CRDS, "widgets.example.com", nobody)

        async def in_both():
            copies = [await world.clients[name].find(WIDGETS, "web", "default") for name in "ab"]
            return all(copy is not None for copy in copies)

        await world.until(in_both)
        for name in "ab":
            ready = {"status": {"size": 2, "readyReplicas": 5, "availableReplicas": 5}}
            await world.clients[name].patch(WIDGETS, "web", ready, "default", subresource="status")
        await world.until(lambda: sizes_are(world, a=3, b=2))

        async def summed():
            return await status(world, WIDGETS) == {"size": 4, "places": ["a", "b"]}

        await world.until(summed)
        kind = await world.host.get(FEDERATED_KINDS, "widgets.example.com")
        assert is_true(dig(kind, "status", "conditions"), "Understood")
        await world.host.delete(FEDERATED_KINDS, "widgets.example.com")

        async def let_go():
            return await world.host.find(FEDERATED_KINDS, "widgets.example.com") is None

        await world.until(let_go)
        source, copy = [await world.clients[name].get(WIDGETS, "web", "default") for name in ("host", "a")]
        assert FINALIZER not in finalizers_of(source)
        assert MANAGED_LABEL not in labels_of(copy), "the copy stays and is the cluster's own"


async def test_what_a_cluster_has_already_is_taken_over_on_request_and_given_back_on_request():
    async with federation("a") as world:
        member = world.clients["a"]
        theirs = await member.create(CONFIGMAPS, config(color="theirs"))
        await world.host.create(CONFIGMAPS, config(color="ours"))
        await world.until(lambda: says(world, CONFIGMAPS, "settings", "or take it over with the annotation"))
        assert await color(member) == "theirs"

        await annotate(world, ADOPT_ANNOTATION, "true")

        async def ours():
            return await color(member) == "ours"

        await world.until(ours)
        taken = await member.get(CONFIGMAPS, "settings", "default")
        assert taken["metadata"]["uid"] == theirs["metadata"]["uid"]

        await annotate(world, FEDERATE_ANNOTATION, "false")

        async def given_back():
            copy, source = [await each.get(CONFIGMAPS, "settings", "default") for each in (member, world.host)]
            return MANAGED_LABEL not in labels_of(copy) and FINALIZER not in finalizers_of(source)

        await world.until(given_back)
        assert await ours()


async def color(client):
    return (await client.get(CONFIGMAPS, "settings", "default"))["data"]["color"]


async def annotate(world, name, value):
    await world.host.patch(CONFIGMAPS, "settings", {"metadata": {"annotations": {name: value}}}, "default")


async def test_an_autoscaler_divides_and_its_workload_keeps_what_it_gives_in_each_cluster():
    """Lines 43, 52 and 57."""
    async with federation("a", "b") as world:
        await world.host.create(DEPLOYMENTS, deployment(replicas=6))
        await world.until(lambda: spread_is(world, a=3, b=3))
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        await world.host.create(AUTOSCALERS, made(AUTOSCALERS, spec={"scaleTargetRef": target, "maxReplicas": 10}))

        async def divided():
            return await numbers(world, AUTOSCALERS, "spec", "maxReplicas") == {"a": 5, "b": 5}

        await world.until(divided)

        async def known():
            source = await world.host.get(DEPLOYMENTS, "web", "default")
            return annotations_of(source).get(AUTOSCALED_ANNOTATION) == '{"Names":["a","b"]}'

        await world.until(known)
        await world.clients["a"].patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}}, "default")
        await world.runtime.sleep(20)
        assert await world.spread() == {"a": 5, "b": 3}, "nobody puts back what an autoscaler does"

        await world.host.create(DEPLOYMENTS, deployment("api", replicas=2))
        await world.host.patch(AUTOSCALERS, "web", {"spec": {"scaleTargetRef": {**target, "name": "api"}}}, "default")
        await world.until(lambda: spread_is(world, a=3, b=3))
        told = {name: await world.host.get(DEPLOYMENTS, name, "default") for name in ("web", "api")}
        assert AUTOSCALED_ANNOTATION not in annotations_of(told["web"]), "nobody scales it any more"
        assert annotations_of(told["api"])[AUTOSCALED_ANNOTATION] == '{"Names":["a","b"]}'

        await world.host.delete(AUTOSCALERS, "web", "default")

        async def forgotten():
            return AUTOSCALED_ANNOTATION not in annotations_of(await world.host.get(DEPLOYMENTS, "api", "default"))

        await world.until(forgotten)


async def spread_is(world, **wanted):
    return await world.spread() == wanted
