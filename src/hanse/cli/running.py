"""Running a long-lived coroutine as a command: the fast event loop, logs, and a clean end on Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from hanse.kube.log import configure_with_first_line

T = TypeVar("T")


def run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on the fast event loop where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main())
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


async def until_signalled(work: Coroutine[Any, Any, None]) -> None:
    """Run until the work ends or the process is asked to stop; the work is cancelled first."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        if not task.cancelled():
            raise


def log_to(stream: Any = None, *, json: bool = False, level: int = logging.INFO) -> None:
    """Send the log to a stream, as text for people or as JSON for programs."""

    def configure() -> None:
        import structlog

        renderer: Any = structlog.processors.JSONRenderer() if json else structlog.dev.ConsoleRenderer(colors=False)
        structlog.configure(
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.format_exc_info,
                renderer,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(level),
            logger_factory=structlog.PrintLoggerFactory(stream or sys.stderr),
            cache_logger_on_first_use=True,
        )

    configure_with_first_line(configure)
