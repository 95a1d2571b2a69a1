"""What all tests share.

Properties are tried on the same examples in every run, so that a red run is a change's own doing;
HYPOTHESIS_PROFILE=explore looks for new ones.
"""

import os

import structlog
from hypothesis import settings

# Without the values of every local variable, which the default writes beside a traceback.
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.dev.ConsoleRenderer(),
    ]
)

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
