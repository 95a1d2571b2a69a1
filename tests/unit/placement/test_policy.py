"""Policies are read with every fault named, and of several exactly one counts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.api.policies import DIVISIONS
from hanse.placement import (
    Aggregated,
    ByCapacity,
    ByFreeCapacity,
    ClusterSelector,
    ClusterTerm,
    Duplicated,
    Equally,
    Failover,
    Group,
    Placement,
    Preference,
    Preferences,
    Rollout,
    Spread,
    Toleration,
    Weighted,
    WeightRule,
)
from hanse.placement.amounts import requests_of
from hanse.placement.policy import read_policies, read_policy
from tests.unit.placement.policy_cases import WHOLE

few = settings() if settings().max_examples > 100 else settings(max_examples=20)

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
}


def policy(name, namespace="", selects=None, **spec):
    kind = "PlacementPolicy" if namespace else "ClusterPlacementPolicy"
    return {
        "apiVersion": "hanse.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": {"selects": selects or [{"kind": "Deployment"}], **spec},
    }


BY_LABEL = [{"kind": "Deployment", "labelSelector": {"matchLabels": {"app": "web"}}}]
BY_NAME = [{"kind": "Deployment", "name": "web"}]
PRECEDENCE = {
    "a namespace's own before a cluster-wide one": (
        [policy("a", priority=9), policy("b", "shop")], "PlacementPolicy shop/b"),
    "not that of another namespace": ([policy("a"), policy("b", "other")], "ClusterPlacementPolicy a"),
    "the higher priority": ([policy("a", "shop"), policy("b", "shop", priority=1)], "PlacementPolicy shop/b"),
    "a name before a label": (
        [policy("a", "shop", BY_LABEL), policy("b", "shop", BY_NAME)], "PlacementPolicy shop/b"),
    "a label before a kind": ([policy("a", "shop"), policy("b", "shop", BY_LABEL)], "PlacementPolicy shop/b"),
    "priority before a name": (
        [policy("a", "shop", BY_NAME), policy("b", "shop", priority=1)], "PlacementPolicy shop/b"),
    "the first by name": ([policy("b", "shop"), policy("a", "shop")], "PlacementPolicy shop/a"),
    "every kind": ([policy("a", selects=[{"kind": "*"}])], "ClusterPlacementPolicy a"),
    "one version of a kind": (
        [policy("a", selects=[{"kind": "Deployment", "apiVersion": "apps/v2"}]), policy("b")],
        "ClusterPlacementPolicy b"),
    "another kind": ([policy("a", selects=[{"kind": "Service"}])], "None"),
    "another name": ([policy("a", selects=[{"kind": "Deployment", "name": "db"}])], "None"),
    "another label": (
        [policy("a", selects=[{"kind": "*", "labelSelector": {"matchLabels": {"app": "db"}}}])], "None"),
    "a selector that cannot be read selects nothing": (
        [policy("a", selects=[{"kind": "*", "labelSelector": {"matchExpressions": [{"key": "x"}]}}])], "None"),
}  # fmt: skip


@pytest.mark.parametrize(("policies", "counts"), PRECEDENCE.values(), ids=PRECEDENCE)
def test_one_policy_counts(policies, counts):
    assert str(read_policies(policies).of(WEB).policy) == counts
    assert str(read_policies(policies[::-1]).of(WEB).policy) == counts


def test_those_that_do_not_count_are_known():
    matched = read_policies([policy("a"), policy("b", "shop"), policy("c", "other")]).of(WEB)

    assert [str(other) for other in matched.others] == ["ClusterPlacementPolicy a"]


def test_everything_that_a_policy_says_is_read():
    read = read_policy(
        policy(
            "web",
            "shop",
            priority=3,
            respectCapacity=True,
            clusters={
                "exclude": ["old"],
                "selector": {
                    "matchLabels": {"tier": "gold"},
                    "matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["3"]}],
                },
            },
            groups=[{"name": "home", "clusters": {"names": ["eu"]}}],
            tolerations=[{"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
            spread=[{"by": "region", "minGroups": 2, "maxGroups": 3, "maxSkew": 1}],
            division={"type": "Preferences", "rebalance": True, "clusters": {"*": {"weight": 2, "maxReplicas": 5}}},
            failover={"afterSeconds": 300, "failBack": False},
            overrides=[{"clusters": {"names": ["eu"]}, "patches": [{"path": "/spec/x", "value": 1}]}],
        )
    )

    selector = ClusterSelector.parse(
        [{"key": "tier", "operator": "=", "values": ["gold"]}, {"key": "gen", "operator": "Gt", "values": ["3"]}]
    )
    assert read.problem == ""
    assert (read.priority, read.respect_capacity) == (3, True)
    assert read.placement == Placement(
        ClusterTerm(selector, None, ("old",)),
        (Group("home", ClusterTerm(names=("eu",))),),
        (Toleration("gpu", "Exists", "", "NoExecute", 30.0),),
        (Spread("region", 2, 3, 1),),
        Preferences({"*": Preference(2, 0, 5)}, rebalance=True),
        None,
        Failover(300.0, fail_back=False),
    )
    assert read.overrides[0].patch == ({"op": "replace", "path": "/spec/x", "value": 1},)


@pytest.mark.parametrize(
    ("division", "expected"),
    [
        ({}, Equally()),
        ({"type": "Equal"}, Equally()),
        ({"type": "Duplicated"}, Duplicated()),
        ({"type": "Capacity"}, ByCapacity()),
        ({"type": "FreeCapacity"}, ByFreeCapacity()),
        ({"type": "Aggregated"}, Aggregated()),
        ({"type": "Weighted", "weights": [{"weight": 2}]}, Weighted((WeightRule(ClusterTerm(), 2),))),
        ({"type": "Preferences", "clusters": {"a": {}}}, Preferences({"a": Preference()})),
    ],
)
def test_each_division_has_a_name(division, expected):
    assert read_policy(policy("a", division=division)).placement.division == expected
    assert division.get("type", "Equal") in DIVISIONS


def test_loss_and_change_are_read_whole():
    placement = read_policy(policy("a", failover=WHOLE["failover"], rollout=WHOLE["rollout"])).placement

    assert placement.failover == Failover(300.0, False, 60.0, always=True, spare_clusters=1)
    silver = ClusterSelector.parse([{"key": "tier", "operator": "=", "values": ["silver"]}])
    assert placement.rollout == Rollout(
        order=(ClusterTerm(names=("a",)), ClusterTerm(silver)),
        max_clusters=2,
        max_percent=25,
        manual=True,
        pause_seconds=30.0,
    )


FAULTS = {
    "spec.clusters.names must be a list of names": {"clusters": {"names": "eu"}},
    "spec.clusters.selector: \\[0\\].operator: 'About' is not an operator": {
        "clusters": {"selector": {"matchExpressions": [{"key": "a", "operator": "About"}]}}},
    "spec.groups\\[0\\].name must be a text, not None": {"groups": [{}]},
    "spec.tolerations\\[0\\].operator: 'Maybe' is neither": {"tolerations": [{"operator": "Maybe"}]},
    "spec.spread\\[0\\].maxGroups must be at least 1": {"spread": [{"by": "zone", "maxGroups": 0}]},
    "only one constraint may have a maxSkew": {"spread": [{"by": "a", "maxSkew": 1}, {"by": "b", "maxSkew": 1}]},
    "spec.spread must be a list": {"spread": {}},
    "spec.division.type: 'Fair' is no division": {"division": {"type": "Fair"}},
    "spec.division.weights: type Weighted needs": {"division": {"type": "Weighted"}},
    "spec.division.clusters: type Preferences needs": {"division": {"type": "Preferences"}},
    "weights\\[0\\].weight must be a whole number": {"division": {"type": "Weighted", "weights": [{"weight": -1}]}},
    "spec.failover.afterSeconds must be a whole number": {"failover": {"afterSeconds": "5m"}},
    "spec.failover: never and always exclude": {"failover": {"never": True, "always": True}},
    "spec.failover.failBackAfterSeconds must be a whole": {"failover": {"failBackAfterSeconds": "1m"}},
    "spec.rollout must be an object": {"rollout": []},
    "spec.rollout.order\\[0\\].names must be a list": {"rollout": {"order": [{"names": "eu"}]}},
    "spec.rollout.gate: 'Never' is neither Ready nor Manual": {"rollout": {"gate": "Never"}},
    "spec.rollout.gate: Manual needs an order": {"rollout": {"gate": "Manual"}},
    "spec.rollout.maxClusters must be at least 1": {"rollout": {"maxClusters": 0}},
    "spec.rollout.pauseSeconds must be a whole number": {"rollout": {"pauseSeconds": "1m"}},
    "patches\\[0\\].path: '/metadata/name' is what": {"overrides": [{"patches": [{"path": "/metadata/name"}]}]},
    "patches\\[0\\].op: 'move' is none of": {"overrides": [{"patches": [{"path": "/spec", "op": "move"}]}]},
}  # fmt: skip


@pytest.mark.parametrize(("sentence", "spec"), FAULTS.items(), ids=range(len(FAULTS)))
def test_a_fault_is_named_with_its_field(sentence, spec):
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(read_policy(policy("a", **spec)).problem)


leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4)
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
FIELDS = (
    *("selects", "clusters", "groups", "tolerations", "spread", "division", "failover", "rollout"),
    *("overrides", "priority"),
)


@few
@given(st.dictionaries(st.sampled_from(FIELDS), trees))
def test_no_spec_however_hostile_raises(spec):
    read = read_policy({"kind": "PlacementPolicy", "metadata": {"name": "x", "namespace": "shop"}, "spec": spec})

    assert read_policies([]).of(WEB).policy is None
    assert read.precision(WEB) in (0, 1, 2, 3)


def test_what_a_replica_needs_is_read_from_its_template():
    template = {
        "spec": {
            "containers": [
                {"resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}},
                {"resources": {"limits": {"cpu": "1"}}},
            ],
            "initContainers": [{"resources": {"requests": {"cpu": "2", "memory": "1Mi"}}}],
        }
    }

    assert requests_of(template) == {"cpu": 2000, "memory": 1024**3 * 1000, "pods": 1000}
    assert requests_of(None) == requests_of({"spec": {"containers": "none"}}) == {"pods": 1000}
