"""Pods of one cluster of `hanse up` that run in all three: what is told of real clusters, told of simulated ones.

It takes a few minutes, most of it waiting, which the quick tests have not.
"""

from collections.abc import Iterator

import pytest

from tests.behaviour.pods_at_the_door import (
    a_closed_door_leaves_nothing_behind,
    a_deployment_waits_for_an_admission_that_does_not_answer,
)
from tests.behaviour.pods_by_hand import (
    a_pod_that_fits_nowhere_says_why,
    exec_reaches_the_pod_that_runs,
    hanse_says_where_pods_run_and_why,
    logs_reach_the_pod_that_runs,
    targets_are_nodes_that_are_cordoned_and_drained,
    what_pods_need_goes_with_them_and_goes_away,
)
from tests.behaviour.pods_elsewhere import (
    a_bare_pod_runs_and_ends_elsewhere,
    a_cron_job_has_run,
    a_deployment_lives_its_whole_life_elsewhere,
    a_gang_runs_in_one_target_or_waits,
    a_job_with_failures_is_counted_as_at_home,
    a_whole_job_runs_in_one_target,
    prepare,
    start_cron_job,
)
from tests.behaviour.pods_in_trouble import (
    LOST_AFTER_SECONDS,
    a_jobs_pod_that_is_deleted_where_it_runs_is_made_again_and_counted_as_at_home,
    a_lost_targets_pods_run_in_the_others_and_end_when_it_returns,
    the_control_plane_is_killed_in_the_middle_of_a_roll_out,
)
from tests.e2e.federation import EmbeddedFederation, embedded_federation
from tests.e2e.pod_source import EmbeddedSource

pytestmark = pytest.mark.kubernetes
SCENARIOS = (
    a_deployment_lives_its_whole_life_elsewhere,
    a_job_with_failures_is_counted_as_at_home,
    a_cron_job_has_run,
    a_bare_pod_runs_and_ends_elsewhere,
    a_whole_job_runs_in_one_target,
    a_gang_runs_in_one_target_or_waits,
    exec_reaches_the_pod_that_runs,
    hanse_says_where_pods_run_and_why,
    logs_reach_the_pod_that_runs,
    targets_are_nodes_that_are_cordoned_and_drained,
    a_pod_that_fits_nowhere_says_why,
    what_pods_need_goes_with_them_and_goes_away,
    a_jobs_pod_that_is_deleted_where_it_runs_is_made_again_and_counted_as_at_home,
    a_deployment_waits_for_an_admission_that_does_not_answer,
    the_control_plane_is_killed_in_the_middle_of_a_roll_out,
)


@pytest.fixture(scope="module")
def federation(tmp_path_factory) -> Iterator[EmbeddedFederation]:
    with embedded_federation(tmp_path_factory.mktemp("federation")) as running:
        yield running


@pytest.fixture(scope="module")
def source(federation) -> EmbeddedSource:
    embedded = EmbeddedSource(federation, "eu-west")
    prepare(embedded)
    start_cron_job(embedded)
    return embedded


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__.replace("_", " "))
def test_a_cluster_of_a_simulated_federation(source, scenario):
    scenario(source)


def test_a_lost_targets_pods_run_in_the_others_and_end_when_it_returns(source):
    assert a_lost_targets_pods_run_in_the_others_and_end_when_it_returns(source, "us-east") >= LOST_AFTER_SECONDS


def test_a_closed_door_leaves_nothing_behind(federation):
    """It stays closed, so it is another cluster's than that of the other tests."""
    other = EmbeddedSource(federation, "ap-south")
    prepare(other)
    a_closed_door_leaves_nothing_behind(other)
