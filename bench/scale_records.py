"""Keeps what the scale benches measured: lines of scale.jsonl, from which the plot is drawn, and of RESULTS.md."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.results import append_results, line

RECORDS = Path(__file__).parent / "scale.jsonl"
Cells = dict[str, float | str]


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that is measured at several sizes: its name, what its table says of itself, and the columns."""

    name: str
    title: str
    text: str
    columns: tuple[tuple[str, str], ...]

    @property
    def heading(self) -> str:
        """The heading of its table in RESULTS.md."""
        shown = ("date", "commit", "command", *(header for _, header in self.columns))
        return f"# {self.title}\n\n{self.text}\n\n| {' | '.join(shown)} |\n|{'---|' * len(shown)}\n"


RESTART = Subject(
    "restart",
    "Scale: `hanse up` on a data folder that holds a large federation",
    """One process simulates all clusters, their nodes and pods and runs the control plane; the folder was filled before
and all its pods run. seconds: from the start until everything is ready (target: 120 for 100 clusters × 50 nodes × 500
pods). CPU: processor time until then. peak: the most memory of the process, the rest afterwards included (target: 6,442
MB). at rest: part of one core over 30 s, 20 s after that (target: 20 %).""",
    (
        ("clusters", "clusters"),
        ("nodes", "nodes each"),
        ("pods", "pods each"),
        ("seconds", "seconds"),
        ("cpu_seconds", "CPU s"),
        ("peak_mb", "peak MB"),
        ("idle_percent", "at rest, % of a core"),
    ),
)


def keep(subject: Subject, cells: Cells, *, record: bool) -> str:
    """Record a measurement, unless it is only to be looked at; returns its line of the table."""
    command = command_line()
    shown = [time.strftime("%Y-%m-%d"), commit(), f"`{command}`", *(str(cells[key]) for key, _ in subject.columns)]
    if record:
        note(subject.name, cells)
        append_results([line(shown)], subject.heading)
    return line(shown)


def note(subject: str, cells: Cells) -> None:
    """Add a measurement to the records."""
    entry = {"subject": subject, "date": time.strftime("%Y-%m-%d"), "commit": commit(), "command": command_line()}
    with RECORDS.open("a") as file:
        file.write(json.dumps(entry | cells) + "\n")


def read_records(lines: Sequence[str]) -> list[Cells]:
    """Return of every subject, phase and size what was measured last, in order of size."""
    last: dict[tuple[object, ...], Cells] = {}
    for text in lines:
        cells: Cells = json.loads(text)
        size = (cells["subject"], cells.get("phase"), cells["clusters"])
        last[(*size, cells.get("objects"), cells.get("nodes"), cells.get("pods"))] = cells
    return sorted(last.values(), key=lambda cells: float(cells["clusters"]))


def command_line() -> str:
    """Return the command that is being run, without folders of this machine."""
    module = Path(sys.argv[0]).stem
    words = [word for word in sys.argv[1:] if "/" not in word and word != "--folder"]
    return shlex.join(["python", "-m", f"bench.{module}", *words])


def commit() -> str:
    """Return the commit that is measured."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "–"
