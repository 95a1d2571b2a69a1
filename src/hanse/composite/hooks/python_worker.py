"""The process in which a hook's Python function runs (`python -m hanse.composite.hooks.python_worker LIMITS`).

The code is loaded when it is first asked for and stays loaded. Before each call the files that were loaded are looked
at, for less than the call costs; if one has changed, the process says so and is replaced, since nothing less than a new
process forgets an old module wholly.
"""

from __future__ import annotations

import json
import sys

from hanse.composite.hooks.python_code import Code, Place
from hanse.composite.hooks.serving import Refusal, Stale, serve

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Functions:
    """The functions of one place of code; the first question says which place that is."""

    def __init__(self) -> None:
        self._code: Code | None = None

    def answer(self, head: bytes, body: bytes) -> bytes:
        """Call the function that a question's head names with the question's body."""
        asked = json.loads(head)
        place = Place.read(asked)
        if self._code is None:
            self._code = Code(place)
        if self._code.place != place or self._code.changed():
            raise Stale
        return _written(_result(self._code, asked["function"], body))


def _result(code: Code, name: str, body: bytes) -> Any:
    try:
        return _called(code.function(name), json.loads(body))
    except (Refusal, MemoryError):
        raise
    except SystemExit as error:
        raise Refusal(f"asked its process to exit ({cause(error)}){code.line_of(error)}") from None
    # Whatever a stranger's code raises is its answer, and must not end the loop that says so.
    except BaseException as error:  # noqa: BLE001
        raise Refusal(f"raised {cause(error)}{code.line_of(error)}") from None
    finally:
        code.watch()


def cause(error: BaseException) -> str:
    """Name an exception of a stranger's, whose text may itself raise."""
    try:
        text = str(error)[:400]
    except BaseException:  # noqa: BLE001
        text = "its text cannot be told"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _called(function: Callable[[Any], Any], request: Any) -> Any:
    answer = function(request)
    if hasattr(answer, "__await__"):
        # Dear to import, and few need it.
        import asyncio

        async def waited() -> Any:
            return await answer

        return asyncio.run(waited())
    return answer


def _written(answer: Any) -> bytes:
    if not isinstance(answer, dict):
        what = "nothing" if answer is None else f"a {type(answer).__name__}"
        raise Refusal(f"returned {what}; it must return a dict")
    try:
        # Not by a faster library: those that were tried crash where there is no memory for the text.
        return json.dumps(answer, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Refusal(f"returned what is not JSON: {cause(error)}") from None


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    serve(lambda: Functions().answer)
