"""Answers that a webhook gave a tag for, kept until the webhook says that they still hold."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from hanse.composite.spec import ETags
from hanse.kube.manifest import Obj, name_of, namespace_of

# For all roots of a hook together. What is dropped costs the webhook one whole answer.
MOST_BYTES = 64 * 1024 * 1024


class Root(NamedTuple):
    """Which object a request is about."""

    kind: str
    namespace: str
    name: str


class Tagged(NamedTuple):
    """An answer and its tag."""

    tag: str
    body: bytes
    until: float | None


def root_of(obj: Obj) -> Root:
    """Return which object this is, as answers are kept."""
    return Root(str(obj.get("kind", "")), namespace_of(obj), name_of(obj))


class TaggedAnswers:
    """The last tagged answer for each root; those not asked for longest go first when there are too many."""

    def __init__(self, settings: ETags, most_bytes: int = MOST_BYTES) -> None:
        self._seconds = settings.seconds
        self._most_bytes = most_bytes
        self._answers: OrderedDict[Root, Tagged] = OrderedDict()
        self._bytes = 0

    def get(self, root: Root, now: float) -> Tagged | None:
        """Return the answer that is known for a root and not too old."""
        found = self._answers.get(root)
        if found is None:
            return None
        if found.until is not None and found.until <= now:
            self._drop(root)
            return None
        self._answers.move_to_end(root)
        return found

    def put(self, root: Root, tag: str, body: bytes, now: float) -> None:
        """Keep the answer for a root in place of the one that was known; one without a good tag is not kept."""
        self._drop(root)
        # A tag goes back as a header, which cannot carry everything that comes as one.
        if not tag or not (tag.isascii() and tag.isprintable()) or len(body) > self._most_bytes:
            return
        self._answers[root] = Tagged(tag, body, None if self._seconds is None else now + self._seconds)
        self._bytes += len(body)
        while self._bytes > self._most_bytes:
            self._drop(next(iter(self._answers)))

    def _drop(self, root: Root) -> None:
        dropped = self._answers.pop(root, None)
        if dropped is not None:
            self._bytes -= len(dropped.body)
