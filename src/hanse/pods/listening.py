"""Listening to what outlives the listener: sources come and go, while the registry and its rights stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec
from weakref import WeakMethod

P = ParamSpec("P")


def weakly(method: Callable[P, None]) -> Callable[P, None]:
    """Return a listener that calls a method for as long as somebody else holds its object, and keeps nothing alive."""
    held = WeakMethod(method)

    def listener(*args: P.args, **kwargs: P.kwargs) -> None:
        if (found := held()) is not None:
            found(*args, **kwargs)

    return listener
