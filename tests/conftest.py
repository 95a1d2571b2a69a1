"""What all tests share.

Properties are tried on the same examples in every run, so that a red run is a change's own doing;
HYPOTHESIS_PROFILE=thorough tries more of them (`make soak-guards`), HYPOTHESIS_PROFILE=explore looks for new ones.
"""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import settings
from structlog.testing import capture_logs

from hanse.kube.log import Log, configure_with_first_line
from tests.own_network import enter_own_network

# What a scenario finds is explained as well as what a test finds.
pytest.register_assert_rewrite("tests.behaviour")

_HERE = Path(__file__).parent
_WITHOUT_SOCKETS = (
    "simulation",
    "component/pods/baggage",
    "component/pods/chaperons",
    "component/pods/targets",
    "component/propagation",
    "component/rollouts",
    "component/simulator",
)


def _plain_log() -> None:
    # Without the values of every local variable, which the default writes beside a traceback.
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer(colors=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(0),
        logger_factory=structlog.PrintLoggerFactory(),
        cache_logger_on_first_use=False,
    )


def pytest_configure() -> None:
    """Give each worker a network of its own where that is asked for (`make test-kubernetes`)."""
    if "HANSE_OWN_NETWORKS" in os.environ and "PYTEST_XDIST_WORKER" in os.environ:
        enter_own_network()


def pytest_sessionstart() -> None:
    """Collect no garbage while tests are collected: nothing of what is made then is garbage."""
    gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the clock of a world without sockets jump as soon as nothing is left to do.

    By default looptime lets the event loop turn dozens of times first, in case a socket has something to say. A test
    that speaks through one asks for that: `looptime(noop_cycles=42)`.
    """
    folders = [_HERE / folder for folder in _WITHOUT_SOCKETS]
    for item in items:
        marker = item.get_closest_marker("looptime")
        if marker is not None and not marker.kwargs and any(item.path.is_relative_to(folder) for folder in folders):
            item.add_marker(pytest.mark.looptime(noop_cycles=0))


def pytest_collection_finish() -> None:
    """Leave eight thousand collected tests out of every later search for garbage."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def log_lines() -> Iterator[list[Any]]:
    """Every line that is logged meanwhile, whatever a command that another test ran has set up."""
    configure_with_first_line(_plain_log)
    Log("tests").debug("Lines are taken down from here on")
    with capture_logs() as lines:
        yield lines


_plain_log()
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
