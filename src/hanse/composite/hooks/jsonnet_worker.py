"""The process in which a hook's Jsonnet runs (`python -m hanse.composite.hooks.jsonnet_worker LIMITS`).

Jsonnet reads files only through the function that is given to it here, and that one knows the hook's own files alone:
those that were sent, and those in the folders of the hook's file and of its libraries. Files are read for each call, so
a change acts at once.
"""

from __future__ import annotations

import importlib
import json
import os

from hanse.composite.hooks.serving import Refusal, serve

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

# No file is called so: slashes at the beginning are one slash.
MAIN = "//main"

_PROGRAM = f"(import '{MAIN}')(std.parseJson(std.extVar('request')))"
# What Jsonnet calls that line, which nobody but us wrote.
_CALL = "call"
_MOST_FRAMES = 500


def opened() -> Callable[[bytes, bytes], bytes]:
    """Load Jsonnet and return the function that answers questions."""
    # Not there for whoever does not use it, and it has no types.
    engine: Any = importlib.import_module("_gojsonnet")
    # It goes on starting in a thread of its own until it is first used, and could not under a narrow limit.
    engine.evaluate_snippet(_CALL, "null")

    def answer(head: bytes, body: bytes) -> bytes:
        files = Files(json.loads(head))
        try:
            written = engine.evaluate_snippet(
                _CALL,
                _PROGRAM,
                ext_vars={"request": body.decode()},
                import_callback=files.read,
                max_stack=_MOST_FRAMES,
            )
        # Its complaints are not always the UTF-8 that they should be.
        except (RuntimeError, UnicodeError) as error:
            raise Refusal(files.refusal or f"failed: {_reason(str(error))}") from None
        if files.refusal:
            raise Refusal(files.refusal)
        return str(written).encode()

    return answer


class Files:
    """The files that a hook may import: texts that were sent, its libraries, and what is in its own folders.

    A file that it may not have is remembered in `refusal`, and Jsonnet is given something in its place: an exception
    would reach it as a text of which it reads more than there is.
    """

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._main: str = asked["main"]
        self._sent: Mapping[str, str] = asked["files"]
        libraries: list[str] = asked["libraries"]
        folders = [each for each in libraries if os.path.isdir(each)]
        self._named = {os.path.basename(each): each for each in libraries if each not in folders}
        if self._main not in self._sent:
            folders.append(os.path.dirname(self._main))
        self._folders = [os.path.realpath(each) for each in folders]
        self.refusal = ""

    def read(self, folder: str, name: str) -> tuple[str, bytes]:
        """Return the full name and the content of a file that is imported by a file in a folder."""
        if name == MAIN and self._main not in self._sent:
            return self._main, self._content(self._main)
        name = os.path.normpath(self._main if name == MAIN else name)
        if name in self._sent:
            return name, self._sent[name].encode()
        path = self._path(folder, name)
        if path is not None:
            return path, self._content(path)
        self._refuse(f'imports "{name}", which is not among its files')
        return name, b"null"

    def _path(self, folder: str, name: str) -> str | None:
        for place in (folder, *self._folders) if self._folders else ():
            path = os.path.realpath(os.path.join(place, name))
            # Links are followed first: what they lead to must be in one of the folders too.
            if any(path.startswith(f"{each}{os.sep}") for each in self._folders) and os.path.isfile(path):
                return path
        return self._named.get(name)

    def _content(self, path: str) -> bytes:
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            self._refuse(f"cannot be read: {os.path.basename(path)}: {error.strerror}")
            return b"null"

    def _refuse(self, reason: str) -> None:
        self.refusal = self.refusal or reason


def _reason(complaint: str) -> str:
    """Return what Jsonnet says is wrong, and the innermost place that it tells."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    message = lines[0].removeprefix("RUNTIME ERROR: ") if lines else "without a reason"
    place = lines[1].partition("\t")[0] if len(lines) > 1 and ":" in lines[1] else ""
    if place.startswith(f"{_CALL}:"):
        return message
    return f"{message} ({os.path.basename(place)})" if place else message


if __name__ == "__main__":
    serve(opened)
