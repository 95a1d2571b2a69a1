"""What would have to change for a cluster to be chosen: told only if it would really help."""

from dataclasses import replace

import pytest

from hanse.api.clusters import Cluster, Taint
from hanse.placement import ClusterTerm
from hanse.placement.candidate import Toleration
from hanse.propagation.planning import Observation
from hanse.propagation.remedies import Remedy, remedy_for
from tests.unit.propagation.builders import config_intent, deployment_intent

EU_ONLY = [{"key": "region", "operator": "in", "values": ["eu"]}]
NOT_OLD = [{"key": "old", "operator": "!"}]
BIG = [{"key": "size", "operator": "gt", "values": ["3"]}]
DISK = Taint("disk", "slow")


def term(**fields):
    intent = deployment_intent()
    return replace(intent, placement=replace(intent.placement, clusters=ClusterTerm(**fields)))


def tolerating():
    intent = deployment_intent()
    return replace(intent, placement=replace(intent.placement, tolerations=(Toleration("disk", "Exists"),)))


@pytest.mark.parametrize(
    ("intent", "cluster", "steps"),
    [
        (deployment_intent(selector=EU_ONLY), {}, ["`kubectl label cluster b region=eu --overwrite`"]),
        (
            deployment_intent(selector=NOT_OLD),
            {"labels": {"old": "yes"}},
            ["`kubectl label cluster b old- --overwrite`"],
        ),
        (deployment_intent(selector=BIG), {"labels": {"size": "2"}}, ["`kubectl label cluster b size=4 --overwrite`"]),
        (term(names=("a",)), {}, ["add b to the clusters that its policy or placement names"]),
        (term(excluded=("b",)), {}, ["take b from the excluded clusters of the policy"]),
        (deployment_intent(), {"unschedulable": True}, ["`hanse clusters uncordon b`"]),
        (
            deployment_intent().without({"b": "anna may not use cluster b"}),
            {},
            ["bind its author to a ClusterRole with the verb use on clusters.clusterregistry.k8s.io/b"],
        ),
        (deployment_intent(), {"taints": (DISK,)}, ["let its policy tolerate disk=slow:NoSchedule"]),
        (
            deployment_intent(),
            {"ready": False, "offline": True},
            ["get b to answer again (`hanse clusters -o wide` says what is wrong)"],
        ),
        (
            deployment_intent(selector=EU_ONLY),
            {"unschedulable": True},
            ["`kubectl label cluster b region=eu --overwrite`", "`hanse clusters uncordon b`"],
        ),
    ],
)
def test_every_hindrance_has_a_remedy_that_the_decision_was_tried_with(intent, cluster, steps):
    a = Cluster("a", ready=True, labels={"region": "eu", "size": "9"})
    b = replace(Cluster("b", ready=True), **cluster)
    observed = {"a": Observation(seen=True), "b": Observation(seen=True)}

    remedy = remedy_for("b", intent, [a, b], observed)

    # Nine replicas over two clusters: the tie goes to one of them.
    assert remedy is not None
    assert (list(remedy.steps), remedy.replicas in (4, 5)) == (steps, True)


@pytest.mark.parametrize(
    ("intent", "cluster"),
    [
        (deployment_intent(), {}),
        (tolerating(), {"taints": (DISK,)}),
        (config_intent(), {}),
    ],
)
def test_nothing_is_told_where_nothing_is_in_the_way(intent, cluster):
    b = replace(Cluster("b", ready=True), **cluster)

    assert remedy_for("b", intent, [b], {"b": Observation(seen=True)}) is None


def test_nothing_is_told_that_would_not_help():
    fleet = [Cluster(name, ready=name != "c", offline=name == "c") for name in ("a", "b", "c")]
    intent = deployment_intent(replicas=0)
    contradiction = replace(
        intent,
        placement=deployment_intent(
            selector=[{"key": "x", "operator": "exists"}, {"key": "x", "operator": "!"}]
        ).placement,
    )

    assert remedy_for("c", contradiction, fleet, {}) is None
    assert remedy_for("mars", intent, fleet, {}) is None


def test_a_remedy_says_what_it_brings():
    assert str(Remedy(("do x", "do y"), 3)) == "to place it there: do x; do y (it would then get 3 replicas)"
    assert str(Remedy(("do x",))) == "to place it there: do x (it would then get it)"
