"""Real clusters as fixtures. Everything in this folder needs the real components."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes.real import HOST, MEMBER, RealCluster, real_clusters

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in this folder, so that no test of it can slip into `make test`."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.kubernetes)


@pytest.fixture(scope="module")
def member() -> Iterator[RealCluster]:
    """A cluster with all controllers and a scheduler, for the tests of one module."""
    with real_clusters({"member": MEMBER}) as clusters:
        yield clusters["member"]


@pytest.fixture(scope="module")
def host() -> Iterator[RealCluster]:
    """A dedicated federation host, for the tests of one module."""
    with real_clusters({"federation": HOST}) as clusters:
        yield clusters["federation"]
