"""The result of the machinery bench as a table for people and as a line of RESULTS.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.kube.creates import Creates
from bench.kube.delivery import Delivery
from bench.kube.memory import Memory
from bench.kube.syncing import Syncing

CREATES_TARGET = 0.8
SYNC_TARGET = 0.7
MEGABYTES_TARGET = 250

_COLUMNS = (
    "date",
    "commit",
    "command",
    "raw creates/s",
    "creates",
    "raw list s",
    "sync",
    "cached objects",
    "MB (peak)",
    "delay P50 / P99 ms",
    "bare watch P50 / P99 ms",
)
_HEADING = f"""# Machinery: how close `hanse.kube` comes to bare HTTP

One real upstream API server, etcd with fsync, the client on the same machine; everything in one run, raw and ours in
turn, medians of the rounds. creates: Deployments a second through `Client.create`, 16 in flight, as a part of what
prepared requests on 16 bare keep-alive connections reach (target {CREATES_TARGET}). sync: the time of a bare chunked
list (pages of 500, read and not decoded) as a part of the time that `Cache` takes to its first complete copy (target
{SYNC_TARGET}). MB: growth of a fresh process that caches generated Deployments of 4 KB in the engine's projection, at
rest and at its height (target {MEGABYTES_TARGET} for 100,000). delay: from the start of a write in another process, 200
a second, to the cache's handler; the bare watch, in the writer's process, searches the same stream for the stamps.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that one run found out."""

    creates: Creates
    syncing: Syncing
    memory: Memory
    delivery: Delivery


def table(found: Measured) -> str:
    """Return the whole result, for the terminal."""
    creates, syncing, memory, delivery = found.creates, found.syncing, found.memory, found.delivery
    micros = f"{creates.raw.cpu_micros:.0f} / {creates.ours.cpu_micros:.0f} µs of client CPU each"
    cpu = f"{syncing.raw_cpu_seconds:.2f} / {syncing.ours_cpu_seconds:.2f} s of client CPU"
    rows = (
        ("creates/s, raw", f"{creates.raw.rate:.0f}", ""),
        ("creates/s, hanse.kube", f"{creates.ours.rate:.0f}", micros),
        ("  ratio", f"{creates.ratio:.2f}", f"target {CREATES_TARGET}"),
        (f"list of {syncing.objects}, raw", f"{syncing.raw_seconds:.2f} s", f"{syncing.megabytes:.0f} MB"),
        ("cache sync", f"{syncing.ours_seconds:.2f} s", cpu),
        ("  ratio", f"{syncing.ratio:.2f}", f"target {SYNC_TARGET}"),
        (f"{memory.objects} cached", f"{memory.megabytes:.0f} MB", f"at its height {memory.peak_megabytes:.0f} MB"),
        ("", "", f"target {MEGABYTES_TARGET} MB for 100,000"),
        ("delay P50 / P99", f"{delivery.p50:.1f} / {delivery.p99:.1f} ms", f"{delivery.heard} of {delivery.changes}"),
        ("bare watch P50 / P99", f"{delivery.bare_p50:.1f} / {delivery.bare_p99:.1f} ms", ""),
        ("  ratio", f"{delivery.p50 / delivery.bare_p50:.2f}", f"the write itself: P50 {delivery.written_p50:.1f} ms"),
    )
    return "\n".join(f"{name:<24}{value:>18}   {note}".rstrip() for name, value, note in rows)


def result_line(found: Measured, *, date: str, commit: str, command: str) -> str:
    """Return the result as one line of the table in RESULTS.md."""
    creates, syncing, memory, delivery = found.creates, found.syncing, found.memory, found.delivery
    cells = (
        date,
        commit,
        f"`{command}`",
        f"{creates.raw.rate:.0f}",
        f"{creates.ratio:.2f}",
        f"{syncing.raw_seconds:.2f}",
        f"{syncing.ratio:.2f}",
        str(memory.objects),
        f"{memory.megabytes:.0f} ({memory.peak_megabytes:.0f})",
        f"{delivery.p50:.1f} / {delivery.p99:.1f}",
        f"{delivery.bare_p50:.1f} / {delivery.bare_p99:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def add_result(results: Path, line: str) -> None:
    """Add a line to the machinery's table; a new one stands first, as the propagation bench adds to the file's end."""
    title = _HEADING.splitlines()[0]
    text = results.read_text() if results.exists() else ""
    if title not in text.splitlines():
        text = f"{_HEADING}\n{text}"
    before, _, after = text.partition(title)
    section, mark, rest = after.partition("\n# ")
    results.write_text(f"{before}{title}{section.rstrip()}\n{line}\n{mark}{rest}")
