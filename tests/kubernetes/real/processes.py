"""Processes that cannot outlive their holder, seen from the holder's side."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.kubernetes.real import guard


class GuardedProcesses:
    """Starts and signals processes that are killed, and whose folder is removed, when this process ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pids: dict[str, int] = {}
        self._lock = threading.Lock()
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C in a terminal must reach the holder only: it decides when to stop.
            start_new_session=True,
        )

    def start(self, name: str, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        """Start a process under a name; its output goes to the log of that name."""
        surroundings = dict(os.environ) | dict(environment or {})
        pid: int = self._ask("start", name, list(argv), str(self.log(name)), surroundings)
        self.pids[name] = pid
        return pid

    def exit_code(self, name: str) -> int | None:
        """Return how a process ended, or None while it runs."""
        code: int | None = self._ask("poll", name)
        return code

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a process."""
        self._ask("signal", name, int(number))

    def kill(self, name: str) -> None:
        """Kill a process with SIGKILL and wait until it is gone."""
        self._ask("kill", name)
        del self.pids[name]

    def log(self, name: str) -> Path:
        """Return where a process writes its output."""
        return self.folder / f"{name}.log"

    def log_tail(self, name: str, lines: int = 20) -> str:
        """Return the last lines that a process wrote."""
        log = self.log(name)
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""

    def close(self) -> None:
        """Kill all processes and remove the folder."""
        with self._lock:
            self.pids.clear()
            # Closes the pipe, which is the guard's sign to clean up, and waits for its end.
            self._guard.communicate()

    def _ask(self, *request: Any) -> Any:
        with self._lock:
            assert self._guard.stdin is not None
            assert self._guard.stdout is not None
            self._guard.stdin.write(json.dumps(request) + "\n")
            self._guard.stdin.flush()
            line = self._guard.stdout.readline()
        if not line:
            raise OSError(f"the guard of {self.folder} is gone, and its processes with it")
        answer = json.loads(line)
        if "error" in answer:
            raise OSError(answer["error"])
        return answer["value"]
