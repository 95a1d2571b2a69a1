"""Turns what the scale bench measured into lines of RESULTS.md."""

from __future__ import annotations

import time
from dataclasses import dataclass

from bench.results import RESULTS
from bench.scale_records import Cells

_TITLE = "# Scale: a large federation from a cold start, and started again"
_COLUMNS = (
    "date",
    "commit",
    "command",
    "clusters × objects",
    "phase",
    "seconds",
    "CPU s, control plane / servers",
    "MB",
    "writes, host / members",
    "peak MB",
    "at rest, % of a core",
)
_HEADING = f"""
{_TITLE}

Host and members are embedded API servers in the bench's own process, on one core, with nothing that acts on what they
store; half of the objects are ConfigMaps, half Deployments without replicas, and each goes into every member. cold
start: the objects are on the host and nowhere else. restart: everything is in place. seconds: from the start of the
control plane until nothing is pending (targets: 60 for 100 clusters × 1,000 objects, 20 for a restart with 5,000
objects). The processor time of the servers is measured at their gates; the rest is the control plane's. MB: growth of
the process over the phase, so that of a cold start holds the copies in the members too, and that of a restart is the
control plane's alone (target: 1,074); peak: the same at its height. Writes of a restart to members: target 0. at rest:
processor time of everything over 15 s.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one phase took."""

    phase: str
    seconds: float
    cpu_seconds: float
    server_seconds: float
    megabytes: float
    host_writes: int
    member_writes: int
    peak_megabytes: float
    idle_percent: float

    def cells(self, clusters: int, objects: int) -> Cells:
        """Return it as a record, from which the plot is drawn."""
        return {
            "phase": self.phase,
            "clusters": clusters,
            "objects": objects,
            "seconds": round(self.seconds, 1),
            "cpu_seconds": round(self.cpu_seconds, 1),
            "server_seconds": round(self.server_seconds, 1),
            "peak_mb": round(self.peak_megabytes),
            "idle_percent": round(self.idle_percent, 1),
        }

    def line(self, commit: str, command: str, clusters: int, objects: int) -> str:
        """Return its line of the table."""
        cells = [
            time.strftime("%Y-%m-%d"),
            commit,
            f"`{command}`",
            f"{clusters} × {objects:,}",
            self.phase,
            f"{self.seconds:.1f}",
            f"{self.cpu_seconds:.1f} / {self.server_seconds:.1f}",
            f"{self.megabytes:.0f}",
            f"{self.host_writes:,} / {self.member_writes:,}",
            f"{self.peak_megabytes:.0f}",
            f"{self.idle_percent:.1f}",
        ]
        return f"| {' | '.join(cells)} |"


def append_scale(lines: list[str]) -> None:
    """Add lines to the table, which is begun with the first of them; other benches' tables stay where they are."""
    text = RESULTS.read_text() if RESULTS.exists() else ""
    if _TITLE not in text:
        RESULTS.write_text(text + _HEADING + "".join(f"{line}\n" for line in lines))
        return
    rows = text.split("\n")
    start = rows.index(_TITLE)
    last = max(place for place in range(start, _end(rows, start)) if rows[place].startswith("|"))
    RESULTS.write_text("\n".join([*rows[: last + 1], *lines, *rows[last + 1 :]]))


def _end(rows: list[str], start: int) -> int:
    """Return where the section that begins at a row ends."""
    return next((place for place in range(start + 1, len(rows)) if rows[place].startswith("# ")), len(rows))
