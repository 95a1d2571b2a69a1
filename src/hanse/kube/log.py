"""The log of the process: loggers that load structlog with their first line.

Most commands never write a line, and loading what writes it takes as long as a tenth of a server's start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Log:
    """A logger for one part of the program: a constant sentence and the facts that go with it."""

    __slots__ = ("_bound", "_name", "_settled")

    def __init__(self, name: str) -> None:
        self._name = name
        self._bound: Any = None
        self._settled = 0

    def debug(self, told: str, **facts: Any) -> None:
        """Tell what only helps in a search for a fault."""
        self._lines().debug(told, **facts)

    def info(self, told: str, **facts: Any) -> None:
        """Tell what has happened as it should."""
        self._lines().info(told, **facts)

    def warning(self, told: str, **facts: Any) -> None:
        """Tell what went wrong and is dealt with."""
        self._lines().warning(told, **facts)

    def error(self, told: str, **facts: Any) -> None:
        """Tell what went wrong and stays so until somebody acts."""
        self._lines().error(told, **facts)

    def exception(self, told: str, **facts: Any) -> None:
        """Tell of a fault in the program, with the exception that is being handled."""
        self._lines().exception(told, **facts)

    def _lines(self) -> Any:
        _settings.apply()
        if self._bound is None or self._settled != _settings.changes:
            import structlog

            # A logger keeps the settings of its first line; new ones need a new logger.
            self._bound, self._settled = structlog.get_logger(self._name), _settings.changes
        return self._bound


class _Settings:
    def __init__(self) -> None:
        self.waiting: Callable[[], None] | None = None
        self.changes = 0

    def apply(self) -> None:
        configure, self.waiting = self.waiting, None
        if configure is not None:
            configure()
            self.changes += 1


_settings = _Settings()


def configure_with_first_line(configure: Callable[[], None]) -> None:
    """Set how lines are written by a function that is called before the first, or the next, of them."""
    _settings.waiting = configure
