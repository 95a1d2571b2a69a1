"""`federate`, `unfederate` and `orphaning-deletion` typed against a host over HTTPS, with no control plane at work."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing

import orjson
import pytest
import yaml
from click.testing import CliRunner

from hanse.api.kubefed.forms import DEFAULT_TARGETS, FORM_A, FORM_D, template_resource
from hanse.api.names import ADOPT_ANNOTATION, FEDERATE_ANNOTATION, FINALIZER
from hanse.api.policies import PLACEMENT_POLICIES
from hanse.cli.main import main
from hanse.kube.manifest import annotations_of, version_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, PODS, SECRETS, SERVICES
from tests.behaviour.kubefed_forms import sample, serve_kubefed
from tests.component.served_federation import ServedFederation

FEDERATED = {target.plural: template_resource(FORM_D, target) for target in DEFAULT_TARGETS}
POD = {"containers": [{"name": "main", "image": "web:1"}]}
WORKLOAD = {
    "replicas": 2,
    "selector": {"matchLabels": {"app": "web"}},
    "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD},
}


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    federation = ServedFederation(tmp_path_factory.mktemp("federate"))
    federation.ask(serve_kubefed(federation.host, (FORM_D, FORM_A)))
    yield federation
    federation.close()


def make(federation, resource, name, namespace="default", /, *, metadata=None, **fields):
    place = {} if not namespace else {"namespace": namespace}
    obj = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, **place, **(metadata or {})},
        **fields,
    }
    return federation.ask(federation.host.create(resource, obj))


def read(federation, resource, name, namespace="default"):
    return federation.ask(federation.host.find(resource, name, namespace))


def printed(answer):
    assert answer.exit_code == 0, answer.output
    return list(yaml.safe_load_all(answer.stdout))


def test_112_what_a_server_gave_to_an_object_stays_out_of_the_template(federation):
    ports = [{"port": 80, "name": "http"}]
    make(federation, SERVICES, "web", spec={"ports": ports, "selector": {"app": "web"}, "type": "NodePort"})

    [made] = printed(federation.type("federate", "svc", "web", "-o", "yaml"))

    assert (made["apiVersion"], made["kind"]) == ("types.kubefed.io/v1beta1", "FederatedService")
    assert made["metadata"] == {"name": "web", "namespace": "default"}
    assert made["spec"]["placement"] == {"clusterSelector": {"matchLabels": {}}}
    spec = made["spec"]["template"]["spec"]
    assert not {"clusterIP", "clusterIPs", "healthCheckNodePort"} & set(spec)
    assert spec["ports"] == [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 80}]
    assert not {"apiVersion", "kind", "status", "metadata"} & set(made["spec"]["template"])
    assert read(federation, FEDERATED["services"], "web") is None


def test_an_object_becomes_a_federated_one(federation):
    metadata = {"labels": {"tier": "front"}, "annotations": {"team": "blue"}}
    make(federation, CONFIGMAPS, "settings", metadata=metadata, data={"a": "1"})

    answer = federation.type("federate", "configmap/settings")

    assert answer.exit_code == 0, answer.output
    assert "federatedconfigmaps.types.kubefed.io" in answer.stdout
    assert "team stayed behind" in answer.stderr
    template = read(federation, FEDERATED["configmaps"], "settings")["spec"]["template"]
    assert template == {"metadata": {"labels": {"tier": "front"}}, "data": {"a": "1"}}

    again = federation.type("federate", "configmap", "settings")
    assert again.exit_code == 1
    assert "exists already; nothing was changed" in again.stderr


def test_copies_that_hanse_holds_are_let_go_before_the_federated_object_is_made(federation):
    """No engine runs here: the finalizer is taken off by hand, as the engine does once the copies are free."""
    metadata = {"finalizers": [FINALIZER]}
    held = make(federation, DEPLOYMENTS, "held", metadata=metadata, spec=WORKLOAD)
    fields = {"version": version_of(held), "fields": "metadata.name=held"}

    async def let_go():
        async with asyncio.timeout(60), aclosing(federation.host.watch(DEPLOYMENTS, "default", **fields)) as events:
            async for event in events:
                if annotations_of(event.object).get(FEDERATE_ANNOTATION) == "false":
                    await federation.host.patch(DEPLOYMENTS, "held", {"metadata": {"finalizers": None}}, "default")
                    return

    with ThreadPoolExecutor(1) as engine:
        letting_go = engine.submit(federation.ask, let_go())
        answer = federation.type("federate", "deployment", "held")
        letting_go.result()

    assert answer.exit_code == 0, answer.output
    assert "made, copies handed over" in answer.stdout
    assert read(federation, FEDERATED["deployments"], "held") is not None


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["federate"], 2, "name the object to federate"),
        (["federate", "cm", "nosuch"], 1, '"nosuch" not found'),
        (["federate", "gizmos", "a"], 1, "serves no kind 'gizmos'"),
        (["federate", "cm", "a", "-t", "-o", "yaml"], 2, "-t enables a kind"),
        (["federate", "cm", "a", "-c"], 2, "--contents is for namespaces"),
        (["federate", "cm", "a", "-f", "x.yaml"], 2, "leave out the kind"),
        (["unfederate", "cm", "a"], 1, "configmaps are no federated kind"),
        (["orphaning-deletion", "status", "cm", "a"], 1, "configmaps are no federated kind"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_told_in_a_sentence(federation, words, code, says):
    answer = federation.type(*words)

    assert answer.exit_code == code
    assert says in answer.stderr


def test_a_kind_without_a_federated_type_asks_for_one(federation):
    make(federation, PODS, "alone", spec=POD)

    assert "have no federated type" in federation.type("federate", "pod", "alone").stderr
    [made] = printed(federation.type("federate", "pod", "alone", "-o", "yaml"))
    assert made["kind"] == "FederatedPod"


def test_113_manifests_of_a_file_are_converted_and_nothing_is_written(tmp_path):
    path = tmp_path / "web.yaml"
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": WORKLOAD}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    text = yaml.safe_dump_all([deployment, namespace])
    path.write_text(text)

    [web, shop] = printed(CliRunner().invoke(main, ["federate", "-f", str(path)]))
    piped = printed(CliRunner().invoke(main, ["federate", "-f", "-"], input=text))

    assert (web["kind"], web["apiVersion"]) == ("FederatedDeployment", "types.kubefed.io/v1beta1")
    assert web["metadata"] == {"name": "web"}
    assert web["spec"]["template"]["spec"] == WORKLOAD
    assert shop["metadata"] == {"name": "shop", "namespace": "shop"}
    assert piped == [web, shop]


def test_114_a_namespace_is_federated_with_what_is_in_it_less_what_clusters_make_themselves(federation):
    make(federation, NAMESPACES, "shop", "")
    make(federation, CONFIGMAPS, "left-out", "shop", data={})
    make(federation, SECRETS, "key", "shop", data={"a": "YQ=="})
    web = make(federation, DEPLOYMENTS, "web", "shop", spec=WORKLOAD)
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": web["metadata"]["uid"],
        "controller": True,
    }
    make(federation, SECRETS, "owned", "shop", metadata={"ownerReferences": [owner]})
    make(federation, PODS, "web-1", "shop", spec=POD)

    made = printed(federation.type("federate", "ns", "shop", "-c", "-s", "configmaps,apps", "-o", "yaml"))
    assert [(one["kind"], one["metadata"]["name"]) for one in made] == [
        ("FederatedNamespace", "shop"),
        ("FederatedSecret", "key"),
    ]

    answer = federation.type("federate", "ns", "shop", "--contents", "-s", "cm")

    assert answer.exit_code == 0, answer.output
    assert "skipped: Deployment web makes it in every cluster" in answer.stdout
    assert read(federation, FEDERATED["namespaces"], "shop", "shop")["spec"]["template"] == {}
    assert read(federation, FEDERATED["deployments"], "web", "shop") is not None
    assert read(federation, FEDERATED["secrets"], "key", "shop") is not None
    assert read(federation, FEDERATED["secrets"], "owned", "shop") is None
    assert read(federation, FEDERATED["configmaps"], "left-out", "shop") is None

    # What came later is picked up by the same command.
    answer = federation.type("federate", "ns", "shop", "--contents")
    assert answer.exit_code == 0, answer.output
    assert read(federation, FEDERATED["configmaps"], "left-out", "shop") is not None


def test_115_orphaning_is_off_until_somebody_turns_it_on(federation):
    make(federation, FEDERATED["configmaps"], "kept", spec={})

    def typed(wish):
        answer = federation.type("orphaning-deletion", wish, "fcm", "kept")
        assert answer.exit_code == 0, answer.output
        return answer.stdout.strip()

    assert typed("status") == "Disabled"
    assert typed("enable") == "Enabled"
    assert typed("status") == "Enabled"
    found = read(federation, FEDERATED["configmaps"], "kept")
    assert annotations_of(found) == {"kubefed.io/orphan": "true"}
    assert typed("disable") == "Disabled"
    assert typed("status") == "Disabled"


def test_a_federated_object_becomes_a_plain_one_and_a_policy(federation):
    manifest = sample(retainReplicas=False)
    manifest["metadata"]["name"] = "back"
    resource = FEDERATED["deployments"]
    federation.ask(federation.host.create(resource, manifest))

    documents = orjson.loads(federation.type("unfederate", "fdeploy/back", "-o", "json").stdout)["items"]
    assert [one["kind"] for one in documents] == ["Deployment", "PlacementPolicy"]
    assert read(federation, resource, "back") is not None

    answer = federation.type("unfederate", "fdeploy", "back")

    assert answer.exit_code == 0, answer.output
    assert read(federation, resource, "back") is None
    plain = read(federation, DEPLOYMENTS, "back")
    assert plain["spec"]["replicas"] == 8
    assert annotations_of(plain) == {ADOPT_ANNOTATION: "true"}
    policy = read(federation, PLACEMENT_POLICIES, "deployment-back")
    assert policy["spec"]["clusters"] == {"names": ["cluster2", "cluster1"]}
    shares = policy["spec"]["division"]["clusters"]
    assert {name: share["minReplicas"] for name, share in shares.items()} == {"cluster1": 3, "cluster2": 5}
    patches = policy["spec"]["overrides"][0]["patches"]
    assert {
        "op": "replace",
        "path": "/spec/template/spec/containers/0/image",
        "value": "nginx:1.17.0-alpine",
    } in patches
