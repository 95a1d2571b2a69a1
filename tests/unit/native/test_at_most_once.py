"""StatefulSets and singletons are not started a second time while a lost cluster may run them."""

import pytest

from hanse.api.names import SINGLETON_ANNOTATION
from hanse.native.asking import asked_for
from hanse.placement.policy import Policies, read_policies


def workload(kind, **annotations):
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "db", "namespace": "shop"} | annotations}


SINGLETON = {"annotations": {SINGLETON_ANNOTATION: "true"}}


def policies(**failover):
    spec = {"selects": [{"kind": "*"}], "failover": failover}
    metadata = {"name": "careful", "namespace": "shop"}
    return read_policies([{"kind": "PlacementPolicy", "metadata": metadata, "spec": spec}])


@pytest.mark.parametrize(
    ("source", "policy", "after_seconds", "at_most_once"),
    [
        (workload("Deployment"), Policies(), 0.0, False),
        (workload("Deployment", **SINGLETON), Policies(), None, True),
        (workload("StatefulSet"), Policies(), None, True),
        (workload("StatefulSet"), policies(afterSeconds=60), None, True),
        (workload("StatefulSet"), policies(always=True, afterSeconds=60), 60.0, False),
        (workload("Deployment", **SINGLETON), policies(always=True), 0.0, False),
        (workload("Deployment"), policies(never=True), None, False),
    ],
)
def test_who_is_started_elsewhere_and_when(source, policy, after_seconds, at_most_once):
    asked = asked_for(source, policy)

    assert asked.placement.failover.after_seconds == after_seconds
    assert asked.placement.at_most_once == at_most_once


def test_the_rest_of_the_policy_stays():
    asked = asked_for(workload("StatefulSet"), policies(spareClusters=1, failBackAfterSeconds=90))

    assert (asked.placement.failover.spare_clusters, asked.placement.failover.fail_back_after) == (1, 90.0)
