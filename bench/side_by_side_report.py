"""Turns runs of several control planes on the same clusters into lines of RESULTS.md, one for each run."""

from __future__ import annotations

import time

from bench.results import Report, at_rest, controller_cpu, line, times, writes_an_object

_TITLE = "# Side by side: raw writes, KubeFed and Hanse on the same clusters"
_COLUMNS = (
    "date",
    "commit",
    "command",
    "who",
    "objects × members",
    "s to 100 %: burst / update / delete",
    "times raw",
    "delay P50 / P99 ms",
    "writes an object, host / member",
    "CPU s: control plane / API servers and etcd",
    "peak RSS MB",
    "writes at rest, host / members",
)
_NAMES = {
    "raw": "raw",
    "kubefed": "KubeFed v0.10.0",
    "migrated": "Hanse, FederatedDeployments",
    "federated": "Hanse, FederatedDeployments",
    "hanse": "Hanse, Deployments",
}
_WAVES = ("burst", "update", "delete")
SIDE_BY_SIDE_HEADING = f"""{_TITLE}

One host and three members, all upstream API servers, etcd with fsync, and members that only store. KubeFed is its
controller-manager v0.10.0 as its chart configures it, but with ten reconciles at a time instead of one, short periods
for its lock and its clusters' health, and without its admission webhook; Hanse takes its clusters over and is given
the same FederatedDeployments of 3 KB. s to 100 %: from the first request until the last object is so in every member;
delay: from the request until all members have the object, at the rate of the command, 5 a second by default. Ratios
are to the mean of the raw runs at both ends. Writes are etcd revisions of the burst until all is quiet. CPU and memory
are over all phases.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


def side_by_side_lines(report: Report, *, command: str, commit: str) -> list[str]:
    """Return a line for each run, raw ones included."""
    against = {ratio["run"]: ratio for ratio in report["ratios"]}
    start = [time.strftime("%Y-%m-%d"), commit, f"`{command}`"]
    return [line([*start, *_cells(run, against.get(run["run"], {}))]) for run in report["runs"]]


def _cells(run: Report, ratio: Report) -> list[str]:
    phases, burst, raw = run["phases"], run["phases"]["burst"], run["mode"] == "raw"
    delay = phases["steady"]["sent_to_all_members"]
    peaks = [phase["processes"].get("controller", {}).get("peak_rss_mb", 0.0) for phase in phases.values()]
    servers = _cpu(phases, "apiservers") + _cpu(phases, "etcd")
    return [
        str(_NAMES.get(run["mode"], run["mode"])),
        f"{burst['count']:,} × {len(burst['writes']) - 1}",
        " / ".join(_seconds(phases[wave]["t100_s"]) for wave in _WAVES),
        "–" if raw else " / ".join(times(ratio, f"{wave}.t100_s") for wave in _WAVES),
        f"{delay['p50_ms']:.0f} / {delay['p99_ms']:.0f}",
        writes_an_object(burst),
        f"{'–' if raw else f'{controller_cpu(phases):.1f}'} / {servers:.1f}",
        "–" if raw else f"{max(peaks):.0f}",
        at_rest(phases.get("idle")),
    ]


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _cpu(phases: Report, group: str) -> float:
    return float(sum(phase["processes"].get(group, {}).get("cpu_settled_s", 0.0) for phase in phases.values()))
