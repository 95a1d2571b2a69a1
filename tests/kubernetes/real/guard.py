"""A small process that owns a cluster's components and dies with whoever asked for them.

The holder (a test run, a bench) talks to it over a pipe: one JSON request a line, one JSON answer a line. When
the pipe closes, for whatever reason, kill -9 of the holder included, the guard kills what it started and
removes the folder. Should the guard itself be killed, the kernel kills its children.

It runs on the bare standard library, as `python -I -S guard.py FOLDER`, because there is one for each cluster.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Children:
    """The processes of one cluster, by name."""

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, argv: list[str], log: str, environment: dict[str, str]) -> int:
        """Start a process whose output is added to a log file; answer its pid."""
        guard = os.getpid()

        def die_with_guard() -> None:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != guard:  # it died before the kernel was told
                os._exit(1)

        with open(log, "ab") as output:
            self._running[name] = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                # The guard has one thread, so nothing can hold a lock across the fork.
                preexec_fn=die_with_guard,  # noqa: PLW1509
            )
        return self._running[name].pid

    def poll(self, name: str) -> int | None:
        """Answer the exit code, or nothing while it runs."""
        return self._running[name].poll()

    def signal(self, name: str, number: int) -> None:
        """Send a signal, unless the process is gone already."""
        self._running[name].send_signal(number)

    def kill(self, name: str) -> int:
        """Kill with SIGKILL; answer the exit code once it is gone."""
        child = self._running[name]
        child.kill()
        return child.wait()

    def kill_all(self) -> None:
        """Kill every process, all at once, and wait until they are gone."""
        for child in self._running.values():
            child.kill()
        for child in self._running.values():
            child.wait()


def answer(children: Children, line: str) -> dict[str, Any]:
    """Carry out one request and say how it went."""
    verb, *arguments = json.loads(line)
    try:
        return {"value": getattr(children, verb)(*arguments)}
    except OSError as error:
        return {"error": str(error)}


def main(folder: str) -> None:
    """Serve requests until the holder is gone, then leave nothing behind."""
    children = Children()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        for line in sys.stdin:
            print(json.dumps(answer(children, line)), flush=True)
    finally:
        children.kill_all()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
