"""An object's annotations count before its policy, part by part, and a policy before nothing."""

import pytest

from hanse.native.asking import Asked, asked_for
from hanse.placement import ClusterTerm, Failover, Group, Placement, Preference, Preferences, Spread, Toleration
from hanse.placement.cluster_selector import where
from hanse.placement.policy import Policies, read_policies
from hanse.propagation.intent import Problem

SELECTOR = "federation.alpha.kubernetes.io/cluster-selector"
PREFERENCES = "federation.kubernetes.io/deployment-preferences"
IN_EUROPE = '[{"key": "in", "operator": "=", "values": ["eu"]}]'


def deployment(**annotations):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
        "spec": {"template": {"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}},
    }


def policies(**spec):
    return read_policies(
        [
            {
                "kind": "PlacementPolicy",
                "metadata": {"name": "web", "namespace": "shop"},
                "spec": {"selects": [{"kind": "*"}], **spec},
            }
        ]
    )


POLICY = policies(
    clusters={"names": ["a"]},
    groups=[{"name": "home", "clusters": {}}],
    spread=[{"by": "zone"}],
    division={"type": "Duplicated"},
)


def test_without_annotations_and_policies_everything_is_the_default():
    assert asked_for(deployment(), Policies(), preferences=PREFERENCES) == Asked(Placement())


def test_a_policy_is_followed_as_a_whole():
    asked = asked_for(deployment(), POLICY, preferences=PREFERENCES)

    assert asked.placement.clusters == ClusterTerm(names=("a",))
    assert asked.placement.groups == (Group("home", ClusterTerm()),)
    assert asked.sources == ("PlacementPolicy shop/web selects it",)


def test_a_selector_annotation_replaces_clusters_and_groups_only():
    asked = asked_for(deployment(**{SELECTOR: IN_EUROPE}), POLICY, preferences=PREFERENCES)

    assert (asked.placement.clusters, asked.placement.groups) == (ClusterTerm(where("in=eu")), ())
    assert asked.placement.spread == (Spread("zone"),)
    assert asked.sources == (f"annotation {SELECTOR} chooses the clusters", "PlacementPolicy shop/web selects it")


def test_a_preferences_annotation_replaces_the_division_only():
    text = '{"clusters": {"*": {"weight": 1}}}'

    asked = asked_for(deployment(**{PREFERENCES: text}), POLICY, preferences=PREFERENCES)

    assert asked.placement.division == Preferences({"*": Preference(1)})
    assert asked.placement.clusters == ClusterTerm(names=("a",))


def test_a_singleton_is_never_started_twice():
    asked = asked_for(deployment(**{"hanse.dev/singleton": "true"}), Policies(), preferences=PREFERENCES)

    assert asked.placement.failover == Failover(None)


def test_room_is_looked_at_only_where_it_is_asked_for():
    requests = {"cpu": 1000, "pods": 1000}

    assert asked_for(deployment(), POLICY, preferences=PREFERENCES).placement.requests is None
    for spec in (
        {"respectCapacity": True},
        {"division": {"type": "FreeCapacity"}},
        {"division": {"type": "Aggregated"}},
    ):
        assert asked_for(deployment(), policies(**spec), preferences=PREFERENCES).placement.requests == requests


def test_what_runs_nothing_tolerates_everything():
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}

    assert asked_for(settings, Policies()).placement.tolerations == (Toleration(operator="Exists"),)


@pytest.mark.parametrize(
    ("annotations", "known", "problem"),
    [
        (
            {SELECTOR: "{"},
            POLICY,
            Problem("InvalidClusterSelector", f"annotation {SELECTOR}: must be a JSON list of requirements"),
        ),
        ({PREFERENCES: "{"}, POLICY, Problem("InvalidPreferences", f"annotation {PREFERENCES}: must be JSON")),
        (
            {},
            policies(spread=[{"by": 5}]),
            Problem("InvalidPolicy", "PlacementPolicy shop/web: spec.spread[0].by must be a text, not 5"),
        ),
    ],
    ids=["v1-18 selector", "preferences", "policy"],
)
def test_what_cannot_be_understood_is_a_problem_so_that_copies_stay(annotations, known, problem):
    assert asked_for(deployment(**annotations), known, preferences=PREFERENCES) == problem
