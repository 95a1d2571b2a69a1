"""Turns a report of the propagation bench into a line of RESULTS.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Report = dict[str, Any]

RESULTS = Path(__file__).parent / "RESULTS.md"
FEDERATED = "federated"
"""The mode that writes federated types, measured beside the native front door."""
_COLUMNS = (
    "date",
    "commit",
    "command",
    "raw burst s",
    "burst",
    "update",
    "delete",
    "steady p50 / p99",
    "writes an object, host / member",
    "CPU s",
    "peak RSS MB",
    "writes at rest, host / members",
)
_TITLE = "# Propagation: how much slower than raw writes"
PROPAGATION_HEADING = f"""{_TITLE}

Real upstream API servers, etcd with fsync, one host and its members on one machine. *raw* is the harness writing
straight into every member; all ratios are to the mean of the raw runs of the same report, so they can be compared
across machines and the seconds cannot. burst, update and delete: time until the last of the Deployments is so in all
members. steady: latency at a fixed rate. Writes are etcd revisions of the burst, until all is quiet, for each
Deployment: on the host, and on one member. CPU and memory are those of `hanse controller` over the timed phases.
Writes at rest are requests to change anything but Leases, to the host and to all members together, in the seconds of
rest after the burst (target 0). Members run no workload controllers and no scheduler, which would slow raw writes as
well and hide the control plane's part; with `--member-controllers all` in the command they do.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


def result_lines(report: Report, *, command: str, commit: str) -> list[str]:
    """Return one table line for each run that is not raw; federated types have a table of their own."""
    runs = {run["run"]: run for run in report["runs"]}
    raws = [run["phases"]["burst"]["t100_s"] for run in report["runs"] if run["mode"] == "raw"]
    base = f"{sum(raws) / len(raws):.2f}" if raws and all(raws) else "–"
    start = [report["started"][:10], commit, f"`{command}`", base]
    shown = [ratio for ratio in report["ratios"] if ratio["mode"] != FEDERATED]
    return [line([*start, *_measured(runs[ratio["run"]]["phases"], ratio)]) for ratio in shown]


def append_results(lines: list[str], heading: str = PROPAGATION_HEADING) -> None:
    """Add lines to a table of RESULTS.md, which is begun under its heading with the first of them."""
    if lines:
        RESULTS.write_text(with_results(RESULTS.read_text() if RESULTS.exists() else "", lines, heading))


def with_results(text: str, lines: list[str], heading: str = PROPAGATION_HEADING) -> str:
    """Return the text with lines at the end of the table under a heading; other tables stay as they are."""
    rows, begun = text.splitlines(), heading.splitlines()
    if begun[0] not in rows:
        rows += [*([""] if rows else []), *begun]
    start = rows.index(begun[0])
    end = next((place for place in range(start + 1, len(rows)) if rows[place].startswith("# ")), len(rows))
    last = max(place for place in range(start, end) if rows[place].startswith("|"))
    return "\n".join([*rows[: last + 1], *lines, *rows[last + 1 :]]) + "\n"


def _measured(phases: Report, ratio: Report) -> list[str]:
    controllers = [phase["processes"].get("controller", {}) for phase in phases.values()]
    return [
        *(times(ratio, f"{phase}.t100_s") for phase in ("burst", "update", "delete")),
        f"{times(ratio, 'steady.p50_ms')} / {times(ratio, 'steady.p99_ms')}",
        writes_an_object(phases["burst"]),
        f"{controller_cpu(phases):.1f}",
        f"{max(part.get('peak_rss_mb', 0.0) for part in controllers):.0f}",
        at_rest(phases.get("idle")),
    ]


def controller_cpu(phases: Report) -> float:
    """Return the processor seconds of the control plane over a run's timed phases."""
    return float(sum(phase["processes"].get("controller", {}).get("cpu_settled_s", 0.0) for phase in phases.values()))


def times(ratio: Report, key: str) -> str:
    """Return how many times slower a phase was, as a cell."""
    return f"{ratio[key]:.2f}×" if key in ratio else "–"


def writes_an_object(burst: Report) -> str:
    """Return the writes to the host and to one member for each object of a burst, as a cell."""
    members = [count for name, count in burst["writes"].items() if name != "host"]
    host, member = burst["writes"]["host"], sum(members) / len(members)
    return f"{host / burst['count']:.1f} / {member / burst['count']:.1f}"


def at_rest(idle: Report | None) -> str:
    """Return the writes to the host and to all members while nothing was asked for, as a cell."""
    if idle is None:
        return "–"
    members = sum(count for name, count in idle["changes"].items() if name != "host")
    return f"{idle['changes']['host']} / {members} in {idle['seconds']:.0f} s"


def line(cells: list[str]) -> str:
    """Return cells as a line of a table."""
    return f"| {' | '.join(cells)} |"
