"""The forms of KubeFed's API and the definitions that are made for them: names, scopes, and schemas of templates."""

import orjson
import pytest

from hanse.api.kubefed.config import FederationSettings, parse_config
from hanse.api.kubefed.forms import (
    CLUSTER_ROLES,
    DEFAULT_TARGETS,
    FORM_A,
    FORM_B,
    FORM_C,
    FORM_D,
    FORM_D0,
    GROUPS,
    chosen_form,
    default_targets,
    form_of,
    override_resource,
    placement_resource,
    template_resource,
)
from hanse.api.kubefed.generation import federated_definitions
from hanse.api.kubefed.hosting import known_schema, kubefed_definitions
from hanse.api.kubefed.served_schemas import openapi_path, schema_from_definition, schema_from_openapi
from hanse.api.kubefed.template_schemas import template_schema
from hanse.api.kubefed.type_configs import (
    FederatedType,
    parse_type_config,
    plural_of,
    type_config_manifest,
    type_config_resource,
)
from hanse.api.plain_kinds import INGRESSES
from hanse.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, NAMESPACES, Resource
from hanse.kube.schemas import schema_for, schema_from_crd
from hanse.native.kinds import is_federated, why_never

WIDGETS = Resource("example.com", "v1", "widgets", "Widget", short_names=("w", "wd"))
DEPLOYS = next(target for target in DEFAULT_TARGETS if target == DEPLOYMENTS)


def fields(crd):
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]


def spec_fields(crd):
    return fields(crd)["spec"]["properties"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (FORM_A, "federateddeployments.core.federation.k8s.io"),
        (FORM_B, "federateddeployments.primitives.federation.k8s.io"),
        (FORM_C, "federateddeployments.types.federation.k8s.io"),
        (FORM_D0, "federateddeployments.types.kubefed.k8s.io"),
        (FORM_D, "federateddeployments.types.kubefed.io"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_102_a_template_is_named_after_its_target_in_every_form(form, expected):
    resource = template_resource(form, DEPLOYS)

    assert resource.group_resource == expected
    assert resource.kind == "FederatedDeployment"
    assert resource.short_names == (("fdeploy",) if form == FORM_D else ())
    assert form_of(resource.group, resource.version) == form


def test_placements_and_overrides_are_kinds_of_their_own_in_the_first_forms_only():
    assert placement_resource(FORM_A, INGRESSES).group_resource == "federatedingressplacements.core.federation.k8s.io"
    assert override_resource(FORM_A, INGRESSES) is None
    assert override_resource(FORM_A, DEPLOYMENTS).kind == "FederatedDeploymentOverride"
    assert override_resource(FORM_B, INGRESSES).kind == "FederatedIngressOverride"
    for form in (FORM_C, FORM_D0, FORM_D):
        assert placement_resource(form, INGRESSES) is None
        assert override_resource(form, INGRESSES) is None


def test_103_what_federates_a_namespace_lives_in_it():
    assert not NAMESPACES.namespaced
    assert template_resource(FORM_D, NAMESPACES).namespaced
    assert placement_resource(FORM_A, NAMESPACES).namespaced
    assert template_resource(FORM_A, NAMESPACES) == NAMESPACES
    assert not template_resource(FORM_D, CLUSTER_ROLES).namespaced


def test_the_first_form_had_fewer_kinds():
    assert set(default_targets(FORM_D)) - set(default_targets(FORM_A)) == {CLUSTER_ROLES}


def test_people_may_choose_a_group_of_their_own():
    form = chosen_form("fed.example.com", "v1")

    assert template_resource(form, WIDGETS).group_resource == "federatedwidgets.fed.example.com"
    assert template_resource(form, WIDGETS).short_names == ("fw", "fwd")
    assert form_of("fed.example.com") is None
    assert chosen_form("types.kubefed.io", "v1beta1") == FORM_D


def test_102_replicas_may_be_retained_where_the_target_has_them():
    [deployments] = federated_definitions(FORM_D, DEPLOYS, known_schema(DEPLOYS))
    [configmaps] = federated_definitions(FORM_D, CONFIGMAPS, known_schema(CONFIGMAPS))

    assert deployments["metadata"]["name"] == "federateddeployments.types.kubefed.io"
    assert deployments["spec"]["names"]["shortNames"] == ["fdeploy"]
    assert spec_fields(deployments)["retainReplicas"] == {"type": "boolean"}
    assert "retainReplicas" not in spec_fields(configmaps)
    assert deployments["spec"]["versions"][0]["subresources"] == {"status": {}}


def test_every_definition_has_a_name_of_its_own_and_the_newest_form_comes_first():
    crds = kubefed_definitions()
    names = [crd["metadata"]["name"] for crd in crds]

    assert len(set(names)) == len(names)
    assert crds[0]["spec"]["group"] == FORM_D.group
    assert names.index("federateddeployments.types.kubefed.io") < names.index(
        "federateddeployments.core.federation.k8s.io"
    )
    for crd in crds:
        approved = crd["metadata"].get("annotations", {}).get("api-approved.kubernetes.io", "")
        assert approved.startswith("unapproved") == crd["spec"]["group"].endswith(".k8s.io")


def test_none_of_its_kinds_is_federated_itself_nor_goes_into_members():
    for crd in kubefed_definitions():
        assert crd["spec"]["group"] in GROUPS
        assert not is_federated(crd)
    [chosen] = federated_definitions(chosen_form("fed.example.com", "v1"), WIDGETS, None)
    assert not is_federated(chosen)
    assert why_never(template_resource(FORM_C, DEPLOYS))


def test_a_host_may_be_given_some_of_the_forms():
    groups = {crd["spec"]["group"] for crd in kubefed_definitions(forms=(FORM_D,))}

    assert groups == {"types.kubefed.io", "core.kubefed.io", "scheduling.kubefed.io", "multiclusterdns.kubefed.io"}


def test_the_largest_definition_stays_small():
    # A tenth of what an API server takes; descriptions alone would make it eight times as large.
    assert max(len(orjson.dumps(crd)) for crd in kubefed_definitions()) < 100_000


ODD = {
    "type": "object",
    "required": ["spec"],
    "x-kubernetes-validations": [{"rule": "self.spec.size > 0"}],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["mode", "crew"],
            "properties": {
                "mode": {"type": "string", "enum": ["fast", "safe"], "default": "safe"},
                "crew": {"type": "integer", "format": "int32", "minimum": 0},
                "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "members": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["id"],
                    "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
                },
                "either": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}


def test_a_template_is_as_strict_as_its_target_below_its_top():
    template = template_schema(schema_from_crd(ODD))
    spec = template["properties"]["spec"]
    declared = ODD["properties"]["spec"]["properties"]

    assert "required" not in template
    assert "x-kubernetes-validations" not in template
    assert spec["properties"]["crew"] == declared["crew"]
    assert spec["properties"]["port"] == declared["port"]
    assert spec["properties"]["free"] == declared["free"]
    assert spec["properties"]["members"] == declared["members"]
    assert spec["properties"]["either"] == declared["either"]


def test_a_template_gets_no_defaults_and_needs_nothing_that_had_one():
    spec = template_schema(schema_from_crd(ODD))["properties"]["spec"]

    assert spec["properties"]["mode"] == {"type": "string", "enum": ["fast", "safe"]}
    assert spec["required"] == ["crew"]


def test_a_template_of_a_kind_without_a_schema_may_hold_anything():
    assert template_schema(None) == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def test_a_schema_that_holds_itself_is_cut_where_it_repeats():
    template = template_schema(schema_for(CRDS.group, CRDS.version, CRDS.kind))
    version = template["properties"]["spec"]["properties"]["versions"]["items"]
    root = version["properties"]["schema"]["properties"]["openAPIV3Schema"]

    assert root["properties"]["not"] == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def test_a_custom_kind_has_the_schema_of_its_version():
    crd = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": ODD}}, {"name": "v2"}]}}

    assert schema_from_definition(crd, "v1").child("spec").required == ("mode", "crew")
    assert schema_from_definition(crd, "v3") is None


def test_an_aggregated_kind_has_the_schema_that_its_server_tells():
    document = {
        "components": {
            "schemas": {
                "com.example.v1.Widget": {
                    "type": "object",
                    "properties": {
                        "spec": {"allOf": [{"$ref": "#/components/schemas/com.example.v1.Spec"}], "default": {}},
                    },
                    "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Widget", "version": "v1"}],
                },
                "com.example.v1.Spec": {
                    "type": "object",
                    "properties": {
                        "replicas": {"type": "integer", "format": "int32"},
                        "port": {"$ref": "#/components/schemas/IntOrString"},
                        "children": {"type": "array", "items": {"$ref": "#/components/schemas/com.example.v1.Spec"}},
                    },
                },
                "IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
            }
        }
    }
    schema = schema_from_openapi(document, WIDGETS)
    spec = template_schema(schema)["properties"]["spec"]["properties"]

    assert spec["replicas"] == {"type": "integer", "format": "int32"}
    assert spec["port"] == {"format": "int-or-string", "x-kubernetes-int-or-string": True}
    assert spec["children"]["items"] == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert schema_from_openapi(document, DEPLOYMENTS) is None
    assert openapi_path(WIDGETS) == "/openapi/v3/apis/example.com/v1"
    assert openapi_path(CONFIGMAPS) == "/openapi/v3/api/v1"


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Deployment", "deployments"),
        ("Ingress", "ingresses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Box", "boxes"),
        ("Quiz", "quizes"),
        ("Hero", "heroes"),
        ("Switch", "switches"),
        ("Mesh", "meshes"),
    ],
)
def test_a_plural_is_guessed_as_kubefed_did(kind, plural):
    assert plural_of(kind) == plural


@pytest.mark.parametrize("target", DEFAULT_TARGETS, ids=lambda target: target.plural)
def test_a_type_config_says_what_it_was_made_for(target):
    manifest = type_config_manifest(target, FORM_D, "kube-federation-system")

    assert manifest["metadata"]["name"] == target.group_resource
    assert parse_type_config(manifest) == FederatedType(target, template_resource(FORM_D, target))
    assert parse_type_config(manifest).form == FORM_D


def test_what_a_type_config_leaves_out_follows_from_its_name_and_kinds():
    spec = {
        "targetType": {"version": "v1", "kind": "Widget", "scope": "Namespaced"},
        "federatedType": {"group": "types.kubefed.io", "version": "v1beta1", "kind": "FederatedWidget"},
        "propagation": "Disabled",
        "statusCollection": "Enabled",
    }
    parsed = parse_type_config({"metadata": {"name": "widgets.example.com"}, "spec": spec})

    assert parsed == FederatedType(WIDGETS, template_resource(FORM_D, WIDGETS), propagates=False, collects_status=True)


@pytest.mark.parametrize(
    ("spec", "federated"),
    [
        (
            {
                "target": {"version": "v1", "kind": "Namespace"},
                "namespaced": False,
                "template": {"version": "v1", "kind": "Namespace"},
            },
            NAMESPACES,
        ),
        (
            {
                "target": {"version": "v1", "kind": "ConfigMap"},
                "template": {"group": "core.federation.k8s.io", "version": "v1alpha1", "kind": "FederatedConfigMap"},
            },
            template_resource(FORM_A, CONFIGMAPS),
        ),
        (
            {
                "target": {"version": "v1", "kind": "ConfigMap"},
                "federatedType": {
                    "group": "types.federation.k8s.io",
                    "version": "v1alpha1",
                    "kind": "FederatedConfigMap",
                },
            },
            template_resource(FORM_C, CONFIGMAPS),
        ),
    ],
    ids=["A-namespaces", "A-configmaps", "C-configmaps"],
)
def test_the_type_configs_of_the_first_releases_are_read(spec, federated):
    plural = plural_of(spec["target"]["kind"])
    parsed = parse_type_config({"metadata": {"name": plural}, "spec": {**spec, "propagationEnabled": True}})

    assert parsed.federated == federated
    assert parsed.target.plural == plural
    assert parsed.propagates


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"scope": "Cluster"}, FederationSettings()),
        ({"scope": "Namespaced"}, FederationSettings(namespaced=True)),
        ({"syncController": {"adoptResources": "Disabled"}}, FederationSettings(adopts=False)),
        ({"sync-controller": {"skip-adopting-resources": True}}, FederationSettings(adopts=False)),
        (
            {"featureGates": [{"name": "RawResourceStatusCollection", "configuration": "Enabled"}]},
            FederationSettings(collects_status=True),
        ),
        ({"feature-gates": [{"name": "SchedulerPreferences", "enabled": False}]}, FederationSettings(schedules=False)),
    ],
)
def test_124_a_configuration_changes_what_it_names_and_nothing_else(spec, expected):
    assert parse_config({"spec": spec}) == expected


def test_each_form_has_the_kind_of_its_type_configs():
    assert type_config_resource(FORM_C) == type_config_resource(FORM_A)
    assert type_config_resource(FORM_D).api_version == "core.kubefed.io/v1beta1"
