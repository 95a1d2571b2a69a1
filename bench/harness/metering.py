"""What a phase costs: CPU, memory, and the writes that each API server took."""

from __future__ import annotations

import asyncio
import math
import os

import psutil

from bench.harness.rest import Api, Manifest, clock


class Processes:
    """CPU and RSS of named groups of processes."""

    INTERVAL = 0.5

    def __init__(self, specs: list[str]):
        self._groups: dict[str, list[psutil.Process]] = {}
        for spec in specs:
            name, _, pids = spec.rpartition("=")
            if not name:
                raise SystemExit(f"--pid wants NAME=PID[,PID...], got {spec!r}")
            self._groups.setdefault(name, []).extend(psutil.Process(int(pid)) for pid in pids.split(","))
        self._self = psutil.Process()
        self._peak: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look at memory, twice a second."""
        self._task = asyncio.create_task(self._sample())

    async def stop(self) -> None:
        """Stop looking."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @staticmethod
    def _seconds(process: psutil.Process) -> float:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            return math.nan
        return times.user + times.system

    def _rss(self, name: str) -> int:
        total = 0
        for process in self._groups[name]:
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:
                pass
        return total

    def _look(self) -> None:
        for name in self._groups:
            self._peak[name] = max(self._peak.get(name, 0), self._rss(name))

    async def _sample(self) -> None:
        while True:
            self._look()
            await asyncio.sleep(self.INTERVAL)

    def reset_peaks(self) -> None:
        """Begin a new peak for every group."""
        self._peak = {}
        self._look()

    def peaks_mb(self) -> dict[str, float]:
        """The most memory that each group had since the last reset."""
        self._look()
        return {name: round(peak / 1e6, 1) for name, peak in self._peak.items()}

    def cpu(self) -> dict[str, float]:
        """The CPU seconds that each group, and the harness itself, has used so far."""
        seconds = {name: sum(map(self._seconds, group)) for name, group in self._groups.items()}
        seconds["harness"] = self._seconds(self._self)
        return seconds


class Meter:
    """Everything measured around one phase: start, mark (wave done), stop (settled)."""

    def __init__(self, processes: Processes, clusters: list[Api]):
        self._processes = processes
        self._clusters = clusters
        self._marks: dict[str, float] = {}

    async def start(self) -> Meter:
        """Note where everything stands before the first request."""
        self.load1 = os.getloadavg()[0]
        self._processes.reset_peaks()
        self._revisions = await self._read_revisions()
        self._cpu = self._processes.cpu()
        self._machine = psutil.cpu_times()
        self._t0 = clock()
        return self

    async def _read_revisions(self) -> dict[str, int]:
        values = await asyncio.gather(*(api.revision() for api in self._clusters))
        return {api.name: value for api, value in zip(self._clusters, values, strict=True)}

    def mark(self) -> None:
        """The wave is complete; what follows is only backlog."""
        self._marks = self._processes.cpu()
        self._wall = clock() - self._t0
        cores = psutil.cpu_count() or 1
        now = psutil.cpu_times()
        idle = now.idle - self._machine.idle + now.iowait - self._machine.iowait
        self._busy_seconds = round(max(0.0, self._wall * cores - idle), 2)
        self._busy = {
            "cores": cores,
            "wall_s": round(self._wall, 3),
            "busy_s": self._busy_seconds,
            "steal_s": round(getattr(now, "steal", 0) - getattr(self._machine, "steal", 0), 2),
            "load1_before": round(self.load1, 2),
        }

    async def stop(self, settle_s: float) -> Manifest:
        """Return what the phase has used, up to the mark and up to the quiet after it."""
        cpu = self._processes.cpu()
        revisions = await self._read_revisions()
        peaks = self._processes.peaks_mb()
        processes: dict[str, dict[str, float]] = {
            name: {
                "cpu_s": round(self._marks[name] - self._cpu[name], 2),
                "cpu_settled_s": round(cpu[name] - self._cpu[name], 2),
                **({"peak_rss_mb": peaks[name]} if name in peaks else {}),
            }
            for name in cpu
        }
        named = sum(entry["cpu_s"] for entry in processes.values())
        return {
            "settle_s": round(settle_s, 1),
            "processes": processes,
            "machine": {**self._busy, "other_s": round(max(0.0, self._busy_seconds - named), 2)},
            "writes": {name: revisions[name] - self._revisions[name] for name in revisions},
        }
