"""A backup of everything that a server stores, for those who may read all of it."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from hanse.apiserver.answers import StreamAnswer
from hanse.apiserver.core import Core

# A path of this server's own: upstream leaves backups to etcd.
PATH = "/hanse/backup"
_CHUNK = 1024 * 1024


async def backup(core: Core) -> StreamAnswer:
    """Answer with a file that `hanse apiserver restore` reads; writers are not held up."""
    file = Path(tempfile.gettempdir()) / f"hanse-backup-{core.runtime.uid()}.db"
    await core.storage.backup(file)
    return StreamAnswer(_pieces(core, file), "application/vnd.sqlite3")


async def _pieces(core: Core, file: Path) -> AsyncIterator[bytes]:
    with await core.runtime.in_thread(lambda: _unnamed(file)) as content:
        while piece := await core.runtime.in_thread(lambda: content.read(_CHUNK)):
            yield piece


def _unnamed(file: Path) -> BinaryIO:
    """Open a file and take its name away: an interrupted download leaves nothing behind."""
    content = file.open("rb")
    file.unlink()
    return content
