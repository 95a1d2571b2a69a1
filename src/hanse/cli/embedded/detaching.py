"""Starting a federation that goes on without its terminal, and waiting until it is ready."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

from hanse.cli.embedded.folder import Folder, Record
from hanse.cli.failures import Failure

_START_SECONDS = 90.0


def detach(folder: Folder, options: Sequence[str]) -> Record:
    """Run `hanse up` with these options in a process of its own; returns when it is ready, or raises Failure."""
    folder.make()
    if pid := folder.holder():
        raise Failure(
            f"a federation is running in {folder.path} already (process {pid}); `hanse down` stops it, and --data-dir "
            "gives another one a folder of its own"
        )
    arguments = [sys.executable, "-m", "hanse", "up", "--data-dir", str(folder.path), *options]
    with folder.opened(folder.log.name, "ab") as log:
        begin = log.tell()
        child = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
        )
    return _ready(folder, child, begin)


def _ready(folder: Folder, child: subprocess.Popen[bytes], begin: int) -> Record:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        record = folder.read()
        if record is not None and record.ready and record.pid == child.pid:
            return record
        if child.poll() is not None:
            raise Failure(f"the federation did not start: {_last_words(folder, begin)}")
        if time.monotonic() > deadline:
            child.terminate()
            raise Failure(f"the federation was not ready after {_START_SECONDS:g} s; its log is {folder.log}")
        time.sleep(0.05)


def _last_words(folder: Folder, begin: int) -> str:
    try:
        with folder.log.open("rb") as file:
            file.seek(begin)
            lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    except OSError:
        lines = []
    said = [line for line in lines if line.startswith("error: ")] or lines
    return said[-1].removeprefix("error: ") if said else "it said nothing"
