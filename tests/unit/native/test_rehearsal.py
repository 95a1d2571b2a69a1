"""Placement as a library: a policy is a function, and a test of it takes three lines."""

import pytest

import hanse

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 4}}
CLUSTERS = {"paris": {"region": "eu"}, "berlin": {"region": "eu"}, "boston": {"region": "us"}}


def europe_first(manifest):
    europe = hanse.Group("europe", hanse.ClusterTerm(hanse.where("region in (eu)")))
    return hanse.Placement(groups=(europe, hanse.Group("anywhere", hanse.ClusterTerm())))


def test_a_policy_is_a_function():
    decision = hanse.place(WEB, CLUSTERS, europe_first)

    assert decision.replicas == {"berlin": 2, "paris": 2}
    assert decision.of("boston").reasons[-1] == "it is not in group europe, which has the work"


def test_a_drill_is_the_same_function_on_a_smaller_world():
    federation = hanse.Federation(hanse.fleet(CLUSTERS)).without("paris", "berlin")

    assert federation.rehearse(WEB, europe_first).planned.decision.replicas == {"boston": 4}


def test_without_a_policy_everything_goes_everywhere():
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}

    assert hanse.place(settings, CLUSTERS).chosen() == ["berlin", "boston", "paris"]


def test_clusters_without_a_status_are_ready_and_others_are_what_they_say():
    offline = {"conditions": [{"type": "Offline", "status": "True"}]}
    objects = [
        {"kind": "Cluster", "metadata": {"name": "a"}},
        {"kind": "Cluster", "metadata": {"name": "b"}, "status": offline},
    ]

    assert hanse.place(WEB, hanse.fleet(objects)).replicas == {"a": 4}


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        ({**WEB, "kind": "Gadget"}, "Gadget default/web: it is of no kind that is federated"),
        ({**WEB, "metadata": {"name": "web", "namespace": "kube-system"}}, "belongs to the federation itself"),
        (
            {
                **WEB,
                "metadata": {"name": "web", "annotations": {"federation.alpha.kubernetes.io/cluster-selector": "{"}},
            },
            "must be a JSON list of requirements",
        ),
    ],
)
def test_what_cannot_be_placed_is_told(manifest, sentence):
    with pytest.raises(ValueError, match=sentence):
        hanse.place(manifest, CLUSTERS)


def test_a_name_that_does_not_exist_is_answered_with_those_that_do():
    with pytest.raises(AttributeError, match="hanse has no Placment; it has Aggregated"):
        hanse.Placment  # noqa: B018
    assert all(getattr(hanse, name) is not None for name in hanse.__all__)
