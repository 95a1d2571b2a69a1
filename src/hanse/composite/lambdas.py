"""The mark by which a file of Python functions says which of them are hooks.

It imports nothing: the processes in which hooks run start with it.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

HOOK_MARK = "__hanse_hook__"


def hook(name: str) -> Callable[[F], F]:
    """Say that a function is the hook of this name ("sync", "finalize", ...), whatever the function is called."""

    def marked(function: F) -> F:
        setattr(function, HOOK_MARK, name)
        return function

    return marked
