"""A federation of four real Kubernetes clusters, shared by the tests of this module: they are expensive to start."""

from collections.abc import Iterator

import pytest

from tests.behaviour.children_elsewhere import children_are_in_the_clusters_that_their_hook_names
from tests.behaviour.dependencies import what_pods_need_goes_where_they_go
from tests.behaviour.federated_kinds import (
    enabled_kinds_go_to_every_cluster,
    kinds_go_to_every_cluster_and_kubectl_follows_them,
    what_a_cluster_runs_already_is_adopted_and_its_pods_stay,
)
from tests.behaviour.federated_types import federated_manifests_give_the_seeds_results
from tests.behaviour.lost_cluster import PATIENCE_SECONDS, a_cluster_dies_under_load_and_comes_back
from tests.behaviour.seed_manifests import PROVIDERS, the_seeds_manifests_give_the_seeds_results
from tests.behaviour.shared_ingress import clusters_share_an_address
from tests.behaviour.unseen_kinds import kinds_that_nobody_has_seen_federate_once_they_are_enabled
from tests.e2e.federation import RealFederation, real_federation


@pytest.fixture(scope="module")
def federation(tmp_path_factory) -> Iterator[RealFederation]:
    with real_federation(tmp_path_factory.mktemp("federation"), PROVIDERS) as running:
        yield running


def test_the_seeds_manifests_give_the_seeds_results_on_clusters_of_every_provider(federation):
    the_seeds_manifests_give_the_seeds_results(federation)


def test_federated_manifests_give_the_seeds_results(federation):
    federated_manifests_give_the_seeds_results(federation)


def test_kinds_go_to_every_cluster_and_kubectl_follows_them(federation):
    kinds_go_to_every_cluster_and_kubectl_follows_them(federation)


def test_enabled_kinds_go_to_every_cluster(federation):
    enabled_kinds_go_to_every_cluster(federation)


def test_kinds_that_nobody_has_seen_federate_once_they_are_enabled(federation):
    kinds_that_nobody_has_seen_federate_once_they_are_enabled(federation)


def test_what_a_cluster_runs_already_is_adopted_and_its_pods_stay(federation):
    what_a_cluster_runs_already_is_adopted_and_its_pods_stay(federation)


def test_what_pods_need_goes_where_they_go(federation):
    what_pods_need_goes_where_they_go(federation)


def test_children_of_a_composite_are_in_the_clusters_that_their_hook_names(federation):
    children_are_in_the_clusters_that_their_hook_names(federation)


def test_clusters_share_an_address(federation):
    clusters_share_an_address(federation)


def test_a_killed_clusters_replicas_run_elsewhere_and_come_back_without_flapping(federation, capsys):
    """On virtual time the same is held to 30 s; here it is told how long it took on this machine."""
    loss = a_cluster_dies_under_load_and_comes_back(federation)

    with capsys.disabled():
        print(f"\nreplaced after {loss.replaced_seconds:.1f} s, back after {loss.back_seconds:.1f} s")
    assert 0 < loss.replaced_seconds < PATIENCE_SECONDS
