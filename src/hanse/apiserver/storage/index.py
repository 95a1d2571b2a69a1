"""The objects and the recent history in memory: what both engines answer reads from."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from itertools import islice

from hanse.apiserver.storage.interface import Change, Compacted, Record, restamp


class _Bucket:
    __slots__ = ("paths", "records")

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.paths: list[str] = []

    def put(self, record: Record) -> None:
        if record.path not in self.records:
            insort(self.paths, record.path)
        self.records[record.path] = record

    def remove(self, path: str) -> None:
        if self.records.pop(path, None) is not None:
            del self.paths[bisect_left(self.paths, path)]

    def under(self, prefix: str) -> list[Record]:
        if not prefix:
            return [self.records[path] for path in self.paths]
        start = bisect_left(self.paths, prefix)
        found = []
        for path in islice(self.paths, start, None):
            if not path.startswith(prefix):
                break
            found.append(self.records[path])
        return found


class Index:
    """A sorted map of records and a bounded log of changes, in step with each other."""

    def __init__(self, history: int) -> None:
        self._history = history
        self._buckets: dict[str, _Bucket] = {}
        self._log: deque[Change] = deque()
        self.revision = 0
        self.oldest = 0  # history is complete for every revision after this one

    def get(self, bucket: str, path: str) -> Record | None:
        """Return the object under a key."""
        held = self._buckets.get(bucket)
        return held.records.get(path) if held else None

    def scan(self, bucket: str, prefix: str) -> list[Record]:
        """Return the objects under a prefix in order."""
        held = self._buckets.get(bucket)
        return held.under(prefix) if held else []

    def all(self) -> list[tuple[str, Record]]:
        """Return every object with its bucket."""
        return [(name, record) for name, held in self._buckets.items() for record in held.records.values()]

    def buckets(self) -> list[str]:
        """Return the names of the buckets that hold anything."""
        return [name for name, held in self._buckets.items() if held.records]

    def scan_at(self, bucket: str, prefix: str, revision: int) -> list[Record]:
        """Return the objects under a prefix as they were: today's, with later changes taken back."""
        records = {record.path: record for record in self.scan(bucket, prefix)}
        for change in reversed(self.changes(bucket, revision)):
            if not change.path.startswith(prefix):
                continue
            if change.previous is None:
                records.pop(change.path, None)
            else:
                records[change.path] = Record(change.path, change.previous, revision_of(change.previous))
        return [records[path] for path in sorted(records)]

    def changes(self, bucket: str, since: int) -> list[Change]:
        """Return a bucket's changes after a revision, oldest first."""
        if since < self.oldest:
            raise Compacted(since, self.oldest)
        found = []
        for change in reversed(self._log):
            if change.revision <= since:
                break
            if change.bucket == bucket:
                found.append(change)
        found.reverse()
        return found

    def load(self, bucket: str, record: Record) -> None:
        """Take in an object that was stored before."""
        self._buckets.setdefault(bucket, _Bucket()).put(record)

    def load_log(self, entries: list[tuple[int, str, str, bytes | None]], oldest: int) -> None:
        """Rebuild the log from (revision, bucket, path, previous) rows, newest first.

        A change's outcome is what the next change of the same key found before it, or what is stored now.
        """
        after: dict[tuple[str, str], bytes | None] = {}
        for revision, bucket, path, previous in entries:
            key = (bucket, path)
            if key in after:
                value = after[key]
            else:
                record = self.get(bucket, path)
                value = record.value if record else None
            after[key] = previous
            final = value if value is not None else restamp(previous or b"", revision)
            self._log.appendleft(Change(bucket, path, revision, final, previous, deleted=value is None))
        self.oldest = oldest

    def apply(self, change: Change) -> None:
        """Make a write visible."""
        held = self._buckets.setdefault(change.bucket, _Bucket())
        if change.deleted:
            held.remove(change.path)
        else:
            held.put(Record(change.path, change.value, change.revision))
        self.revision = change.revision
        self._log.append(change)
        if len(self._log) > self._history:
            self.oldest = self._log.popleft().revision

    def forget(self, revision: int) -> None:
        """Drop history up to a revision."""
        while self._log and self._log[0].revision <= revision:
            self._log.popleft()
        self.oldest = max(self.oldest, min(revision, self.revision))


def revision_of(value: bytes) -> int:
    """Read the revision that was stamped into an object."""
    start = len(b'{"metadata":{"resourceVersion":"')
    return int(value[start : value.index(b'"', start)])
