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
)
_HEADING = f"""# Propagation: how much slower than raw writes

Real upstream API servers, etcd with fsync, one host and its members on one machine. *raw* is the harness writing
straight into every member; all ratios are to the mean of the raw runs of the same report, so they can be compared
across machines and the seconds cannot. burst, update and delete: time until the last of the Deployments is so in all
members. steady: latency at a fixed rate. Writes are etcd revisions of the burst, until all is quiet, for each
Deployment: on the host, and on one member. CPU and memory are those of `hanse controller` over the timed phases.
Members run no workload controllers and no scheduler, which would slow raw writes as well and hide the control plane's
part; with `--member-controllers all` in the command they do.

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
    """Add lines to RESULTS.md, which is begun with the first of them."""
    if not lines:
        return
    before = RESULTS.read_text() if RESULTS.exists() else _HEADING
    RESULTS.write_text(before + "".join(f"{line}\n" for line in lines))


def _measured(phases: Report, ratio: Report) -> list[str]:
    controllers = [phase["processes"].get("controller", {}) for phase in phases.values()]
    return [
        *(_times(ratio, f"{phase}.t100_s") for phase in ("burst", "update", "delete")),
        f"{_times(ratio, 'steady.p50_ms')} / {_times(ratio, 'steady.p99_ms')}",
        _writes(phases["burst"]),
        f"{sum(part.get('cpu_settled_s', 0.0) for part in controllers):.1f}",
        f"{max(part.get('peak_rss_mb', 0.0) for part in controllers):.0f}",
    ]


def _times(ratio: Report, key: str) -> str:
    return f"{ratio[key]:.2f}×" if key in ratio else "–"


def _writes(burst: Report) -> str:
    members = [count for name, count in burst["writes"].items() if name != "host"]
    host, member = burst["writes"]["host"], sum(members) / len(members)
    return f"{host / burst['count']:.1f} / {member / burst['count']:.1f}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
