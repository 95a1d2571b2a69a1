"""VitessClusters on upstream components: one cluster, an account with the rights of the door alone, real RBAC."""

import pytest

from tests.behaviour import vitess_operator as behaviour
from tests.kubernetes.composite.test_door import MEMBER_NAME, Joined
from tests.kubernetes.real import HOST, MEMBER, real_clusters, wait_until

pytestmark = pytest.mark.kubernetes


@pytest.fixture(scope="module")
def on(tmp_path_factory):
    with real_clusters({"federation": HOST, MEMBER_NAME: MEMBER}) as clusters:
        clusters[MEMBER_NAME].start_nodes(index=77)
        joined = Joined(clusters, tmp_path_factory.mktemp("vitess"))
        controller = joined.start_controller()
        try:
            wait_until(joined.serves_clusters, seconds=60.0, what="the kinds of the federation")
            joined.hanse("join", MEMBER_NAME, *joined.sign_in)
            joined.hanse("doors", "enable", "vitess", "--cluster", MEMBER_NAME, *joined.sign_in)
            yield joined
        finally:
            controller.terminate()
            controller.wait(30)


def test_a_vitess_cluster_in_a_real_cluster(on):
    behaviour.a_vitess_cluster_has_all_its_objects_and_pods(on, MEMBER_NAME)
    behaviour.a_change_waits_on_every_level_until_it_is_released(on, MEMBER_NAME)
    behaviour.a_keyspace_with_tablets_is_not_taken_away(on, MEMBER_NAME)
    behaviour.what_cannot_be_meant_is_refused_or_said(on, MEMBER_NAME)
    behaviour.a_name_that_somebody_else_has_is_left_to_them(on, MEMBER_NAME)
    behaviour.a_cluster_at_rest_is_not_written(on, MEMBER_NAME)
