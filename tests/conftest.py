"""What all tests share.

Properties are tried on the same examples in every run, so that a red run is a change's own doing;
HYPOTHESIS_PROFILE=explore looks for new ones.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import settings
from structlog.testing import capture_logs

from hanse.kube.log import Log, configure_with_first_line

# What a scenario finds is explained as well as what a test finds.
pytest.register_assert_rewrite("tests.behaviour")


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


@pytest.fixture
def log_lines() -> Iterator[list[Any]]:
    """Every line that is logged meanwhile, whatever a command that another test ran has set up."""
    configure_with_first_line(_plain_log)
    Log("tests").debug("Lines are taken down from here on")
    with capture_logs() as lines:
        yield lines


_plain_log()
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
