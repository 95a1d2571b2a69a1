"""One Vitess over two clusters of `hanse up`, by the commands of its example.

It takes a minute, most of it waiting, which the quick tests have not.
"""

import pytest

from tests.behaviour import vitess_federated as behaviour
from tests.e2e.federation import embedded_federation

pytestmark = pytest.mark.kubernetes


def test_the_example_survives_the_loss_of_a_cluster(tmp_path):
    with embedded_federation(tmp_path) as on:
        behaviour.it_is_ready_loses_a_cluster_and_gets_it_back(on)
