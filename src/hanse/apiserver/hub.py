"""The watch hub: every change goes out to the streams that want it.

A change is encoded once for each representation that any stream asked for and framed once for HTTP; a stream that
does not take its bytes is cut rather than waited for, since a client that lost a stream knows how to resume.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hanse.apiserver import representation
from hanse.apiserver.negotiation import Form
from hanse.apiserver.registry import Served
from hanse.apiserver.storage import Change
from hanse.apiserver.storage.interface import restamp
from hanse.kube.runtime import Runtime

Matches = Callable[[bytes], bool]


class Frame:
    """One event's bytes, and the same framed as an HTTP chunk, made when first wanted."""

    __slots__ = ("_chunk", "line")

    def __init__(self, line: bytes) -> None:
        self.line = line
        self._chunk = b""

    @property
    def chunk(self) -> bytes:
        """The event as one chunk of a chunked body."""
        if not self._chunk:
            self._chunk = b"%x\r\n%b\r\n" % (len(self.line), self.line)
        return self._chunk


class Sink(Protocol):
    """Where a stream's events go."""

    @property
    def remote(self) -> bool:
        """Whether the stream crosses a connection that dies with the server's listener."""

    def send(self, frame: Frame) -> bool:
        """Take an event without waiting; False when the reader is too far behind."""

    def end(self, *, broken: bool) -> None:
        """Finish the stream: properly, or as if the connection were lost."""


class Watcher:
    """One stream's wishes: which kind in which form, below which prefix, matching what."""

    __slots__ = ("bookmarks", "form", "matches", "prefix", "sent_header", "served", "sink")

    def __init__(
        self, served: Served, form: Form, *, prefix: str, matches: Matches | None, bookmarks: bool, sink: Sink
    ) -> None:
        self.served = served
        self.form = form
        self.prefix = prefix
        self.matches = matches
        self.bookmarks = bookmarks
        self.sink = sink
        self.sent_header = False


class Hub:
    """All streams of one server."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._watchers: dict[str, dict[Watcher, None]] = {}
        self._listeners: list[Callable[[Change], None]] = []

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Tell a part of the server itself about every change, before any stream hears of it."""
        self._listeners.append(listener)

    def add(self, watcher: Watcher) -> None:
        """Begin to send changes to a stream."""
        self._watchers.setdefault(watcher.served.bucket, {})[watcher] = None

    def remove(self, watcher: Watcher) -> None:
        """Send nothing more to a stream."""
        held = self._watchers.get(watcher.served.bucket)
        if held is not None:
            held.pop(watcher, None)

    def publish(self, change: Change) -> None:
        """Send a change to everyone who wants it."""
        for listener in self._listeners:
            listener(change)
        held = self._watchers.get(change.bucket)
        if not held:
            return
        frames: dict[tuple[str, Form, str, bool], Frame] = {}
        for watcher in list(held):
            if change.path.startswith(watcher.prefix):
                self._deliver(watcher, change, frames)

    def replay(self, watcher: Watcher, changes: list[Change]) -> None:
        """Send a stream what it missed."""
        for change in changes:
            if change.path.startswith(watcher.prefix):
                self._deliver(watcher, change, {})

    def send_object(self, watcher: Watcher, kind: str, value: bytes) -> None:
        """Send one object as an event of a given type."""
        self._send(watcher, self._frame(watcher, kind, value, {}))

    def send_bookmark(self, watcher: Watcher, revision: int, *, initial_end: bool = False) -> None:
        """Tell a stream how far it has come."""
        line = representation.bookmark(watcher.served, revision, watcher.form, initial_end=initial_end)
        self._send(watcher, Frame(line))

    def bookmark_all(self, revision: int) -> None:
        """Tell every stream that wants it how far it has come."""
        for held in list(self._watchers.values()):
            for watcher in list(held):
                if watcher.bookmarks:
                    self.send_bookmark(watcher, revision)

    def end_bucket(self, bucket: str) -> None:
        """Finish the streams of a kind that is no longer served."""
        for watcher in self._watchers.pop(bucket, {}):
            watcher.sink.end(broken=False)

    def cut_remote(self) -> None:
        """Break every stream that crosses a connection, as a dying server does."""
        watchers = [watcher for held in self._watchers.values() for watcher in held if watcher.sink.remote]
        for watcher in watchers:
            self.remove(watcher)
            watcher.sink.end(broken=True)

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return sum(len(held) for held in self._watchers.values())

    def _deliver(self, watcher: Watcher, change: Change, frames: dict[tuple[str, Form, str, bool], Frame]) -> None:
        kind = _event_type(watcher.matches, change)
        if kind is None:
            return
        # An object that left the selection is shown as it was when it last belonged, at the version of its leaving.
        left = kind == "DELETED" and not change.deleted and change.previous is not None
        value = restamp(change.previous or b"", change.revision) if left else change.value
        self._send(watcher, self._frame(watcher, kind, value, frames))

    def _frame(
        self, watcher: Watcher, kind: str, value: bytes, frames: dict[tuple[str, Form, str, bool], Frame]
    ) -> Frame:
        header = not watcher.sent_header
        watcher.sent_header = True
        key = (watcher.served.resource.api_version, watcher.form, kind, header and watcher.form.view == "Table")
        frame = frames.get(key)
        if frame is None:
            now = self._runtime.now()
            line = representation.event(watcher.served, kind, value, watcher.form, now, header=header)
            frame = frames[key] = Frame(line)
        return frame

    def _send(self, watcher: Watcher, frame: Frame) -> None:
        if not watcher.sink.send(frame):
            self.remove(watcher)
            watcher.sink.end(broken=True)


def _event_type(matches: Matches | None, change: Change) -> str | None:
    if matches is None:
        if change.deleted:
            return "DELETED"
        return "ADDED" if change.previous is None else "MODIFIED"
    before = change.previous is not None and matches(change.previous)
    after = not change.deleted and matches(change.value)
    if before and after:
        return "MODIFIED"
    if after:
        return "ADDED"
    return "DELETED" if before else None
