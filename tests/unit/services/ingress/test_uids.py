"""Which uid the ingress controller of each cluster is told."""

import pytest

from hanse.api.clusters import Cluster
from hanse.services.ingress.uids import KEEP_OWN, Share, decide_uid, provider_uid


def cluster(name, uid="", *, ready=True, pull=False):
    return Cluster(name, ready=ready, ingress_uid=uid, pull=pull)


def config(**data):
    return {"metadata": {"name": "ingress-uid"}, "data": {name.replace("_", "-"): text for name, text in data.items()}}


def test_the_uid_for_what_is_a_clusters_own_is_half_the_digest_of_its_name():
    assert provider_uid("cluster1") == "fb56c6cfda5b5fd1"


def test_the_first_cluster_that_has_a_uid_shares_its_own():
    decided = decide_uid(cluster("cluster1"), [cluster("cluster1"), cluster("b")], config(uid="mine"))

    assert decided == Share("mine", (("provider-uid", "fb56c6cfda5b5fd1"),))


def test_the_others_take_the_uid_of_a_ready_cluster_that_shares_it():
    fleet = [cluster("a", "lost", ready=False), cluster("b", "shared"), cluster("c")]

    decided = decide_uid(fleet[2], fleet, config(uid="own"))

    assert decided == Share("shared", (("provider-uid", provider_uid("c")), ("uid", "shared")), renames=True)


def test_a_provider_uid_that_is_there_names_what_is_there_and_stays():
    fleet = [cluster("b", "shared"), cluster("c")]

    assert decide_uid(fleet[1], fleet, config(uid="shared", provider_uid="old")) == Share("shared")


def test_a_uid_that_somebody_changed_in_the_cluster_is_put_back():
    fleet = [cluster("b", "shared"), cluster("c", "shared")]

    decided = decide_uid(fleet[1], fleet, config(uid="changed", provider_uid="p"))

    assert decided == Share("shared", (("uid", "shared"),), renames=True)


@pytest.mark.parametrize("data", [None, {}, {"uid": ""}])
def test_while_nobody_has_a_uid_nothing_is_done(data):
    fleet = [cluster("a"), cluster("b")]

    assert decide_uid(fleet[0], fleet, None if data is None else config(**data)) is None


def test_a_cluster_without_that_kind_of_controller_keeps_to_itself_beside_others_that_share():
    fleet = [cluster("a", "shared"), cluster("b"), cluster("c", pull=True)]

    assert decide_uid(fleet[1], fleet, None) is KEEP_OWN
    assert decide_uid(fleet[2], fleet, config(uid="x")) is KEEP_OWN
