"""VitessClusters in a cluster of `hanse up`, by kubectl.

It takes half a minute, most of it waiting, which the quick tests have not.
"""

import pytest

from tests.behaviour import vitess_operator as behaviour
from tests.e2e.federation import embedded_federation

pytestmark = pytest.mark.kubernetes


def test_a_vitess_cluster_in_a_simulated_cluster(tmp_path):
    with embedded_federation(tmp_path) as on:
        behaviour.a_vitess_cluster_has_all_its_objects_and_pods(on, "eu-west")
        behaviour.a_change_waits_on_every_level_until_it_is_released(on, "eu-west")
        behaviour.a_keyspace_with_tablets_is_not_taken_away(on, "eu-west")
        behaviour.what_cannot_be_meant_is_refused_or_said(on, "eu-west")
        behaviour.a_name_that_somebody_else_has_is_left_to_them(on, "eu-west")
        behaviour.a_cluster_at_rest_is_not_written(on, "eu-west")


def test_the_tablets_of_hanse_up_register_and_a_cluster_becomes_ready(tmp_path):
    with embedded_federation(tmp_path) as on:
        behaviour.a_cluster_with_tablets_becomes_ready(on, "eu-west")
