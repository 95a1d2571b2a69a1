"""What `federate`, `unfederate` and `enable` decide before they write anything."""

import pytest

from hanse.api.kubefed.forms import DEFAULT_TARGETS, FORM_A, FORM_C, FORM_D, chosen_form, template_resource
from hanse.api.kubefed.objects import read_split, read_whole
from hanse.api.kubefed.scheduling import ClusterPreference, SchedulingPreference
from hanse.api.kubefed.type_configs import FederatedType
from hanse.api.names import ADOPT_ANNOTATION, FEDERATE_ANNOTATION
from hanse.api.plain_kinds import JOBS
from hanse.cli.enabling import enabling_problem
from hanse.cli.federated_types import matching_kinds
from hanse.cli.federating import as_it_is, kinds_within, left_behind, template_from, why_left
from hanse.cli.unfederating import plain_of
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, Resource

KEY = Key("shop", "web")
VERBS = frozenset({"list", "create"})
WORKLOAD = {"metadata": {"labels": {"app": "web"}}, "spec": {"replicas": 3, "template": {"spec": {}}}}


def kind(plural, group="", name="", *, namespaced=True, short=(), verbs=VERBS, version="v1"):
    kind = name or plural.rstrip("s").capitalize()
    return Resource(group, version, plural, kind, namespaced, verbs=verbs, short_names=short, singular=kind.lower())


def enabled(target, form=FORM_D):
    return FederatedType(target, template_resource(form, target))


def whole(form=FORM_D, **spec):
    return read_whole({"metadata": KEY._asdict(), "spec": {"template": WORKLOAD, **spec}}, form)


SERVED = [
    kind("services", short=("svc",)),
    kind("services", "serving.example.com", short=("ksvc",)),
    kind("gateways", "one.example.com", short=("gw",)),
    kind("gateways", "two.example.com", short=("gw",)),
    kind("gateways", "two.example.com", short=("gw",), version="v1beta1"),
    kind("networkpolicies", "networking.k8s.io", "NetworkPolicy", short=("netpol",)),
]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("services", ["services"]),
        ("SVC", ["services"]),
        ("services.serving.example.com", ["services.serving.example.com"]),
        ("ksvc", ["services.serving.example.com"]),
        ("gw", ["gateways.one.example.com", "gateways.two.example.com"]),
        ("gateways.two", ["gateways.two.example.com"]),
        ("NetworkPolicy", ["networkpolicies.networking.k8s.io"]),
        ("nosuch", []),
    ],
)
def test_106_a_word_means_a_core_kind_first_and_otherwise_all_that_it_fits(word, found):
    assert [resource.group_resource for resource in matching_kinds(word, SERVED)] == found


@pytest.mark.parametrize(
    ("target", "form", "says"),
    [
        (DEPLOYMENTS, FORM_D, ""),
        (DEPLOYMENTS, chosen_form("other.example.com", "v1"), "are federated as federateddeployments.types.kubefed.io"),
        (kind("deployments", "extensions"), FORM_D, "are the same objects as deployments.apps"),
        (kind("ingresses", "extensions"), FORM_D, "are the same objects as ingresses.networking.k8s.io"),
        (kind("configmaps", "example.com"), FORM_D, "choose another group with --federated-group"),
        (kind("configmaps", "example.com"), chosen_form("other.example.com", "v1"), ""),
        (kind("widgets", "example.com"), FORM_D, ""),
    ],
    ids=["104 again", "another type", "105 extensions", "ingresses", "name taken", "another group", "new"],
)
def test_a_second_federated_type_is_refused_where_it_would_clash(target, form, says):
    problem = enabling_problem(target, template_resource(form, target), [enabled(one) for one in DEFAULT_TARGETS])

    assert says in problem
    assert bool(problem) == bool(says)


def test_114_the_contents_of_a_namespace_are_what_can_be_federated():
    resources = [
        kind("configmaps", short=("cm",)),
        kind("secrets"),
        kind("events", name="Event"),
        kind("pods", name="Pod"),
        kind("endpoints", name="Endpoints"),
        kind("namespaces", namespaced=False),
        kind("deployments", "apps"),
        kind("controllerrevisions", "apps"),
        kind("replicasets", "apps"),
        kind("ingresses", "extensions"),
        kind("widgets", "example.com"),
        kind("widgets", "example.com", version="v1beta1"),
        kind("localsubjectaccessreviews", "authorization.k8s.io", verbs=frozenset({"create"})),
        kind("federatedconfigmaps", "types.kubefed.io"),
        kind("propagatedversions", "core.kubefed.io"),
        kind("replicaschedulingpreferences", "scheduling.federation.k8s.io"),
    ]

    def within(*skip):
        return [resource.group_resource for resource in kinds_within(resources, skip)]

    everything = ["configmaps", "secrets", "deployments.apps", "replicasets.apps", "widgets.example.com"]
    assert within() == everything
    assert within("cm", " apps") == ["secrets", "widgets.example.com"]
    assert within("Secret", "deployments.apps") == ["configmaps", "replicasets.apps", "widgets.example.com"]


def plain(name, kind="ConfigMap", namespace="shop", **metadata):
    version = "apps/v1" if kind == "ReplicaSet" else "v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace, **metadata}}


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        (plain("settings"), ""),
        (
            plain("web-1", "ReplicaSet", ownerReferences=[{"kind": "Deployment", "name": "web", "controller": True}]),
            "Deployment web makes it in every cluster",
        ),
        (plain("part", ownerReferences=[{"kind": "Widget", "name": "w"}]), "belongs to another object"),
        (plain("system:role", "Role"), "no federated object can have its name"),
        (plain("kube-root-ca.crt"), "every cluster has its own"),
        (plain("default", "ServiceAccount"), "every cluster has its own"),
        (plain("kept", annotations={FEDERATE_ANNOTATION: "false"}), "marked to stay"),
    ],
    ids=lambda value: value["metadata"]["name"] if isinstance(value, dict) else "",
)
def test_what_clusters_make_themselves_is_left_out_of_a_federated_namespace(obj, says):
    assert says in why_left(obj)
    assert bool(why_left(obj)) == bool(says)


def test_112_templates_hold_no_tokens_and_no_finalizers_but_a_headless_service_stays_one():
    account = plain("robot", "ServiceAccount") | {"secrets": [{"name": "robot-token"}]}
    namespace = plain("shop", "Namespace") | {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    namespace["metadata"]["labels"] = {"kubernetes.io/metadata.name": "shop", "team": "blue"}
    headless = plain("db", "Service") | {"spec": {"clusterIP": "None", "clusterIPs": ["None"]}}

    assert template_from(account) == {}
    assert template_from(namespace) == {"metadata": {"labels": {"team": "blue"}}}
    assert template_from(headless) == {"spec": {"clusterIP": "None"}}


def test_annotations_that_people_wrote_are_missed_aloud():
    ours = {"hanse.dev/author": "eve", "kubectl.kubernetes.io/last-applied-configuration": "{}"}

    assert left_behind(plain("a", annotations=ours)) == ""
    assert "b, c stayed behind" in left_behind(plain("a", annotations={**ours, "c": "1", "b": "2"}))


def test_a_handed_over_object_leaves_every_cluster_what_it_has():
    template = {"spec": {"replicas": 9, "list": [{"image": "a"}], "gone": 1, "map": {"x/y": "1", "z": "2"}}}
    manifest = {"spec": {"template": template, "placement": {"clusterSelector": {}}}}
    same = {"spec": {**template["spec"], "more": 1}, "status": {}}
    other = {"spec": {"replicas": 4, "list": [{"image": "b", "pull": "Always"}], "map": {"x/y": "3", "z": "2"}}}

    made = as_it_is(manifest, {"b": other, "a": same, "c": None})["spec"]

    assert made["placement"] == {"clusters": [{"name": "a"}, {"name": "b"}]}
    assert made["overrides"] == [
        {
            "clusterName": "b",
            "clusterOverrides": [
                {"path": "/spec/list/0/image", "value": "b"},
                {"path": "/spec/map/x~1y", "value": "3"},
                {"path": "/spec/replicas", "value": 4},
            ],
        }
    ]
    assert as_it_is(manifest, {"a": same}) == manifest


def test_what_goes_everywhere_as_it_is_needs_no_policy():
    said = read_whole({"spec": {"template": {"data": {"a": "1"}}, "placement": {"clusterSelector": {}}}}, FORM_D)

    back = plain_of(KEY, CONFIGMAPS, said)

    assert back.policy is None
    assert back.obj == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "web", "namespace": "shop", "annotations": {ADOPT_ANNOTATION: "true"}},
        "data": {"a": "1"},
    }


def test_placement_and_overrides_become_a_policy_for_the_object_alone():
    overrides = [{"clusterName": "east", "clusterOverrides": [{"path": "spec.paused", "value": True}]}]
    said = whole(FORM_C, placement={"clusterNames": ["east", "west"]}, overrides=overrides)

    policy = plain_of(KEY, DEPLOYMENTS, said).policy

    assert policy["metadata"] == {"name": "deployment-web", "namespace": "shop"}
    assert policy["spec"] == {
        "selects": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
        "clusters": {"names": ["east", "west"]},
        "division": {"type": "Duplicated"},
        "overrides": [
            {"clusters": {"names": ["east"]}, "patches": [{"op": "add", "path": "/spec/paused", "value": True}]}
        ],
    }


def test_three_objects_become_one_with_a_policy():
    said = read_split(
        {"spec": {"template": WORKLOAD}},
        {"spec": {"clusterNames": ["cluster1", "cluster2"]}},
        {"spec": {"overrides": [{"clustername": "cluster2", "replicas": 10}]}},
        FORM_A,
        ("spec", "replicas"),
    )

    back = plain_of(KEY, DEPLOYMENTS, said)

    assert back.obj["spec"]["replicas"] == 13
    assert back.policy["spec"]["division"] == {
        "type": "Preferences",
        "clusters": {
            "cluster1": {"weight": 0, "minReplicas": 3, "maxReplicas": 3},
            "cluster2": {"weight": 0, "minReplicas": 10, "maxReplicas": 10},
        },
    }
    assert "overrides" not in back.policy["spec"]


def test_replicas_of_single_clusters_stay_theirs_where_a_selector_chooses():
    overrides = [{"clusterName": "west", "clusterOverrides": [{"path": "/spec/replicas", "value": 0}]}]
    said = whole(placement={"clusterSelector": {"matchLabels": {"a": "b"}}}, overrides=overrides)

    back = plain_of(KEY, DEPLOYMENTS, said, chosen=["west", "east"])

    assert back.obj["spec"]["replicas"] == 3
    assert {name: share["minReplicas"] for name, share in back.policy["spec"]["division"]["clusters"].items()} == {
        "east": 3,
        "west": 0,
    }
    assert back.policy["spec"]["clusters"] == {"selector": {"matchLabels": {"a": "b"}}}


def test_numbers_that_no_policy_can_give_to_single_clusters_are_said():
    overrides = [{"clusterName": "west", "clusterOverrides": [{"path": "/spec/parallelism", "value": 2}]}]
    said = whole(placement={"clusterSelector": {}}, overrides=overrides)

    assert "clusters differ in /spec/parallelism" in plain_of(KEY, JOBS, said)


def test_a_scheduling_preference_becomes_the_division_of_its_total():
    preference = SchedulingPreference(
        "FederatedDeployment", 9, {"A": ClusterPreference(1), "B": ClusterPreference(2, 1, 5)}, rebalance=True
    )

    back = plain_of(KEY, DEPLOYMENTS, whole(placement={"clusters": []}), preference)

    assert back.obj["spec"]["replicas"] == 9
    assert "clusters" not in back.policy["spec"]
    assert back.policy["spec"]["division"] == {
        "type": "Preferences",
        "clusters": {
            "A": {"weight": 1, "minReplicas": 0},
            "B": {"weight": 2, "minReplicas": 1, "maxReplicas": 5},
        },
        "rebalance": True,
    }


@pytest.mark.parametrize("placement", [{}, {"clusters": []}, {"clusters": [], "clusterSelector": {}}])
def test_what_was_in_no_cluster_stays_on_the_federation(placement):
    back = plain_of(KEY, DEPLOYMENTS, whole(placement=placement))

    assert back.obj["metadata"]["annotations"] == {FEDERATE_ANNOTATION: "false"}
    assert back.policy is None
    assert "chose no cluster" in back.notes[0]


def test_what_cannot_be_read_is_not_made_plain():
    twice = [{"clusterName": "east"}, {"clusterName": "east"}]

    assert "a second time" in plain_of(KEY, DEPLOYMENTS, whole(placement={"clusterSelector": {}}, overrides=twice))
    assert "spec.placement" in plain_of(KEY, NAMESPACES, whole(placement={"clusters": "all"}))
