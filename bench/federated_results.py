"""Sets the two front doors of one run of the propagation bench side by side, as lines of RESULTS.md."""

from __future__ import annotations

from bench.results import Report, at_rest, controller_cpu, line, times, writes_an_object

_TITLE = "# Federated types: how much slower than the native front door"
_COLUMNS = (
    "date",
    "commit",
    "command",
    "burst",
    "update",
    "delete",
    "steady p50 / p99",
    "CPU",
    "writes an object, host / member",
    "writes at rest, host / members",
    "burst, update, delete to raw",
)
FEDERATED_HEADING = f"""{_TITLE}

The same Deployments in the templates of FederatedDeployments with `clusterSelector: {{}}`, measured as above and in the
same run as the native door. All ratios but those of the last column are to the mean of the runs with plain Deployments
(target: at most 1.10×); CPU is the processor time of `hanse controller` over the timed phases.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


def federated_lines(report: Report, *, command: str, commit: str) -> list[str]:
    """Return one table line for each run with federated types, where there is one with plain objects beside it."""
    runs = {run["run"]: run["phases"] for run in report["runs"]}
    to_raw = {ratio["run"]: ratio for ratio in report["ratios"]}
    native = [controller_cpu(run["phases"]) for run in report["runs"] if run["mode"] == "hanse"]
    start = [report["started"][:10], commit, f"`{command}`"]
    return [
        line([*start, *_measured(runs[ratio["run"]], ratio, native, to_raw.get(ratio["run"], {}))])
        for ratio in report["to_native"]
    ]


def _measured(phases: Report, ratio: Report, native: list[float], to_raw: Report) -> list[str]:
    waves = [f"{phase}.t100_s" for phase in ("burst", "update", "delete")]
    usual = sum(native) / len(native)
    return [
        *(times(ratio, wave) for wave in waves),
        f"{times(ratio, 'steady.p50_ms')} / {times(ratio, 'steady.p99_ms')}",
        f"{controller_cpu(phases) / usual:.2f}×" if usual else "–",
        writes_an_object(phases["burst"]),
        at_rest(phases.get("idle")),
        ", ".join(times(to_raw, wave) for wave in waves),
    ]
