"""The seeds' manifests on simulated clusters of every provider, by kubectl; test_federation has the real ones."""

from tests.behaviour.federated_types import federated_manifests_give_the_seeds_results
from tests.behaviour.seed_manifests import PROVIDERS, the_seeds_manifests_give_the_seeds_results
from tests.e2e.federation import embedded_federation


def test_the_seeds_manifests_give_the_seeds_results_on_simulated_clusters(tmp_path):
    with embedded_federation(tmp_path, PROVIDERS) as federation:
        the_seeds_manifests_give_the_seeds_results(federation)
        federated_manifests_give_the_seeds_results(federation)
