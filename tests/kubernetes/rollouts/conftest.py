"""One federation for all tests of rollouts that need a whole one: it is expensive to start."""

from collections.abc import Iterator

import pytest

from tests.kubernetes.rollouts.federation import RolloutFederation, rollout_federation


@pytest.fixture(scope="package")
def federation(tmp_path_factory) -> Iterator[RolloutFederation]:
    with rollout_federation(tmp_path_factory.mktemp("rollouts")) as running:
        yield running
