"""Turns a report of the propagation bench into a line of RESULTS.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Report = dict[str, Any]

RESULTS = Path(__file__).parent / "RESULTS.md"
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
_HEADING = f"""{_TITLE}

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
    """Return one table line for each run that is not raw."""
    runs = {run["run"]: run for run in report["runs"]}
    raws = [run["phases"]["burst"]["t100_s"] for run in report["runs"] if run["mode"] == "raw"]
    base = f"{sum(raws) / len(raws):.2f}" if raws and all(raws) else "–"
    start = [report["started"][:10], commit, f"`{command}`", base]
    return [_line([*start, *_measured(runs[ratio["run"]]["phases"], ratio)]) for ratio in report["ratios"]]


def append_results(lines: list[str]) -> None:
    """Add lines to the bench's own table in RESULTS.md, which is begun with the first of them."""
    if lines:
        RESULTS.write_text(with_results(RESULTS.read_text() if RESULTS.exists() else "", lines))


def with_results(text: str, lines: list[str]) -> str:
    """Return the text with lines at the end of the bench's own table; other benches' tables stay as they are."""
    rows = text.splitlines()
    if _TITLE not in rows:
        rows += [*([""] if rows else []), *_HEADING.splitlines()]
    start = rows.index(_TITLE)
    end = next((place for place in range(start + 1, len(rows)) if rows[place].startswith("# ")), len(rows))
    last = max(place for place in range(start, end) if rows[place].startswith("|"))
    return "\n".join([*rows[: last + 1], *lines, *rows[last + 1 :]]) + "\n"


def _measured(phases: Report, ratio: Report) -> list[str]:
    controllers = [phase["processes"].get("controller", {}) for phase in phases.values()]
    return [
        *(_times(ratio, f"{phase}.t100_s") for phase in ("burst", "update", "delete")),
        f"{_times(ratio, 'steady.p50_ms')} / {_times(ratio, 'steady.p99_ms')}",
        _writes(phases["burst"]),
        f"{sum(part.get('cpu_settled_s', 0.0) for part in controllers):.1f}",
        f"{max(part.get('peak_rss_mb', 0.0) for part in controllers):.0f}",
        _at_rest(phases.get("idle")),
    ]


def _times(ratio: Report, key: str) -> str:
    return f"{ratio[key]:.2f}×" if key in ratio else "–"


def _writes(burst: Report) -> str:
    members = [count for name, count in burst["writes"].items() if name != "host"]
    host, member = burst["writes"]["host"], sum(members) / len(members)
    return f"{host / burst['count']:.1f} / {member / burst['count']:.1f}"


def _at_rest(idle: Report | None) -> str:
    if idle is None:
        return "–"
    members = sum(count for name, count in idle["changes"].items() if name != "host")
    return f"{idle['changes']['host']} / {members} in {idle['seconds']:.0f} s"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
