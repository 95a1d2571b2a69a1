"""What goes with pods between two real API servers: with their defaults and validation, steady is silent, too."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from hanse.api.admiralty.keys import FOLLOW, HAS_FINALIZER, ORIGINAL_SELECTOR, POD_FINALIZER, PREFIX
from hanse.api.plain_kinds import CLAIMS, INGRESSES
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.http import HttpTransport
from hanse.kube.manifest import annotations_of, finalizers_of, labels_of
from hanse.kube.resources import CONFIGMAPS, LEASES, PODS, SECRETS, SERVICE_ACCOUNTS, SERVICES
from tests.component.pods.baggage.travelling import Line, Stage, Targets
from tests.kubernetes.real import HOST, real_clusters

pytestmark = pytest.mark.kubernetes
PATIENCE_SECONDS = 90.0
SELECTOR = {f"{PREFIX}app": "web"}


@pytest.fixture(scope="module")
def clusters():
    with real_clusters({"home": HOST, "east": HOST}) as running:
        yield running


@asynccontextmanager
async def staged(clusters):
    runtime = SystemRuntime()
    ends = {name: Kubeconfig.load(each.kubeconfig).endpoint() for name, each in clusters.items()}
    clients = {name: Client(HttpTransport(end), runtime, manager="kubectl") for name, end in ends.items()}
    wires = {name: Line(HttpTransport(end), runtime) for name, end in ends.items()}
    stage = Stage(runtime, clients, wires, Targets({"east": Client(wires["east"], runtime)}))
    stage.start(Client(wires["home"], runtime))
    try:
        yield stage
    finally:
        await stage.stop()
        for transport in (*wires.values(), *(client.transport for client in clients.values())):
            await transport.close()


async def until(stage, cluster, resource, name, holds):
    """Wait until something holds of an object, and return it; it is None where there is none."""
    found = None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not holds(found := await stage.find(cluster, resource, name)):
                await stage.runtime.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"{cluster}: {name} not within {PATIENCE_SECONDS:g} s; last seen: {found}") from None
    return found


async def quiet(stage):
    """Wait until nothing has been written for three seconds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        written = -1
        while written != (written := sum(len(wire.writes) for wire in stage.wires.values())):
            await stage.runtime.sleep(3.0)
    return written


async def test_what_a_pod_names_follows_it_and_leaves_after_it(clusters):
    async with staged(clusters) as stage:
        await stage.create(CONFIGMAPS, "settings", data={"a": "1", "b": "2"})
        await stage.create(SECRETS, "password", data={"p": "cw=="})
        await stage.create(SERVICE_ACCOUNTS, "robot")
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
        await stage.create(CLAIMS, "data", spec=claim)
        volumes = [
            {"name": "password", "secret": {"secretName": "password"}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        ]
        asks = {FOLLOW: "serviceaccounts,persistentvolumeclaims"}
        names = {"volumes": volumes, "serviceAccountName": "robot", "annotations": asks}
        await stage.pod("web", "east", container={"envFrom": [{"configMapRef": {"name": "settings"}}]}, **names)
        followers = ((CONFIGMAPS, "settings"), (SECRETS, "password"), (SERVICE_ACCOUNTS, "robot"), (CLAIMS, "data"))
        for resource, name in (*followers, (LEASES, "web")):
            await until(stage, "east", resource, name, lambda found: found is not None)
        await stage.home.patch(CONFIGMAPS, "settings", {"data": {"a": "3", "b": None}}, "default")
        await until(stage, "east", CONFIGMAPS, "settings", lambda found: found["data"] == {"a": "3"})
        await stage.clients["east"].patch(CONFIGMAPS, "settings", {"data": {"a": "wrong"}}, "default")
        await until(stage, "east", CONFIGMAPS, "settings", lambda found: found["data"] == {"a": "3"})

        # Steady is silent, and what was known is only what was named.
        await quiet(stage)
        assert HAS_FINALIZER not in labels_of(await stage.find("home", SERVICE_ACCOUNTS, "default"))
        await stage.home.delete(PODS, "web", "default")
        for resource, name in followers[:3]:
            await until(stage, "east", resource, name, lambda found: found is None)
            freed = await until(stage, "home", resource, name, lambda found: not finalizers_of(found))
            assert labels_of(freed) == {}
        assert POD_FINALIZER in finalizers_of(await stage.find("home", CLAIMS, "data"))
        assert await stage.find("east", CLAIMS, "data") is not None


async def test_services_are_led_past_placeholders_and_applied_again_by_kubectl(clusters):
    home = clusters["home"]
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": ports, "selector": {"app": "web"}}
    manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}
    async with staged(clusters) as stage:
        home.kubectl("apply", "--filename=-", input=json.dumps(manifest))
        backend = {"service": {"name": "web", "port": {"number": 80}}}
        await stage.create(
            INGRESSES, "front", spec={"defaultBackend": backend, "rules": [{"host": "bare.example.com"}]}
        )
        await stage.create(SERVICES, "peers", spec={"clusterIP": "None", "selector": {"app": "web"}, "ports": ports})
        await stage.pod("web", "east", labels={"app": "web"})
        await until(stage, "home", SERVICES, "web", lambda found: found["spec"]["selector"] == SELECTOR)
        copy = await until(stage, "east", SERVICES, "web", lambda found: found is not None)
        await until(stage, "east", INGRESSES, "front", lambda found: found is not None)
        peers = await until(stage, "east", SERVICES, "peers", lambda found: found is not None)
        source = await stage.find("home", SERVICES, "web")
        assert (copy["spec"]["type"], copy["spec"]["selector"]) == ("LoadBalancer", {"app": "web"})
        assert (copy["spec"]["healthCheckNodePort"] > 0, peers["spec"]["clusterIP"]) == (True, "None")
        assert annotations_of(source)[ORIGINAL_SELECTOR] == "app=web"

        before = await quiet(stage)
        home.kubectl("apply", "--filename=-", input=json.dumps(manifest))
        await until(stage, "home", SERVICES, "web", lambda found: found["spec"]["selector"] == SELECTOR)
        again = await quiet(stage)
        assert again <= before + 2
        await stage.home.delete(PODS, "web", "default")
        await until(stage, "east", SERVICES, "web", lambda found: found is None)
        await until(stage, "home", SERVICES, "web", lambda found: not finalizers_of(found))
        free = await until(stage, "home", SERVICES, "web", lambda found: found["spec"]["selector"] == {"app": "web"})
        assert ORIGINAL_SELECTOR not in annotations_of(free)
        home.kubectl("delete", "service/web", "service/peers", "ingress/front", "--timeout=60s")
