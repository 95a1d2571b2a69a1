"""Each line of Metacontroller's list of behaviours as a function, to be tried on any API server.

A function is called `line_NUMBER_...`; what one says of several lines is in its docstring. They are written once, and
tried on the embedded API server and on a real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tests.behaviour.composite_lines import answers, children, decorators, rolling, serving, writing
from tests.behaviour.composite_lines.stage import Line, Lines, lines

__all__ = ["LINES", "all_lines", "lines"]

LINES: dict[str, Callable[[Line], Awaitable[None]]] = {
    name: function
    for module in (children, writing, answers, decorators, rolling, serving)
    for name, function in vars(module).items()
    if name.startswith("line_")
}


async def all_lines(on: Lines) -> dict[str, str]:
    """Try all lines at the same time; returns what went wrong, by line."""
    tried = await asyncio.gather(*(_tried(on, name) for name in LINES))
    return {name: problem for name, problem in zip(LINES, tried, strict=True) if problem is not None}


async def _tried(on: Lines, name: str) -> str | None:
    at = Line(on, "-".join(name.split("_")[:2]))
    try:
        await at.open()
        await LINES[name](at)
    # Whatever it is, the other lines are told of, too.
    except Exception as error:  # noqa: BLE001
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None and "composite_lines" in str(frame.tb_next.tb_frame):
            frame = frame.tb_next
        return f"{type(error).__name__}: {error} (line {frame.tb_lineno if frame else 0})"
    return None
