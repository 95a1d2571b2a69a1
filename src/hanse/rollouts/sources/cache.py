"""Indexes and archives of charts on disk, so that a repository may be dead while its charts are rolled out.

A file is written aside and renamed, and an archive's name holds the digest of its content: half a file, or one that
rotted, is never taken for a whole one. The oldest archives go when all of them together are too large. Every method
blocks, and may be called from several threads.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from contextlib import suppress
from pathlib import Path

_UNSAFE = re.compile(r"[^A-Za-z0-9.+-]")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PARTIAL = ".partial"
_ARCHIVE = ".tgz"


class ChartCache:
    """Keeps what was downloaded, below one folder."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._writing = threading.Lock()

    def index(self, source: str) -> bytes | None:
        """Return the index of a source as it was last kept; None where there is none."""
        try:
            return self._index_path(source).read_bytes()
        except OSError:
            return None

    def keep_index(self, source: str, content: bytes) -> None:
        """Keep the index of a source in place of an older one."""
        with self._writing:
            self._write(self._index_path(source), content)

    def archive(self, source: str, name: str, version: str, digest: str = "") -> bytes | None:
        """Return an archive that is whole, of that digest where one is given; None where there is none."""
        if digest and not _DIGEST.fullmatch(digest):
            return None
        pattern = f"{_stem(name, version)}.{digest or '*'}{_ARCHIVE}"
        for path in sorted(self._place(source).glob(pattern), key=_age):
            content = _whole(path)
            if content is not None:
                return content
        return None

    def keep_archive(self, source: str, name: str, version: str, content: bytes) -> None:
        """Keep an archive; others that were not used for longest make room for it."""
        digest = hashlib.sha256(content).hexdigest()
        kept = self._place(source) / f"{_stem(name, version)}.{digest}{_ARCHIVE}"
        with self._writing:
            self._write(kept, content)
            self._make_room(kept)

    def _place(self, source: str) -> Path:
        return self._folder / f"{_readable(source, 60)}-{_short_digest(source)}"

    def _index_path(self, source: str) -> Path:
        return self._place(source) / "index.json"

    def _write(self, path: Path, content: bytes) -> None:
        # A cache that cannot be written is a slower one, not a failed rollout.
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            aside = path.with_name(f".{path.name[:100]}.{os.getpid()}{_PARTIAL}")
            with aside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)

    def _make_room(self, newest: Path) -> None:
        with suppress(OSError):
            for forgotten in self._folder.glob(f"*/.*{_PARTIAL}"):
                forgotten.unlink()
            archives = sorted(self._folder.glob(f"*/*{_ARCHIVE}"), key=_age)
            total = sum(path.stat().st_size for path in archives)
            while total > self._most_bytes and archives:
                oldest = archives.pop()
                if oldest != newest:
                    total -= oldest.stat().st_size
                    oldest.unlink()


def _whole(path: Path) -> bytes | None:
    """Return a file's content if it has the digest that its name says; otherwise it is removed."""
    try:
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != path.name.removesuffix(_ARCHIVE).rpartition(".")[2]:
            path.unlink()
            return None
        os.utime(path)
    except OSError:
        return None
    return content


def _age(path: Path) -> float:
    """Sort the last used first."""
    try:
        return -path.stat().st_mtime
    except OSError:
        return 0.0


def _stem(name: str, version: str) -> str:
    return f"{_readable(name, 60)}-{_readable(version, 60)}-{_short_digest(f'{name} {version}')}"


def _readable(text: str, length: int) -> str:
    return _UNSAFE.sub("-", text)[:length].lstrip(".") or "-"


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
