"""The API server bench's figures as a table for people and as a line of RESULTS.md."""

from __future__ import annotations

from pathlib import Path

from bench.apiserver_measures import Measured

_COLUMNS = (
    "date",
    "commit",
    "command",
    "ready s, real / embedded (faster by)",
    "idle MB (share)",
    "creates/s (ratio)",
    "updates/s (ratio)",
    "list s (faster by)",
    "fan-out events/s (ratio)",
    "delay P50 / P99 ms, real",
    "embedded",
)
# The propagation bench adds to the end of the file.
_LAST = "# Propagation"
_HEADING = f"""# The embedded API server beside kube-apiserver and etcd

One run, one server after the other, the same bare HTTPS client with 16 connections on the same machine; etcd with
fsync, SQLite with synchronous=FULL. ready: from the start of the first process to the first /readyz, the embedded
server's modules compiled as an installation leaves them (target: 3 times faster). idle: memory of kube-apiserver and
etcd, and of the embedded server's process, 5 s later (target: a third).
creates and updates: Deployments (target: as many). list: all Secrets of a namespace in one answer. fan-out: events that
100 watches hear a second while ConfigMaps are created as fast as the server takes them (target: half as many); delay:
from the start of a write to every tenth watch at 50 writes a second.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}"""


def table(real: Measured, embedded: Measured) -> str:
    """Return the comparison for the terminal."""
    rows = (
        ("", "real", "embedded", "ratio", "target"),
        _row("ready, s", real.ready_seconds, embedded.ready_seconds, "3 times faster", inverse=True),
        _row("idle, MB", real.idle_megabytes, embedded.idle_megabytes, "at most 0.33"),
        _row("creates/s", real.creates, embedded.creates, "at least 1.0"),
        _row("updates/s", real.updates, embedded.updates, ""),
        _row("list, s", real.list_seconds, embedded.list_seconds, "", inverse=True),
        _row("fan-out events/s", real.events, embedded.events, "at least 0.5"),
        _row("delay P50, ms", real.delay_p50_ms, embedded.delay_p50_ms, ""),
        _row("delay P99, ms", real.delay_p99_ms, embedded.delay_p99_ms, ""),
        _row("CPU, s", real.cpu_seconds, embedded.cpu_seconds, ""),
    )
    return "\n".join(f"{a:<18}{b:>12}{c:>12}{d:>9}   {e}".rstrip() for a, b, c, d, e in rows)


def _row(name: str, real: float, embedded: float, target: str, *, inverse: bool = False) -> tuple[str, ...]:
    ratio = real / embedded if inverse else embedded / real
    return (name, _figure(real), _figure(embedded), f"{ratio:.2f}", target)


def _figure(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def result_line(real: Measured, embedded: Measured, *, date: str, commit: str, command: str) -> str:
    """Return the result as one line of the table in RESULTS.md."""

    def both(name: str, *, inverse: bool = False) -> str:
        ours, theirs = getattr(embedded, name), getattr(real, name)
        ratio = theirs / ours if inverse else ours / theirs
        return f"{_figure(theirs)} / {_figure(ours)} ({ratio:.2f})"

    cells = (
        date,
        commit,
        f"`{command}`",
        both("ready_seconds", inverse=True),
        both("idle_megabytes"),
        both("creates"),
        both("updates"),
        both("list_seconds", inverse=True),
        both("events"),
        f"{real.delay_p50_ms:.1f} / {real.delay_p99_ms:.1f}",
        f"{embedded.delay_p50_ms:.1f} / {embedded.delay_p99_ms:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def add_result(results: Path, line: str) -> None:
    """Add a line under this bench's own heading; the other two benches keep theirs first and last."""
    text = results.read_text() if results.exists() else ""
    title = _HEADING.splitlines()[0]
    if title not in text:
        above, found, below = text.partition(_LAST)
        text = f"{above}{_HEADING}\n\n{found}{below}"
    before, _, rest = text.partition(title)
    own, separator, after = rest.partition("\n\n# ")
    results.write_text(f"{before}{title}{own.rstrip()}\n{line}\n{separator[1:]}{after}")
