"""Plain objects become intents: what the user wrote, less what the host's server added."""

import pytest

from hanse.native import NativeDoor
from hanse.native.kinds import is_federated
from hanse.native.preferences import parse_preferences
from hanse.native.template import template_of
from hanse.placement import Placement
from hanse.placement.planner import Preference, Preferences
from hanse.propagation.intent import Intent, Problem

DOOR = NativeDoor()
PREFERENCES = "federation.kubernetes.io/deployment-preferences"


def obj(kind="ConfigMap", name="x", namespace="default", api_version="v1", **rest):
    metadata = {"name": name, "uid": "u1", "resourceVersion": "5", **rest.pop("metadata", {})}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def deployment(**annotations):
    return obj(
        "Deployment",
        api_version="apps/v1",
        metadata={"annotations": annotations},
        spec={"replicas": 4},
        status={"x": 1},
    )


@pytest.mark.parametrize(
    ("made", "federated"),
    [
        (obj(), True),
        (obj(name="kube-root-ca.crt"), False),
        (obj(namespace="kube-system"), False),
        (obj(namespace="hanse-system"), False),
        # Shipper keeps the credentials of clusters there.
        (obj("Secret", namespace="shipper-system"), False),
        (obj("Namespace", name="rollout-blocks-global", namespace=""), False),
        (obj("Namespace", name="shop", namespace=""), True),
        (obj("Namespace", name="default", namespace=""), False),
        (obj("Namespace", name="kube-public", namespace=""), False),
        (obj("Namespace", name="hanse-system", namespace=""), False),
        (obj("Service", name="kubernetes"), False),
        (obj("Service", name="kubernetes", namespace="shop"), True),
        (obj("Secret", type="Opaque"), True),
        (obj("Secret", type="kubernetes.io/service-account-token"), False),
        (obj("Secret", type="bootstrap.kubernetes.io/token"), False),
        (
            obj(
                metadata={
                    "ownerReferences": [
                        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "controller": True}
                    ]
                }
            ),
            False,
        ),
        (
            obj(metadata={"ownerReferences": [{"apiVersion": "x/v1", "kind": "App", "name": "d", "controller": True}]}),
            True,
        ),
    ],
)
def test_what_must_stay_where_it_is_is_not_federated(made, federated):
    assert is_federated(made) == federated


def test_a_template_has_nothing_that_the_host_added():
    made = obj(
        metadata={
            "labels": {"app": "web"},
            "annotations": {
                "mine": "1",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "hanse.dev/status": "waiting",
            },
            "finalizers": ["hanse.dev/propagation"],
            "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [],
        },
        data={"a": "1", "b": None},
        status={},
    )

    assert template_of(made) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "namespace": "default", "labels": {"app": "web"}, "annotations": {"mine": "1"}},
        "data": {"a": "1"},
    }


def test_a_service_leaves_out_what_every_server_allocates_for_itself():
    spec = {
        "type": "LoadBalancer",
        "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"port": 80, "nodePort": 30000}],
    }

    made = template_of(obj("Service", spec=spec))

    assert made["spec"] == {"type": "LoadBalancer", "ports": [{"port": 80}]}


def test_a_headless_service_stays_headless():
    made = template_of(
        obj("Service", spec={"clusterIP": "None", "clusterIPs": ["None"], "ipFamilyPolicy": "PreferDualStack"})
    )

    assert made["spec"] == {"clusterIP": "None", "ipFamilyPolicy": "PreferDualStack"}


def test_a_namespace_is_its_name_and_labels():
    made = template_of(
        obj(
            "Namespace",
            name="shop",
            namespace="",
            metadata={"labels": {"team": "a", "kubernetes.io/metadata.name": "shop"}},
            spec={"finalizers": ["kubernetes"]},
        )
    )

    assert made == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "a"}}}


def test_a_deployment_is_divided_and_a_configmap_is_not():
    divided, copied = DOOR.translate(deployment()), DOOR.translate(obj())

    assert isinstance(divided, Intent)
    assert isinstance(copied, Intent)
    assert (divided.replicas, divided.placement, copied.replicas) == (4, Placement(), None)
    assert "status" not in divided.template


def test_preferences_are_read_whatever_the_case_of_their_fields():
    text = (
        '{"Rebalance": true, "clusters": {"a": {"MinReplicas": 1, "maxReplicas": 5, "weight": 2}, "*": {"weight": 1}}}'
    )

    assert parse_preferences(text) == Preferences({"a": Preference(2, 1, 5), "*": Preference(1)}, rebalance=True)


@pytest.mark.parametrize(
    ("annotations", "reason", "sentence"),
    [
        (
            {"federation.alpha.kubernetes.io/cluster-selector": "nonsense"},
            "InvalidClusterSelector",
            "annotation federation.alpha.kubernetes.io/cluster-selector: must be a JSON list of requirements",
        ),
        (
            {"federation.kubernetes.io/deployment-preferences": "["},
            "InvalidPreferences",
            "annotation federation.kubernetes.io/deployment-preferences: must be JSON",
        ),
        (
            {"federation.kubernetes.io/deployment-preferences": '{"clusters": {"a": {"weight": -1}}}'},
            "InvalidPreferences",
            f"annotation {PREFERENCES}: clusters[a].weight must not be negative, it is -1",
        ),
        (
            {"federation.kubernetes.io/deployment-preferences": '{"clusters": {"a": {"weight": "2"}}}'},
            "InvalidPreferences",
            f"annotation {PREFERENCES}: clusters[a].weight must be a whole number, not '2'",
        ),
    ],
)
def test_an_annotation_that_cannot_be_understood_is_a_problem_that_names_it(annotations, reason, sentence):
    assert DOOR.translate(deployment(**annotations)) == Problem(reason, sentence)


@pytest.mark.parametrize(
    "metadata",
    [{"annotations": {"hanse.dev/deletion": "orphan"}}, {"finalizers": ["orphan"]}],
    ids=["annotation", "policy"],
)
def test_orphaning_can_be_asked_for_in_two_ways(metadata):
    assert DOOR.translate(obj(metadata=metadata)).orphan


def test_a_refusal_is_told_once_and_where_people_look():
    problem = Problem("InvalidPreferences", "must be JSON")
    told = DOOR.refused(deployment(), problem, "2026-01-01T00:00:00Z")

    assert told["status"]["conditions"][0]["message"] == "must be JSON"
    assert DOOR.refused(told, problem, "2030-01-01T00:00:00Z") == told
    assert DOOR.refused(obj(), problem, "")["metadata"]["annotations"] == {"hanse.dev/status": "must be JSON"}
