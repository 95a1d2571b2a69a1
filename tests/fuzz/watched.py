"""A server in a process of its own, as a judge sees it from outside."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil


class WatchedServer:
    """Tells whether a server lives, what it takes, and what it has said."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._popen = process
        self._process = psutil.Process(process.pid)
        self._log = log

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._popen.poll() is None

    def megabytes(self) -> float:
        """Return the memory that the server has now."""
        return float(self._process.memory_info().rss) / 1e6

    def connections(self) -> int:
        """Return how many connections the server has open."""
        return sum(one.status == "ESTABLISHED" for one in self._process.net_connections("tcp"))

    def log_text(self) -> str:
        """Return what the server has said."""
        return self._log.read_text(errors="replace")


def grown(memory: Sequence[float]) -> float:
    """Return the megabytes that the second half of a run added; the first one loads what is loaded on first use."""
    half = memory[len(memory) // 2 :]
    return half[-1] - half[0] if len(half) > 1 else 0.0
