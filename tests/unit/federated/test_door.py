"""Federated objects of every form become intents, and those what clusters get; numbers are KubeFed's checklist."""

import pytest

from hanse.api.clusters import Cluster
from hanse.api.kubefed.config import CONFIGS
from hanse.api.kubefed.forms import FORM_A, FORM_B, FORM_C, FORM_D, FORM_D0
from hanse.api.kubefed.preferences import PREFERENCES
from hanse.api.kubefed.type_configs import TYPE_CONFIGS
from hanse.federated.door import FederatedDoor
from hanse.kube.cache import Change
from hanse.kube.manifest import Key, dig, key_of
from hanse.kube.packing import pack
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, REPLICASETS, Resource
from hanse.placement.planner import Preference, Preferences
from hanse.propagation.comparison import Present
from hanse.propagation.door import Affected, Farewell
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.planning import Observation, plan
from hanse.propagation.removal import Removal
from tests.unit.federated.cases import DEPLOYMENT, federated, in_clusters, override, part, preference

NGINX_SET = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "nginx-deployment", "labels": {"app": "nginx"}},
    "spec": {"replicas": 5, "template": {"spec": {"containers": [{"name": "nginx", "image": "nginx:1.7.9"}]}}},
}
FRONTEND = {"form": FORM_A, "name": "frontend", "namespace": "default"}
SEED_2 = federated("ReplicaSet", template=NGINX_SET, **FRONTEND)
SEED_2_PLACEMENT = part("ReplicaSet", "Placement", {"clusterNames": ["cluster1", "cluster2"]}, **FRONTEND)
SEED_2_OVERRIDE = part(
    "ReplicaSet", "Override", {"overrides": [{"clusterName": "cluster2", "replicas": 10}]}, **FRONTEND
)


def resource_of(obj):
    group, _, version = obj["apiVersion"].rpartition("/")
    namespaced = "namespace" in obj["metadata"]
    return Resource(group, version, f"{obj['kind'].lower()}s", obj["kind"], namespaced=namespaced)


def knowing(*inputs):
    found = {}
    for obj in inputs:
        found.setdefault(resource_of(obj), {})[key_of(obj)] = obj
    return FederatedDoor().informed(found)


def fleet(*names, labels=None):
    return [Cluster(name, labels=(labels or {}).get(name, {}), ready=True) for name in names]


def copies(source, *inputs, clusters=("cluster1", "cluster2"), labels=None):
    """What each cluster gets of an object that no cluster has yet."""
    intent = knowing(*inputs).translate(source)
    assert isinstance(intent, Intent), intent
    planned = plan(intent, fleet(*clusters, labels=labels), {name: Observation(seen=True) for name in clusters})
    return {name: wish.manifest for name, wish in planned.wanted.items() if isinstance(wish, Present)}


def replicas(*args, **more):
    return {name: dig(obj, "spec", "replicas") for name, obj in copies(*args, **more).items()}


def namespace_object(name, placement, form=FORM_D):
    return federated("Namespace", template={}, form=form, name=name, namespace=name, placement=placement)


def config(**spec):
    metadata = {"name": "kubefed", "namespace": "kube-federation-system"}
    return {"apiVersion": CONFIGS.api_version, "kind": CONFIGS.kind, "metadata": metadata, "spec": spec}


def type_config(name, target, federated_kind, **spec):
    metadata = {"name": name, "namespace": "kube-federation-system"}
    return {
        "apiVersion": TYPE_CONFIGS.api_version,
        "kind": TYPE_CONFIGS.kind,
        "metadata": metadata,
        "spec": {"targetType": target, "federatedType": federated_kind, "propagation": "Enabled", **spec},
    }


def test_three_objects_give_five_replicas_and_ten():
    """Lines 1, 2, 3 and 6."""
    made = copies(SEED_2, SEED_2_PLACEMENT, SEED_2_OVERRIDE, clusters=("cluster1", "cluster2", "cluster3"))
    assert {name: obj["spec"]["replicas"] for name, obj in made.items()} == {"cluster1": 5, "cluster2": 10}
    for obj in made.values():
        assert (obj["kind"], obj["apiVersion"]) == ("ReplicaSet", "apps/v1")
        assert (obj["metadata"]["name"], obj["metadata"]["namespace"]) == ("frontend", "default")
        assert obj["metadata"]["labels"]["app"] == "nginx"
        assert obj["spec"]["template"] == NGINX_SET["spec"]["template"]


def test_each_of_the_three_objects_says_its_part():
    """Lines 4, 5 and 7."""
    assert replicas(SEED_2, SEED_2_OVERRIDE) == {}
    assert replicas(SEED_2, SEED_2_PLACEMENT) == {"cluster1": 5, "cluster2": 5}
    other = {**SEED_2_OVERRIDE, "spec": {"overrides": [{"clusterName": "cluster1", "replicas": 7}]}}
    assert replicas(SEED_2, SEED_2_PLACEMENT, other) == {"cluster1": 7, "cluster2": 5}


def test_the_same_in_the_last_form_gives_the_same_with_the_managed_label():
    """Line 8."""
    source = federated(
        "ReplicaSet",
        template=NGINX_SET,
        name="frontend",
        namespace="default",
        placement=in_clusters("cluster1", "cluster2"),
        overrides=[override("cluster2", {"path": "/spec/replicas", "value": 10})],
    )
    limits = namespace_object("default", in_clusters("cluster1", "cluster2"))
    made = copies(source, config(scope="Cluster"), limits)
    assert {name: obj["spec"]["replicas"] for name, obj in made.items()} == {"cluster1": 5, "cluster2": 10}
    assert made["cluster1"]["metadata"]["labels"]["kubefed.io/managed"] == "true"
    old = copies(SEED_2, SEED_2_PLACEMENT)["cluster1"]
    assert old["spec"] == made["cluster1"]["spec"]


@pytest.mark.parametrize("names", [["cluster2", "cluster1"], ["cluster1", "cluster2"]])
def test_one_object_of_the_third_form_gives_three_replicas_and_five(names):
    """Lines 9 and 10."""
    source = federated(
        form=FORM_C,
        placement={"clusterNames": names},
        overrides=[override("cluster2", {"path": "spec.replicas", "value": 5})],
    )
    assert replicas(source) == {"cluster1": 3, "cluster2": 5}


@pytest.mark.parametrize("form", [FORM_B, FORM_C, FORM_D0, FORM_D], ids=lambda form: form.name)
def test_every_form_of_one_wish_gives_the_same_replicas(form):
    path = "/spec/replicas" if form == FORM_D else "spec.replicas"
    overrides = [override("cluster2", {"path": path, "value": 5})]
    names = ["cluster1", "cluster2"]
    placement = {"clusterNames": names} if form.clusters_field == "clusterNames" else in_clusters(*names)
    if not form.three_objects:
        assert replicas(federated(form=form, placement=placement, overrides=overrides)) == {
            "cluster1": 3,
            "cluster2": 5,
        }
        return
    inputs = (
        part("Deployment", "Placement", placement, form=form),
        part("Deployment", "Override", {"overrides": overrides}, form=form),
    )
    assert replicas(federated(form=form), *inputs) == {"cluster1": 3, "cluster2": 5}


def test_a_namespace_that_is_not_federated_keeps_everything_out_where_the_scope_is_the_cluster():
    """Lines 12 and 26, and a configuration that nobody wrote."""
    source = federated(placement=in_clusters("cluster1"))
    assert replicas(source, config(scope="Cluster")) == {}
    assert knowing(config(scope="Cluster")).translate(source).nowhere is True
    assert replicas(source, config(scope="Namespaced")) == {"cluster1": 3}
    assert replicas(source) == {"cluster1": 3}


@pytest.mark.parametrize("settings", [(), (config(scope="Cluster"),), (config(scope="Namespaced"),)])
def test_a_federated_namespace_limits_what_is_in_it_and_nothing_else(settings):
    """Lines 25, 27 and 30."""
    source = federated(placement=in_clusters("cluster1", "cluster2"))
    limits = namespace_object("shop", in_clusters("cluster2", "cluster3"))
    assert replicas(source, limits, *settings) == {"cluster2": 3}
    assert replicas(source, namespace_object("shop", {"clusters": []}), *settings) == {}
    elsewhere = namespace_object("other", {"clusters": []})
    assert bool(replicas(source, elsewhere, *settings)) == (config(scope="Cluster") not in settings)


def test_a_federated_namespace_that_is_going_holds_nothing_in_the_clusters():
    """Line 74: what is in it goes first."""
    limits = namespace_object("shop", in_clusters("cluster1"))
    limits["metadata"]["deletionTimestamp"] = "2026-11-16T10:00:00Z"
    source = federated(placement=in_clusters("cluster1"))
    assert knowing(limits, config(scope="Cluster")).translate(source).nowhere
    assert replicas(source, limits) == {"cluster1": 3}


def test_cluster_scoped_objects_are_limited_by_no_namespace():
    role = federated("ClusterRole", template={"rules": []}, namespace="shop", placement=in_clusters("cluster1"))
    del role["metadata"]["namespace"]
    made = copies(role, config(scope="Cluster"))
    assert list(made) == ["cluster1"]
    assert "namespace" not in made["cluster1"]["metadata"]


def test_a_federated_namespace_is_the_members_namespace():
    source = federated(
        "Namespace",
        template={"metadata": {"labels": {"team": "x"}}},
        name="shop",
        placement=in_clusters("cluster1"),
    )
    made = copies(source)["cluster1"]
    assert (made["kind"], made["metadata"]["name"]) == ("Namespace", "shop")
    assert made["metadata"]["labels"] == {"team": "x", "kubefed.io/managed": "true", "hanse.dev/managed": "true"}
    door = FederatedDoor()
    kind = resource_of(source)
    assert door.target(Ref(kind, Key("shop", "shop"))) == Ref(NAMESPACES, Key("", "shop"))
    assert door.supersedes(source)
    assert not door.supersedes(federated())


def test_in_the_first_form_the_hosts_own_namespace_is_the_template():
    host = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "x"}}}
    source = part("Namespace", "Placement", {"clusterNames": ["cluster1"]}, name="shop")
    made = copies(source, host)
    assert list(made) == ["cluster1"]
    assert made["cluster1"]["metadata"]["labels"]["team"] == "x"


def test_a_federated_namespace_of_another_name_is_refused():
    """Line 28."""
    problem = FederatedDoor().translate(namespace_object("a", {}) | {"metadata": {"name": "b", "namespace": "a"}})
    assert isinstance(problem, Problem)
    assert problem.reason == "InvalidName"
    assert "must be a" in problem.message


@pytest.mark.parametrize(
    ("source", "admitted"),
    [
        pytest.param(namespace_object("kube-system", {}), False, id="29"),
        (namespace_object("default", {}), False),
        (namespace_object("hanse-system", {}), False),
        (namespace_object("kube-federation-system", {}), False),
        (namespace_object("shop", {}), True),
        (federated(namespace="default"), True),
    ],
)
def test_namespaces_that_every_cluster_has_are_not_federated(source, admitted):
    assert FederatedDoor().admits(source) == admitted


def test_a_type_that_is_switched_off_leaves_everything_as_it_is():
    """Line 109."""
    target = {
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "pluralName": "deployments",
        "scope": "Namespaced",
    }
    kind = {"group": "types.kubefed.io", "version": "v1beta1", "kind": "FederatedDeployment"}
    off = knowing(type_config("deployments.apps", target, kind, propagation="Disabled"))
    assert not off.admits(federated())
    assert not off.lets_go(federated())
    assert knowing(type_config("deployments.apps", target, kind)).admits(federated())
    assert off.admits(federated("ConfigMap", template={}))


WIDGETS = type_config(
    "widgets.example.com",
    {"group": "example.com", "version": "v1", "kind": "Widget", "pluralName": "widgets", "scope": "Namespaced"},
    {"group": "types.example.com", "version": "v1", "kind": "FederatedWidget", "pluralName": "federatedwidgets"},
)


def widget():
    source = federated("Widget", template={"spec": {"size": 3}}, placement=in_clusters("cluster1"))
    return source | {"apiVersion": "types.example.com/v1"}


def test_a_type_whose_config_goes_is_let_go_unless_it_needs_none():
    going = {**WIDGETS, "metadata": {**WIDGETS["metadata"], "deletionTimestamp": "2026-11-16T10:00:00Z"}}
    door = knowing(going)
    assert door.lets_go(widget())
    assert not door.admits(widget())
    target = {
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "pluralName": "deployments",
        "scope": "Namespaced",
    }
    kind = {"group": "types.kubefed.io", "version": "v1beta1", "kind": "FederatedDeployment"}
    config_of = type_config("deployments.apps", target, kind, propagation="Disabled")
    config_of["metadata"]["deletionTimestamp"] = "2026-11-16T10:00:00Z"
    assert knowing(config_of).admits(federated())


def test_a_config_that_says_nothing_hurts_nobody():
    empty = {key: value for key, value in WIDGETS.items() if key != "spec"}
    assert knowing(empty).resources == FederatedDoor().resources


def test_a_kind_that_nobody_knew_is_federated_by_its_type_config():
    door, source = knowing(WIDGETS), widget()
    intent = door.translate(source)
    assert intent.template["apiVersion"] == "example.com/v1"
    assert intent.template["spec"] == {"size": 3}
    assert resource_of(source) in door.resources


@pytest.mark.parametrize(
    ("settings", "adopts"),
    [
        pytest.param((), True, id="63 by default"),
        pytest.param((config(scope="Cluster"),), True, id="63"),
        pytest.param((config(scope="Cluster", syncController={"adoptResources": "Disabled"}),), False, id="64"),
    ],
)
def test_objects_that_are_there_already_are_taken_over_unless_that_is_switched_off(settings, adopts):
    assert knowing(*settings).translate(federated()).adopt == adopts


def test_replicas_that_members_scale_are_kept_where_that_is_asked_for():
    """Lines 54 and 55."""
    source = federated(
        placement=in_clusters("cluster1", "cluster2"),
        retainReplicas=True,
        overrides=[override("cluster2", {"path": "/spec/replicas", "value": 4})],
    )
    intent = FederatedDoor().translate(source)
    assert intent.retain == (("spec", "replicas"),)
    wanted = plan(intent, fleet("cluster1", "cluster2"), {}).wanted
    assert {name: wish.retain for name, wish in wanted.items()} == {"cluster1": intent.retain, "cluster2": ()}


def test_warnings_tell_what_of_a_template_does_not_travel():
    """Line 50."""
    written = {**DEPLOYMENT, "metadata": {"annotations": {"a": "b"}}}
    assert [each.reason for each in FederatedDoor().translate(federated(template=written)).warnings] == [
        "AnnotationsNotSupported"
    ]


def test_one_bad_override_spoils_all_and_one_that_does_not_fit_only_its_own():
    """Lines 37 and 41."""
    everywhere = in_clusters("cluster1", "cluster2")
    named = [override("cluster2", {"path": "/metadata/name", "value": "x"})]
    unfit = [override("cluster2", {"path": "/spec/nosuch/deep", "value": 1})]
    assert replicas(federated(placement=everywhere, overrides=named)) == {}
    assert replicas(federated(placement=everywhere, overrides=unfit)) == {"cluster1": 3}


def test_the_texts_of_a_secret_are_rendered_as_clusters_keep_them():
    written = {"data": {"a": "AAAA"}, "stringData": {"a": "x", "b": "y"}}
    source = federated(
        "Secret",
        template=written,
        placement=in_clusters("cluster1", "cluster2"),
        overrides=[override("cluster2", {"path": "/stringData/b", "value": "z"})],
    )
    made = copies(source)
    assert {name: obj["data"] for name, obj in made.items()} == {
        "cluster1": {"a": "eA==", "b": "eQ=="},
        "cluster2": {"a": "eA==", "b": "eg=="},
    }
    assert not any("stringData" in obj for obj in made.values())


def test_overrides_of_clusters_that_are_not_selected_say_nothing():
    """Line 46."""
    overrides = [override("cluster2", {"path": "/spec/replicas", "value": 9}), override("ghost", {"path": "/x/y"})]
    source = federated(placement=in_clusters("cluster1"), overrides=overrides)
    planned = plan(FederatedDoor().translate(source), fleet("cluster1", "cluster2"), {})
    assert planned.spoiled == {}
    assert replicas(source) == {"cluster1": 3}


def test_the_order_of_clusters_changes_nothing():
    """Lines 10 and 101."""
    one, other = (
        copies(federated(placement=in_clusters(*names)))
        for names in (("cluster1", "cluster2"), ("cluster2", "cluster1"))
    )
    assert one == other
    clusters = {"A": {"weight": 1}, "B": {"weight": 2}}
    turned = dict(reversed(clusters.items()))
    intents = [knowing(preference(9, each)).translate(federated()) for each in (clusters, turned)]
    assert intents[0] == intents[1]


AB = {"A": {"weight": 1}, "B": {"weight": 2}}


def scheduled(source, *inputs, clusters=("A", "B"), labels=None):
    return replicas(source, *inputs, clusters=clusters, labels=labels)


def test_a_preference_divides_nine_replicas_by_weight():
    """Lines 13, 14 and 16: what the object itself says of clusters and replicas does not count."""
    source = federated(name="test-deployment", namespace="test-ns", placement={"clusters": []})
    rsp = preference(9, AB, name="test-deployment", namespace="test-ns")
    assert scheduled(source, rsp) == {"A": 3, "B": 6}
    assert scheduled(source, rsp, clusters=("A", "B", "C")) == {"A": 3, "B": 6, "C": 0}
    assert scheduled(source, rsp, clusters=("B",)) == {"B": 9}


def test_a_preference_of_another_namespace_or_kind_says_nothing():
    """Lines 15 and 96."""
    source = federated(placement=in_clusters("A"))
    assert scheduled(source, preference(9, AB, namespace="other")) == {"A": 3}
    assert scheduled(source, preference(9, AB, kind="FederatedReplicaSet")) == {"A": 3}
    assert scheduled(source, preference(9, AB, kind="Deployment")) == {"A": 3}


@pytest.mark.parametrize("group", [each.group for each in PREFERENCES])
def test_preferences_of_every_group_count_and_the_forms_own_first(group):
    source = federated(form=FORM_C, placement={"clusterNames": ["A"]})
    assert scheduled(source, preference(9, AB) | {"apiVersion": f"{group}/v1alpha1"}) == {"A": 3, "B": 6}
    own = preference(3, AB) | {"apiVersion": "scheduling.federation.k8s.io/v1alpha1"}
    other = preference(9, AB) | {"apiVersion": "scheduling.kubefed.io/v1alpha1"}
    assert scheduled(source, own, other) == {"A": 1, "B": 2}


@pytest.mark.parametrize(
    ("rsp", "clusters", "found"),
    [
        pytest.param(preference(4), ("A", "B"), {"A": 2, "B": 2}, id="86"),
        pytest.param(preference(6, {"A": {"weight": 2}, "B": {"weight": 1}}), ("A", "B"), {"A": 4, "B": 2}, id="87"),
        pytest.param(
            preference(6, {"A": {"weight": 2, "minReplicas": 3}, "B": {"weight": 1, "minReplicas": 3}}),
            ("A", "B"),
            {"A": 3, "B": 3},
            id="88",
        ),
        pytest.param(
            preference(50, {"*": {"weight": 1, "maxReplicas": 2}}), ("A", "B", "C"), {"A": 2, "B": 2, "C": 2}, id="92"
        ),
        pytest.param(
            preference(
                71,
                {
                    "A": {"weight": 10000, "maxReplicas": 10},
                    "B": {"weight": 1},
                    "C": {"weight": 1, "maxReplicas": 21},
                    "D": {"weight": 1, "maxReplicas": 10},
                },
            ),
            ("A", "B", "C", "D"),
            {"A": 10, "B": 30, "C": 21, "D": 10},
            id="93",
        ),
        pytest.param(
            preference(10, {"A": {"weight": 1, "minReplicas": 5, "maxReplicas": 3}}), ("A",), {"A": 3}, id="98 weight 1"
        ),
        pytest.param(preference(10, {"A": {"minReplicas": 5, "maxReplicas": 3}}), ("A",), {"A": 5}, id="98 weight 0"),
    ],
)
def test_preferences_divide_as_kubefeds_planner_did(rsp, clusters, found):
    assert scheduled(federated(), rsp, clusters=clusters) == found


LABELS = {"A": {"tier": "prod"}, "B": {"tier": "dev"}}


def test_a_preference_may_keep_to_what_selectors_choose():
    """Line 89."""
    both = {"A": {"weight": 2, "minReplicas": 3}, "B": {"weight": 1, "minReplicas": 3}}
    rsp = preference(6, both, intersectWithClusterSelector=True)
    source = federated(placement={"clusterSelector": {"matchLabels": {"tier": "prod"}}})
    assert scheduled(source, rsp, labels=LABELS) == {"A": 6}
    assert scheduled(federated(placement=in_clusters("A", "B")), rsp, labels=LABELS) == {}
    within = namespace_object("shop", {"clusterSelector": {}})
    assert scheduled(source, rsp, within, config(scope="Cluster"), labels=LABELS) == {"A": 6}


def test_a_preference_gives_nothing_to_clusters_that_its_namespace_is_not_in():
    """Mended: KubeFed planned for them too, and those replicas ran nowhere."""
    assert scheduled(federated(), preference(9, AB), namespace_object("shop", in_clusters("A"))) == {"A": 9}


def test_without_a_candidate_a_preference_leaves_everything_as_it_is():
    rsp = preference(6, AB, intersectWithClusterSelector=True)
    intent = knowing(rsp).translate(federated(placement={"clusterSelector": {"matchLabels": {"no": "such"}}}))
    assert intent.nowhere is False


def test_other_overrides_stay_beside_a_preference():
    """Lines 55 and 99."""
    overrides = [
        override("A", {"path": "/spec/replicas", "value": 1}, {"op": "add", "path": "/spec/answer", "value": 42})
    ]
    made = copies(federated(overrides=overrides, retainReplicas=True), preference(9, AB), clusters=("A", "B"))
    assert made["A"]["spec"]["answer"] == 42
    assert {name: obj["spec"]["replicas"] for name, obj in made.items()} == {"A": 3, "B": 6}


def test_without_its_preference_an_object_is_what_it_says_itself():
    """Line 100, as decided: nothing was written into the object."""
    source = federated(placement=in_clusters("A"))
    assert scheduled(source, preference(9, AB)) == {"A": 3, "B": 6}
    assert scheduled(source) == {"A": 3}


def test_a_preference_that_makes_no_sense_moves_nothing_and_is_named():
    """Line 97."""
    problem = knowing(preference(-1, AB)).translate(federated())
    assert isinstance(problem, Problem)
    assert problem.reason == "InvalidPreference"
    assert problem.message.startswith("ReplicaSchedulingPreference shop/web: spec.totalReplicas must be")


def test_preferences_become_the_planners():
    rsp = preference(9, {"A": {"weight": 1, "minReplicas": 2, "maxReplicas": 5}}, rebalance=True)
    intent = knowing(rsp).translate(federated())
    assert intent.replicas == 9
    assert intent.placement.division == Preferences({"A": Preference(1, 2, 5)}, rebalance=True)


def test_preferences_count_for_nothing_where_they_are_switched_off():
    gates = [{"name": "SchedulerPreferences", "configuration": "Disabled"}]
    off = config(scope="Namespaced", featureGates=gates)
    assert scheduled(federated(placement=in_clusters("A")), preference(9, AB), off) == {"A": 3}


def changing(key, old=None, new=None):
    return Change(key, None if old is None else pack(old), None if new is None else pack(new))


def test_an_input_speaks_of_the_objects_of_its_name():
    door, key = FederatedDoor(), Key("shop", "web")
    own = Affected((Ref(resource_of(SEED_2), key),))
    assert door.affected(resource_of(SEED_2_PLACEMENT), changing(key)) == own
    assert door.affected(resource_of(SEED_2_OVERRIDE), changing(key)) == own
    kinds = {(ref.resource.kind, ref.key) for ref in door.affected(PREFERENCES[0], changing(key)).refs}
    assert kinds == {("FederatedDeployment", key), ("FederatedReplicaSet", key)}
    hosts = door.affected(NAMESPACES, changing(Key("", "shop"))).refs
    assert {(ref.resource.kind, ref.key) for ref in hosts} == {("FederatedNamespacePlacement", Key("shop", "shop"))}
    assert door.affected(CONFIGS, changing(Key("kube-federation-system", "kubefed"))).everything


def test_a_federated_namespace_speaks_of_what_is_in_it_when_its_clusters_change():
    here, there = namespace_object("shop", in_clusters("A")), namespace_object("shop", in_clusters("B"))
    kind, key = resource_of(here), Key("shop", "shop")
    told = {**here, "status": {"conditions": []}}
    affected = {
        "made": changing(key, None, here),
        "told": changing(key, here, told),
        "moved": changing(key, here, there),
        "gone": changing(key, here, None),
    }
    inside = Affected((), "shop")
    assert {name: FederatedDoor().affected(kind, each) for name, each in affected.items()} == {
        "made": inside,
        "told": Affected(),
        "moved": inside,
        "gone": inside,
    }


def annotated(**annotations):
    source = federated()
    source["metadata"]["annotations"] = {name.replace("_", "/"): text for name, text in annotations.items()}
    return source


@pytest.mark.parametrize(
    ("source", "farewell"),
    [
        (federated(), Farewell()),
        pytest.param(annotated(**{"kubefed.io_orphan": "true"}), Farewell(orphan=True), id="69"),
        pytest.param(annotated(**{"kubefed.io_orphan": "True"}), Farewell(), id="69 nothing but true"),
        (annotated(**{"hanse.dev_deletion": "orphan"}), Farewell(orphan=True)),
        pytest.param(
            annotated(**{"kubefed.io_deleteoption": '{"propagationPolicy":"Orphan"}'}),
            Farewell(removal=Removal("Orphan")),
            id="70",
        ),
        (
            annotated(**{"kubefed.io_deleteoption": '{"gracePeriodSeconds":5,"kind":"DeleteOptions"}'}),
            Farewell(removal=Removal(grace_seconds=5)),
        ),
    ],
)
def test_annotations_say_what_becomes_of_the_copies(source, farewell):
    assert FederatedDoor().farewell(source) == farewell


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="71"),
        "[]",
        '{"propagationPolicy":"Gone"}',
        '{"gracePeriodSeconds":"5"}',
        '{"gracePeriodSeconds":-1}',
    ],
)
def test_options_that_cannot_be_read_keep_an_object(text):
    """Line 71."""
    problem = FederatedDoor().farewell(annotated(**{"kubefed.io_deleteoption": text}))
    assert isinstance(problem, Problem)
    assert "annotation kubefed.io/deleteoption must" in problem.message


def test_an_object_may_be_let_go():
    source = annotated(**{"hanse.dev_federate": "false"})
    assert FederatedDoor().lets_go(source)
    assert not FederatedDoor().admits(source)


def test_every_default_kind_is_served_in_every_form_that_had_it():
    groups = {}
    for resource in FederatedDoor().resources:
        groups.setdefault(resource.group, set()).add(resource.kind)
    last = groups["types.kubefed.io"]
    assert last == groups["types.kubefed.k8s.io"] == groups["types.federation.k8s.io"]
    assert {"FederatedNamespace", "FederatedClusterRole", "FederatedIngress", "FederatedJob"} <= last
    assert groups["core.federation.k8s.io"] == (last - {"FederatedClusterRole", "FederatedNamespace"}) | {
        "FederatedNamespacePlacement"
    }
    targets = {FederatedDoor().target(Ref(kind, Key("a", "b"))).resource for kind in FederatedDoor().resources}
    assert {DEPLOYMENTS, REPLICASETS, CONFIGMAPS, NAMESPACES} <= targets
