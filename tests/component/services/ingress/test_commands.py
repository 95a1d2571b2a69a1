"""`hanse ingress` as people type it: Google's balancer behind a project, Hanse's own without one."""

import asyncio

import orjson
import pytest
import yaml

from hanse.api.global_ingresses import GLOBAL_INGRESSES
from hanse.api.plain_kinds import INGRESSES
from hanse.kube.manifest import annotations_of
from hanse.kube.resources import SERVICES
from hanse.services.ingress.copies import INSTANCE_GROUPS_ANNOTATION
from hanse.services.ingress.gce.tokens import API_VARIABLE, TOKEN_VARIABLE
from tests.component.served_federation import ServedFederation
from tests.component.services.ingress.clusters import BACKEND, service
from tests.component.services.ingress.compute_server import PROJECT, TOKEN, ComputeServer

FORMER = {
    "apiVersion": "extensions/v1beta1",
    "kind": "Ingress",
    "metadata": {
        "name": "zoneprinter",
        "annotations": {"kubernetes.io/ingress.global-static-ip-name": "shared-ip"},
    },
    "spec": {"backend": {"serviceName": "zoneprinter", "servicePort": 80}},
}


class Typing:
    """Commands typed against two clusters and a project."""

    def __init__(self, servers, folder):
        self.servers = servers
        self.ingress = folder / "ingress.yaml"
        self.ingress.write_text(yaml.safe_dump(FORMER))
        self.compute = ComputeServer()

    def say(self, verb, *words, files=True, contexts="east,west"):
        given = ["-i", self.ingress, "-k", self.servers.config, "--kubecontexts", contexts] if files else []
        return self.servers.say("ingress", verb, *words, *given)

    def find(self, cluster):
        return self.servers.ask(self.servers.clients[cluster].find(INGRESSES, "zoneprinter", "default"))

    def prepare(self, cluster, status=None, **annotations):
        """Have an Ingress in a cluster as it is once the cluster's ingress controller has seen it."""
        self.servers.ask(self._prepare(self.servers.clients[cluster], status, annotations))

    async def _prepare(self, client, status, annotations):
        metadata = {"name": "zoneprinter", "namespace": "default", "annotations": annotations}
        made = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata}
        await client.create(INGRESSES, {**made, "spec": {"defaultBackend": BACKEND}})
        if status:
            await client.patch(
                INGRESSES, "zoneprinter", {"status": {"loadBalancer": status}}, "default", subresource="status"
            )

    def on_node_port(self, cluster, number):
        self.servers.ask(self.servers.clients[cluster].apply(SERVICES, service(number)))


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("ingress"), "east", "west")
    yield opened
    opened.close()


@pytest.fixture
def typing(servers, tmp_path, monkeypatch):
    typed = Typing(servers, tmp_path)
    ready, done = asyncio.Event(), asyncio.Event()

    async def serve():
        async with typed.compute.serving():
            ready.set()
            await done.wait()

    async def start():
        task = asyncio.ensure_future(serve())
        await ready.wait()
        return task

    async def stop():
        done.set()
        await task
        for client in servers.clients.values():
            await client.delete_collection(INGRESSES, "default")
        await servers.host.delete_collection(GLOBAL_INGRESSES, "default")

    task = servers.ask(start())
    for name in ("east", "west"):
        typed.on_node_port(name, 30061)
    monkeypatch.setenv(API_VARIABLE, typed.compute.url)
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    yield typed
    servers.ask(stop())


IN_PROJECT = ("--gcp-project", PROJECT)


def test_googles_balancer_is_created_shown_narrowed_and_deleted(typing):
    """Lines 105 and 108 of docs/reference/federation-v1.md, with the proposal's Ingress of extensions/v1beta1."""
    for name in ("east", "west"):
        zone = typing.compute.add_cluster(f"ig-{name}", f"gke-{name}", {"port30061": 30061})
        groups = orjson.dumps([{"Name": f"ig-{name}", "Zone": zone}]).decode()
        known = {"kubernetes.io/ingress.class": "gce-multi-cluster", **FORMER["metadata"]["annotations"]}
        typing.prepare(name, **known, **{INSTANCE_GROUPS_ANNOTATION: groups})

    empty = typing.say("list", *IN_PROJECT, files=False)
    created = typing.say("create", "zone-printer", *IN_PROJECT)
    status = typing.say("get-status", "zone-printer", *IN_PROJECT, files=False)
    listed = typing.say("list", *IN_PROJECT, files=False)
    all_of_them = typing.say("remove-clusters", "zone-printer", *IN_PROJECT)
    one_of_them = typing.say("remove-clusters", "zone-printer", *IN_PROJECT, contexts="west")
    shown = typing.say("get-status", "zone-printer", *IN_PROJECT, "-o", "json", files=False)
    left = typing.find("east"), typing.find("west")
    deleted = typing.say("delete", "zone-printer", *IN_PROJECT, contexts="east")
    gone = typing.say("get-status", "zone-printer", *IN_PROJECT, files=False)

    assert empty == (0, "No multicluster ingresses found.\n")
    assert created[0] == 0, created[1]
    assert created[1].endswith("\nSuccess.\n")
    assert status == (
        0,
        "Load balancer zone-printer has IPAddress 203.0.113.7 and is spread across 2 clusters (east,west)\n",
    )
    assert listed[1].split("\n")[:2] == [
        "NAME           IP            CLUSTERS",
        "zone-printer   203.0.113.7   east, west",
    ]
    assert all_of_them[0] == 1
    assert "This will remove the ingress from all clusters" in all_of_them[1]
    assert one_of_them[0] == 0, one_of_them[1]
    assert orjson.loads(shown[1]) == {"name": "zone-printer", "ipAddress": "203.0.113.7", "clusters": ["east"]}
    assert [each is not None for each in left] == [True, False]
    assert deleted[0] == 0, deleted[1]
    assert typing.compute.names() == []
    assert typing.find("east") is None
    assert gone == (
        1,
        "error: Error in getting status of the load balancer: Load balancer zone-printer does not exist\n",
    )


def test_node_ports_that_differ_are_refused_before_anything_is_created(typing):
    """Line 106 of docs/reference/federation-v1.md."""
    typing.on_node_port("west", 30062)
    code, told = typing.say("create", "zone-printer", *IN_PROJECT)

    assert code == 1
    assert "All clusters must use same NodePort" in told
    assert (typing.find("east"), typing.find("west"), typing.compute.requests) == (None, None, [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("create",), "unexpected args: []. Expected one arg as name of load balancer"),
        (("create", "a", "b"), "unexpected args: [a b]. Expected one arg as name of load balancer"),
        (("delete",), "unexpected args: []. Expected one arg as name of load balancer"),
        (("remove-clusters",), "unexpected args: []. Expected one arg as name of load balancer"),
        (("get-status",), "unexpected args: []. Expected one arg as name of load balancer"),
        (("list", "a"), "unexpected args: [a]. Expected 0 arguments"),
        (("create", "a"), "unexpected missing argument ingress"),
        (("delete", "a", "-i", "x.yaml"), "unexpected missing argument kubeconfig"),
        (("remove-clusters", "a", "-k", "x"), "unexpected missing argument ingress"),
    ],
)
def test_wrong_words_are_told_and_nothing_is_done(typing, words, message):
    assert typing.say(*words, *IN_PROJECT, files=False) == (2, f"error: {message}\n")
    assert typing.compute.requests == []


@pytest.mark.parametrize(
    ("name", "change", "words", "message"),
    [
        ("myLb", {}, (), "'myLb' is not such a name"),
        ("lb", {"metadata": {"name": "x"}}, (), "must provide a Global Static IP"),
        ("lb", {}, ("--static-ip", "other"), "does not match --static-ip=other"),
        ("lb", {"kind": "Service"}, (), "the file must hold one Ingress"),
        ("lb", {}, ("-k", "nowhere.yaml"), "kubeconfig nowhere.yaml cannot be read"),
        ("lb", {}, ("--kubecontexts", "south"), "contexts has no entry named 'south'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_created(typing, name, change, words, message):
    """Line 109 of docs/reference/federation-v1.md, and what is wrong with files and flags."""
    typing.ingress.write_text(yaml.safe_dump(FORMER | change))
    given = ["-i", typing.ingress, "-k", typing.servers.config, "--kubecontexts", "east", *IN_PROJECT, *words]
    code, told = typing.servers.say("ingress", "create", name, *given)

    assert code == 2
    assert message in told
    assert (typing.find("east"), typing.compute.requests) == (None, [])


def test_without_a_project_the_load_balancer_is_an_entrance_that_the_host_keeps(typing):
    addresses = {"east": {"ip": "192.0.2.1"}, "west": {"ip": "192.0.2.2"}}
    for name, address in addresses.items():
        typing.prepare(name, {"ingress": [address]}, **FORMER["metadata"]["annotations"])
    created = typing.say("create", "web", "--static-ip", "198.51.100.7", "--listen", "8080")
    kept = typing.servers.ask(typing.servers.host.get(GLOBAL_INGRESSES, "web", "default"))["spec"]
    again = typing.say("create", "web", "--static-ip", "198.51.100.7", "--listen", "8080")
    differing = typing.say("create", "web", "--static-ip", "198.51.100.7")
    status = typing.say("get-status", "web", files=False)
    last = typing.say("remove-clusters", "web")
    west = typing.say("remove-clusters", "web", contexts="west")
    listed = typing.say("list", "-o", "json", files=False)
    deleted = typing.say("delete", "web", contexts="east")

    assert created[0] == 0, created[1]
    assert kept["clusters"] == [
        {"name": "east", "addresses": ["192.0.2.1"]},
        {"name": "west", "addresses": ["192.0.2.2"]},
    ]
    assert kept["defaultBackend"] == {"service": "zoneprinter", "port": "80"}
    assert "Desired entrance exists already" in again[1]
    assert differing[0] == 1
    assert "will not overwrite entrance web without --force" in differing[1]
    assert status[1] == "Load balancer web has IPAddress 198.51.100.7 and is spread across 2 clusters (east,west)\n"
    assert last[0] == 1
    assert west[0] == 0, west[1]
    assert typing.find("west") is None
    assert orjson.loads(listed[1]) == {"items": [{"name": "web", "ipAddress": "198.51.100.7", "clusters": ["east"]}]}
    assert deleted[0] == 0, deleted[1]
    assert typing.find("east") is None
    assert typing.say("list", files=False) == (0, "No multicluster ingresses found.\n")


def test_without_contexts_all_clusters_of_the_file_are_meant_and_not_the_federation_itself(typing):
    for name in ("east", "west"):
        typing.prepare(name, {"ingress": [{"hostname": "lb.example.com"}]}, **FORMER["metadata"]["annotations"])
    code, told = typing.say("create", "web", contexts="")

    assert code == 0, told
    assert typing.find("host") is None
    assert "kubernetes.io/ingress.class" not in annotations_of(typing.find("east"))
    shown = typing.say("get-status", "web", files=False)[1]
    assert shown == "Load balancer web has IPAddress (not told) and is spread across 2 clusters (east,west)\n"
