"""What clusters get of rendered manifests, and which manifests cannot be rolled out."""

import copy
from typing import Any

import pytest

from hanse.rollouts.assembly import assemble
from hanse.rollouts.sources import SourceProblem

RELEASE: dict[str, Any] = {
    "apiVersion": "shipper.booking.com/v1alpha1",
    "kind": "Release",
    "metadata": {
        "name": "web-1a2b-0",
        "namespace": "shop",
        "uid": "release-uid",
        "labels": {"shipper-app": "web", "shipper-release": "web-1a2b-0", "shipper-release-hash": "1a2b", "team": "a"},
    },
    "spec": {"environment": {"chart": {"name": "nginx", "version": "0.0.1", "repoUrl": "https://charts.example"}}},
}
LABELS = {**RELEASE["metadata"]["labels"], "shipper-owned-by": "web-1a2b-0"}


def deployment(name="web-1a2b-0-nginx", **spec):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": "nginx"}},
        "spec": {
            "selector": {"matchLabels": {"app": "nginx"}},
            "template": {"metadata": {"labels": {"app": "nginx"}}, "spec": {"containers": []}},
            **spec,
        },
    }


def service(name="web", selector=None, **labels):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels},
        "spec": {"selector": {"app": "nginx"} if selector is None else selector, "ports": [{"port": 80}]},
    }


def plain(kind, name, api_version="v1", **metadata):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}


def hook(kind, name, events):
    return plain(kind, name, annotations={"helm.sh/hook": events})


def labelled(**labels):
    release = copy.deepcopy(RELEASE)
    release["metadata"]["labels"].update(labels)
    return release


def assembled(*manifests, release=RELEASE, renames=False):
    return assemble(manifests, release=release, renames=renames)


def problem_of(*manifests, release=RELEASE, renames=False):
    with pytest.raises(SourceProblem) as caught:
        assembled(*manifests, release=release, renames=renames)
    assert not caught.value.transient
    return caught.value.reason, str(caught.value)


def test_every_object_carries_the_labels_of_its_release():
    pieces = assembled(deployment(), service(), plain("ConfigMap", "settings", labels={"own": "kept"})).pieces
    assert [piece["metadata"]["labels"].items() >= LABELS.items() for piece in pieces] == [True] * 4
    assert pieces[-1]["metadata"]["labels"]["own"] == "kept"


def test_the_anchor_comes_first_and_names_the_release_by_uid():
    anchor = assembled(deployment(), service()).pieces[0]
    assert anchor == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "web-1a2b-0-anchor", "namespace": "shop", "labels": LABELS},
        "data": {"InstallationTargetUID": "release-uid"},
    }


@pytest.mark.parametrize(
    ("written", "replicas"), [({}, 1), ({"replicas": None}, 1), ({"replicas": 0}, 0), ({"replicas": 7}, 7)]
)
def test_the_deployment_rests_and_its_count_is_remembered(written, replicas):
    result = assembled(deployment(**written), service())
    assert (result.deployment["spec"]["replicas"], result.replicas) == (0, replicas)
    assert result.deployment in result.pieces


def test_the_deployment_selects_and_labels_its_own_pods_only():
    spec = assembled(deployment(), service()).deployment["spec"]
    assert spec["selector"]["matchLabels"] == {"app": "nginx", **LABELS}
    assert spec["template"]["metadata"]["labels"] == {"app": "nginx", **LABELS}


def test_a_deployment_without_selector_and_labels_gets_those_of_the_release():
    bare = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web-1a2b-0"}, "spec": {"template": {}}}
    spec = assembled(bare, service()).deployment["spec"]
    assert spec["selector"] == {"matchLabels": LABELS}
    assert spec["template"]["metadata"]["labels"] == LABELS


def test_the_only_service_leads_to_pods_of_every_release_that_have_traffic():
    result = assembled(deployment(), service())
    assert result.service["metadata"]["labels"]["shipper-lb"] == "production"
    assert result.service["spec"]["selector"] == {
        "app": "nginx",
        "shipper-app": "web",
        "shipper-traffic-status": "enabled",
    }
    assert result.service in result.pieces


def test_of_several_services_the_labelled_one_is_chosen_and_others_stay_as_they_are():
    other = service("metrics")
    result = assembled(deployment(), other, service("front", **{"shipper-lb": "production"}))
    assert result.service["metadata"]["name"] == "front"
    assert result.pieces[2]["spec"] == other["spec"]


def test_a_service_without_selector_gets_one():
    bare = plain("Service", "web")
    selector = assembled(deployment(), bare).service["spec"]["selector"]
    assert selector == {"shipper-app": "web", "shipper-traffic-status": "enabled"}


@pytest.mark.parametrize("label", ["release", "app.kubernetes.io/instance"])
def test_the_workaround_takes_the_release_out_of_the_service_selector(label):
    release = labelled(**{"enable-helm-release-workaround": "true"})
    result = assembled(deployment(), service(selector={"app": "nginx", label: "web-1a2b-0"}), release=release)
    assert set(result.service["spec"]["selector"]) == {"app", "shipper-app", "shipper-traffic-status"}


def test_the_workaround_leaves_the_release_of_something_else():
    release = labelled(**{"enable-helm-release-workaround": "true"})
    result = assembled(deployment(), service(selector={"release": "other"}), release=release)
    assert result.service["spec"]["selector"]["release"] == "other"


def test_the_workaround_label_does_not_matter_where_nothing_needs_it():
    release = labelled(**{"enable-helm-release-workaround": "yes"})
    assert assembled(deployment(), service(), release=release).replicas == 1


def test_plain_manifests_get_the_name_of_the_release_before_that_of_the_deployment():
    result = assembled(deployment("nginx"), service(), renames=True)
    assert result.deployment["metadata"]["name"] == "web-1a2b-0-nginx"


def test_what_has_no_namespace_gets_that_of_the_release_unless_its_kind_has_none():
    definition = {
        **plain("CustomResourceDefinition", "planets.example.dev", "apiextensions.k8s.io/v1"),
        "spec": {"group": "example.dev", "names": {"kind": "Planet"}, "scope": "Cluster"},
    }
    moons = {
        **plain("CustomResourceDefinition", "moons.example.dev", "apiextensions.k8s.io/v1"),
        "spec": {"group": "example.dev", "names": {"kind": "Moon"}, "scope": "Namespaced"},
    }
    pieces = assembled(
        deployment(),
        service(),
        plain("ConfigMap", "explicit", namespace="shop"),
        plain("Job", "migrate", "batch/v1"),
        plain("ClusterRole", "reader", "rbac.authorization.k8s.io/v1"),
        plain("ClusterRole", "writer", "rbac.authorization.k8s.io/v1", namespace="elsewhere"),
        plain("Namespace", "shop"),
        definition,
        moons,
        plain("Planet", "mars", "example.dev/v1"),
        plain("Moon", "phobos", "example.dev/v1"),
        plain("Certificate", "unknown", "cert.example/v1"),
    ).pieces
    assert {piece["metadata"]["name"]: piece["metadata"].get("namespace") for piece in pieces} == {
        "web-1a2b-0-anchor": "shop",
        "web-1a2b-0-nginx": "shop",
        "web": "shop",
        "explicit": "shop",
        "migrate": "shop",
        "reader": None,
        "writer": None,
        "shop": None,
        "planets.example.dev": None,
        "moons.example.dev": None,
        "mars": None,
        "phobos": "shop",
        "unknown": None,
    }


@pytest.mark.parametrize(
    ("events", "stays"),
    [
        ("pre-install", True),
        ("post-install,post-upgrade", True),
        ("pre-install, pre-delete", True),
        ("test", False),
        ("test-success", False),
        ("test-failure", False),
        ("pre-delete", False),
        ("post-delete,pre-rollback", False),
    ],
)
def test_hooks_of_an_installation_are_plain_objects_and_others_are_left_out(events, stays):
    pieces = assembled(deployment(), service(), hook("ConfigMap", "hooked", events)).pieces
    assert ("hooked" in [piece["metadata"]["name"] for piece in pieces]) is stays


def test_manifests_are_not_changed_by_assembling_them():
    given = [deployment(), service()]
    before = copy.deepcopy(given)
    assembled(*given)
    assert given == before


def test_the_digest_is_that_of_content_and_count():
    one = assembled(deployment(replicas=1), service())
    same = assembled(deployment(), service())
    more = assembled(deployment(replicas=2), service())
    assert one.digest == same.digest != more.digest


CHART = "chart nginx-0.0.1 should have exactly 1 Deployment object, but it has"
NAMELESS = "a manifest of kind Job has no metadata.name; every object of a release needs a fixed name"
TIED = (
    'The chart contains "release" label in Service object "web". This will break shipper traffic shifting logic. '
    'Consider adding the workaround label "enable-helm-release-workaround": true to your Application object'
)
UNNAMED = 'Deployment "nginx" has invalid name. The name of the Deployment should be templated with {{.Release.Name}}.'
ELSEWHERE = (
    'Secret "token" is written for namespace "other"; everything of an application is in its own namespace "shop"'
)
AUTOSCALER = {
    **plain("HorizontalPodAutoscaler", "web", "autoscaling/v2"),
    "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web-1a2b-0-nginx"}},
}
OLD = {**deployment(), "apiVersion": "extensions/v1beta1"}


@pytest.mark.parametrize(
    ("manifests", "reason", "message"),
    [
        ([service()], "WrongChartDeployments", f"{CHART} 0"),
        ([deployment(), deployment("web-1a2b-0-b"), service()], "WrongChartDeployments", f"{CHART} 2"),
        ([OLD, service()], "ChartError", "extensions/v1beta1; it must be apps/v1"),
        (
            [deployment(), service("a"), service("b")],
            "ChartError",
            'one and only one v1.Service object with label "shipper-lb" is required, but 0 found instead',
        ),
        ([deployment()], "ChartError", "is required, but 0 found instead"),
        (
            [deployment(), service("a", **{"shipper-lb": "production"}), service("b", **{"shipper-lb": "production"})],
            "ChartError",
            "is required, but 2 found instead",
        ),
        (
            [deployment("nginx"), service()],
            "ChartError",
            UNNAMED,
        ),
        (
            [deployment(), service(selector={"release": "web-1a2b-0"})],
            "ChartError",
            TIED,
        ),
        ([deployment(), service(selector={"release": "other"})], "ChartError", 'The chart contains "release" label'),
        (
            [deployment(), service(selector={"app.kubernetes.io/instance": "web-1a2b-0"})],
            "ChartError",
            'The chart contains "app.kubernetes.io/instance" label',
        ),
        (
            [deployment(), service(), plain("Secret", "token", namespace="other")],
            "ChartError",
            ELSEWHERE,
        ),
        ([deployment(), service(), AUTOSCALER], "ChartError", "whose replicas the rollout decides"),
        (
            [deployment(), service(), plain("Secret", "a"), plain("Secret", "a")],
            "ChartError",
            'Secret "a" is there twice',
        ),
        ([deployment(), service(), {"apiVersion": "batch/v1", "kind": "Job"}], "ChartError", NAMELESS),
        ([deployment(), service(), plain("Job", 12)], "ChartError", NAMELESS),
        ([deployment(), service(), plain("Pod", "a", labels=["x"])], "ChartError", "metadata.labels is not a mapping"),
        ([deployment(replicas="3"), service()], "ChartError", "spec.replicas is '3'; it must be a number of pods"),
        ([deployment(replicas=True), service()], "ChartError", "it must be a number of pods"),
        ([deployment(replicas=-1), service()], "ChartError", "it must be a number of pods"),
        ([deployment(selector=["app"]), service()], "ChartError", "selector is not a mapping"),
        ([deployment(), service(selector="app")], "ChartError", "selector is not a mapping"),
    ],
)
def test_what_cannot_be_rolled_out_is_refused_with_one_sentence(manifests, reason, message):
    got, said = problem_of(*manifests)
    assert (got, message in said) == (reason, True), said


def test_the_workaround_takes_only_true_and_false():
    release = labelled(**{"enable-helm-release-workaround": "yes"})
    reason, said = problem_of(deployment(), service(selector={"release": "web-1a2b-0"}), release=release)
    assert reason == "ChartError"
    assert said == 'Unexpected value for label "enable-helm-release-workaround": "yes". Expected values: true/false.'


def test_an_autoscaler_of_a_renamed_deployment_is_refused_too():
    autoscaler = copy.deepcopy(AUTOSCALER)
    autoscaler["spec"]["scaleTargetRef"]["name"] = "nginx"
    assert problem_of(deployment("nginx"), service(), autoscaler, renames=True)[0] == "ChartError"


def test_a_name_that_no_server_takes_is_refused():
    assert "must not have more than 253" in problem_of(deployment("n" * 250), service(), renames=True)[1]


def test_a_source_without_a_chart_is_not_called_one():
    release = copy.deepcopy(RELEASE)
    release["spec"]["environment"] = {"source": {"manifests": {"location": "configmap://web"}}}
    with pytest.raises(SourceProblem) as caught:
        assembled(service(), release=release, renames=True)
    assert str(caught.value) == "the application's source should have exactly 1 Deployment object, but it has 0"


@pytest.mark.parametrize(
    ("environment", "mends"),
    [
        ({"source": {"manifests": {"location": "configmap://web"}}}, True),
        ({"source": {"kustomization": {"location": "file:///web"}}}, True),
        ({"chart": {"name": "web", "version": "1.0.0", "repoUrl": "configmap://web"}}, True),
        ({"chart": {"name": "web", "version": "1.0.0", "repoUrl": "oci://charts.example"}}, False),
    ],
)
def test_what_may_be_mended_without_touching_the_application_is_tried_again(environment, mends):
    release = copy.deepcopy(RELEASE)
    release["spec"]["environment"] = environment
    with pytest.raises(SourceProblem) as caught:
        assembled(service(), release=release)
    assert caught.value.transient is mends
