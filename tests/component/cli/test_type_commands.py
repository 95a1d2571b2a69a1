"""`enable` and `disable` give kinds federated types and take them away: typed against a host over HTTPS."""

import asyncio

import pytest
import yaml

from hanse.api.kubefed.type_configs import TYPE_CONFIG_CRDS, TYPE_CONFIGS
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.kube.errors import AlreadyExists, Invalid
from hanse.kube.resources import CONFIGMAPS, CRDS, Resource
from hanse.native import KindKeeper
from tests.component.served_federation import ServedFederation

GROUP = "example.com"


def definition(plural, kind, spec, group=GROUP, **names):
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


WIDGET = {
    "type": "object",
    "required": ["size"],
    "properties": {"size": {"type": "string", "enum": ["small", "large"]}, "replicas": {"type": "string"}},
}
FLEET = {
    "type": "object",
    "required": ["crew"],
    "properties": {
        "crew": {"type": "object", "properties": {"replicas": {"type": "integer", "format": "int32"}}},
        "mode": {"type": "string", "default": "calm"},
    },
}
SCALED = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer", "format": "int32", "minimum": 0},
        "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
GATE = {"type": "object", "properties": {"a": {"type": "string"}}}
CUSTOM = (
    definition("widgets", "Widget", WIDGET, shortNames=["wd"]),
    definition("fleets", "Fleet", FLEET),
    definition("scaledthings", "ScaledThing", SCALED),
    definition("gates", "Gate", GATE, shortNames=["gt"]),
    definition("gates", "Gate", GATE, "other.org", shortNames=["gt"]),
)


async def prepare(federation):
    for crd in (*TYPE_CONFIG_CRDS, *CUSTOM):
        try:
            await federation.host.create(CRDS, crd)
        except AlreadyExists:
            continue
    return asyncio.create_task(KindKeeper(federation.host).run())


async def ended(task):
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    federation = ServedFederation(tmp_path_factory.mktemp("types"))
    keeper = federation.ask(prepare(federation))
    yield federation
    federation.ask(ended(keeper))
    federation.close()


def typed(federation, *words):
    answer = federation.type(*words)
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def refused(federation, *words, code=1):
    answer = federation.type(*words)
    assert answer.exit_code == code, answer.output
    return answer.stderr


def config(federation, name):
    return federation.ask(federation.host.find(TYPE_CONFIGS, name, SYSTEM_NAMESPACE))


def crd(federation, name):
    return federation.ask(federation.host.find(CRDS, name))


def federated(kind, name, template, group="types.kubefed.io", version="v1beta1"):
    resource = Resource(group, version, f"federated{kind.lower()}s", f"Federated{kind}")
    metadata = {"name": name, "namespace": "default"}
    spec = {"template": template, "placement": {"clusterSelector": {}}}
    return resource, {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        "spec": spec,
    }


def test_102_104_a_kind_gets_a_federated_type_and_the_second_time_it_is_updated(federation):
    told = typed(federation, "enable", "scaledthings")

    assert "customresourcedefinition.apiextensions.k8s.io/federatedscaledthings.types.kubefed.io created" in told
    assert (
        f"federatedtypeconfig.core.kubefed.io/scaledthings.example.com created in namespace {SYSTEM_NAMESPACE}" in told
    )
    assert config(federation, "scaledthings.example.com")["spec"]["propagation"] == "Enabled"
    schema = crd(federation, "federatedscaledthings.types.kubefed.io")["spec"]["versions"][0]["schema"]
    assert "retainReplicas" in schema["openAPIV3Schema"]["properties"]["spec"]["properties"]

    again = typed(federation, "enable", "scaledthings")

    assert "federatedscaledthings.types.kubefed.io updated" in again
    assert "federatedtypeconfig.core.kubefed.io/scaledthings.example.com updated" in again


def test_kinds_that_nobody_has_seen_are_federated_by_enabling_them(federation):
    for kind in ("wd", "Fleet"):
        typed(federation, "enable", kind)
    cases = {
        "Widget": (
            {"spec": {"size": "huge"}},
            {"spec": {"size": "small", "replicas": "many"}},
            "spec.template.spec.size",
        ),
        "Fleet": (
            {"spec": {"crew": {"replicas": "three"}}},
            {"spec": {"crew": {"replicas": 3}}},
            "spec.template.spec.crew.replicas",
        ),
    }
    for kind, (wrong, right, path) in cases.items():
        resource, bad = federated(kind, "test", wrong)
        with pytest.raises(Invalid, match=path.replace(".", r"\.")):
            federation.ask(federation.host.create(resource, bad))
        made = federation.ask(federation.host.create(*federated(kind, "test", right)))
        assert made["spec"]["template"] == right


def test_yaml_is_printed_and_nothing_written(federation):
    [kind, written, *crds] = yaml.safe_load_all(typed(federation, "enable", "svc", "-o", "yaml"))

    assert kind["kind"] == "FederatedKind"
    assert (written["kind"], written["metadata"]["name"]) == ("FederatedTypeConfig", "services")
    assert [one["metadata"]["name"] for one in crds] == ["federatedservices.types.kubefed.io"]
    assert crds[0]["spec"]["names"]["shortNames"] == ["fsvc"]
    assert config(federation, "services") is None


def test_106_a_word_that_means_several_kinds_names_them_all(federation):
    assert "'gt' may mean gates.example.com or gates.other.org" in refused(federation, "enable", "gt")


def test_another_group_may_be_chosen_once(federation):
    typed(federation, "enable", "gates.other.org", "--federated-group", "fed.other.org", "--federated-version", "v1")

    assert crd(federation, "federatedgates.fed.other.org")["spec"]["versions"][0]["name"] == "v1"
    assert config(federation, "gates.other.org")["spec"]["federatedType"]["group"] == "fed.other.org"
    assert "are federated as federatedgates.fed.other.org already" in refused(federation, "enable", "gates.other.org")


def test_a_directive_in_a_file_says_what_to_enable(federation, tmp_path):
    path = tmp_path / "directive.yaml"
    spec = {"targetVersion": "v1", "federatedGroup": "fed.example.com", "federatedVersion": "v1beta1"}
    directive = {"kind": "EnableTypeDirective", "metadata": {"name": "gates.example.com"}, "spec": spec}
    path.write_text(yaml.safe_dump({"apiVersion": "core.kubefed.io/v1beta1", **directive}))

    typed(federation, "enable", "-f", path)

    assert crd(federation, "federatedgates.fed.example.com") is not None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["enable"], "name one kind to enable"),
        (["enable", "widgets", "-f", "x.yaml"], "name one kind to enable"),
        (["enable", "widgets", "--federated-group", "nodomain"], "must be a domain with a dot"),
    ],
    ids=["nothing", "both", "108 no dot"],
)
def test_what_is_asked_for_must_be_clear(federation, words, says):
    assert says in refused(federation, *words, code=2)


def test_111_a_definition_with_objects_is_not_deleted(federation):
    typed(federation, "enable", "fleets")
    resource, obj = federated("Fleet", "kept", {"spec": {"crew": {}}})
    federation.ask(federation.host.create(resource, obj))

    said = refused(federation, "disable", "fleets", "--delete-crd")

    assert "default/kept among them" in said or "federatedfleets.types.kubefed.io" in said
    assert config(federation, "fleets.example.com") is not None
    federation.ask(federation.host.delete_collection(resource, "default"))

    told = typed(federation, "disable", "fleets", "--delete-crd")

    assert f'Disabled propagation for FederatedTypeConfig "{SYSTEM_NAMESPACE}/fleets.example.com"' in told
    assert 'customresourcedefinition "federatedfleets.types.kubefed.io" deleted' in told
    assert config(federation, "fleets.example.com") is None
    assert crd(federation, "federatedfleets.types.kubefed.io") is None
    assert crd(federation, "fleets.example.com") is not None


def test_109_a_default_kind_stays_switched_off_until_it_is_enabled_again(federation):
    typed(federation, "disable", CONFIGMAPS.plural)
    assert config(federation, "configmaps")["spec"]["propagation"] == "Disabled"

    typed(federation, "enable", CONFIGMAPS.plural)
    assert config(federation, "configmaps")["spec"]["propagation"] == "Enabled"
