"""An Ingress of the federation: plain clusters get it at once, clusters that share an address one after the other."""

import orjson
import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.global_ingresses import GLOBAL_INGRESSES
from hanse.api.plain_kinds import INGRESSES
from hanse.kube.manifest import Key, annotations_of, dig
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, SERVICES
from hanse.propagation.one_address import FIRST_CLUSTER_ANNOTATION, STATIC_IP_ANNOTATION
from hanse.services.ingress.entrance import Behind, Entrance, entrance_manifest, parse_entrance
from hanse.services.ingress.manifest import Backend
from hanse.services.ingress.uids import provider_uid
from tests.simulation.world import deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

UID = "kubernetes.io/ingress.uid"


def ingress(name="web"):
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": INGRESSES.api_version,
        "kind": INGRESSES.kind,
        "metadata": metadata,
        "spec": {"defaultBackend": backend},
    }


async def has_controller(world, cluster, **data):
    """Have a cluster be one of Google's: its ingress controller keeps a uid in a ConfigMap."""
    metadata = {"name": "ingress-uid", "namespace": "kube-system"}
    await world.clients[cluster].create(
        CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    )


async def uids(world, *clusters):
    found = {name: await world.find(name, CONFIGMAPS, "ingress-uid", "kube-system") for name in clusters}
    return {name: dig(obj, "data", default={}) for name, obj in found.items()}


async def noted(world, cluster, annotation):
    return annotations_of(await world.host.get(CLUSTERS, cluster)).get(annotation)


async def copies(world):
    return {name for name in world.clusters if await world.find(name, INGRESSES, "web") is not None}


async def source(world):
    return await world.host.get(INGRESSES, "web", "default")


async def test_clusters_share_a_uid_and_get_the_ingress_one_after_the_other_beside_one_that_keeps_to_itself():
    async with federation("a", "b", "c") as world:
        await has_controller(world, "b", uid="of-b")
        await world.until(lambda: noted(world, "b", UID))
        # What its own controller has made for this one would be lost under another uid.
        await world.clients["c"].create(INGRESSES, ingress("theirs"))
        await has_controller(world, "c", uid="of-c")
        await has_controller(world, "a", uid="of-a", **{"provider-uid": "older"})
        await world.until(lambda: noted(world, "a", UID))
        await world.until(lambda: noted(world, "c", "hanse.dev/ingress"))
        shared = await uids(world, "a", "b", "c")

        await world.host.create(INGRESSES, ingress())
        await world.until(lambda: _is(copies(world), {"a", "c"}))
        await world.until(lambda: _tells(world, "b: it waits for the name of the address that a gets"))
        first = annotations_of(await source(world)), await copies(world)

        patch = {"metadata": {"annotations": {"ingress.kubernetes.io/static-ip": "k8s-fw-web"}}}
        await world.clients["a"].patch(INGRESSES, "web", patch, "default")
        await world.until(lambda: _is(copies(world), {"a", "b", "c"}))
        named = annotations_of(await source(world))
        told = annotations_of(await world.find("b", INGRESSES, "web"))
        await world.until(lambda: _addressed(world, 3))
        await world.runtime.sleep(5)
        world.forget_writes()
        await world.runtime.sleep(10)
        written = world.writes()

        await world.host.patch(CLUSTERS, "c", {"metadata": {"annotations": {"hanse.dev/ingress": "shared"}}})
        await world.until(lambda: noted(world, "c", UID))

        assert shared["b"] == {"uid": "of-b", "provider-uid": provider_uid("b")}
        assert shared["a"] == {"uid": "of-b", "provider-uid": "older"}
        assert shared["c"] == {"uid": "of-c"}
        assert first[0][FIRST_CLUSTER_ANNOTATION] == "a"
        assert first[1] == {"a", "c"}
        assert named[STATIC_IP_ANNOTATION] == "k8s-fw-web"
        assert told[STATIC_IP_ANNOTATION] == "k8s-fw-web"
        assert FIRST_CLUSTER_ANNOTATION not in told
        assert written == {}
        assert (await uids(world, "c"))["c"]["uid"] == "of-b"


async def _tells(world, sentence):
    return sentence in annotations_of(await source(world)).get("hanse.dev/status", "")


async def _is(found, wanted):
    return await found == wanted


async def _addressed(world, count):
    return len(dig(await source(world), "status", "loadBalancer", "ingress", default=[])) == count


async def test_an_entrance_leads_where_the_pods_are_while_they_move_and_always_somewhere():
    def only_in(cluster):
        return {"federation.kubernetes.io/deployment-preferences": orjson.dumps(_preferring(cluster)).decode()}

    async with federation("a", "b") as world:
        ports = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"}}
        await world.host.create(SERVICES, {**service, "spec": ports})
        await world.host.create(DEPLOYMENTS, deployment(replicas=2, **only_in("a")))
        await world.host.create(INGRESSES, ingress())
        clusters = tuple(Behind(name, ("192.0.2.1",)) for name in "ab")
        entrance = Entrance(Key("default", "front"), "web", clusters, default=Backend("web", "80"))
        await world.host.create(GLOBAL_INGRESSES, entrance_manifest(entrance))
        seen = []

        async def missing():
            obj = await world.host.get(GLOBAL_INGRESSES, "front", "default")
            told = parse_entrance(obj)
            seen.append({each.cluster for each in told.clusters if each.missing})
            return seen[-1]

        await world.until(lambda: _is(missing(), {"b"}))
        seen.clear()
        await world.host.patch(DEPLOYMENTS, "web", {"metadata": {"annotations": only_in("b")}}, "default")
        await world.until(lambda: _is(missing(), {"a"}))
        running = await world.available("a")
        told = parse_entrance(await world.host.get(GLOBAL_INGRESSES, "front", "default"))

        assert {"a", "b"} not in seen
        assert running == 2, "clients are led away before the pods go"
        assert all(each.addresses and each.addresses != ("192.0.2.1",) for each in told.clusters)


def _preferring(cluster):
    return {"rebalance": True, "clusters": {cluster: {"weight": 1}}}
