"""Runs of several control planes on the same clusters become a line each, raw ones included."""

from typing import Any

from bench import mode_kubefed
from bench.harness.modes import load_mode
from bench.propagate import ratios
from bench.side_by_side_report import side_by_side_lines


def _run(mode: str, seconds: float) -> dict[str, Any]:
    used = {"cpu_settled_s": 2.0, "peak_rss_mb": 90.4}
    groups = {"controller": used, "apiservers": {"cpu_settled_s": 3.0}, "etcd": {"cpu_settled_s": 1.0}}
    phase = {"count": 10, "t100_s": seconds, "processes": groups}
    burst = {**phase, "writes": {"host": 40, "member1": 10, "member2": 20}}
    steady = {**phase, "sent_to_all_members": {"p50_ms": 12.4, "p99_ms": 30.6}}
    phases = {"burst": burst, "steady": steady, "update": dict(phase), "delete": phase}
    return {"mode": mode, "run": f"{mode}-{seconds}", "phases": phases}


def test_every_control_plane_is_told_with_its_times_against_raw_its_writes_and_its_costs() -> None:
    runs = [_run("raw", 1.0), _run("kubefed", 6.0), _run("migrated", 3.0), _run("raw", 2.0)]

    lines = side_by_side_lines({"runs": runs, "ratios": ratios(runs)}, command="make bench", commit="abc1234")

    hanse, common = "Hanse, FederatedDeployments", "| 12 / 31 | 4.0 / 1.5 |"
    assert [line.split(" | ", 3)[3] for line in lines] == [
        f"raw | 10 × 2 | 1.00 / 1.00 / 1.00 | – {common} – / 16.0 | – | – |",
        f"KubeFed v0.10.0 | 10 × 2 | 6.00 / 6.00 / 6.00 | 4.00× / 4.00× / 4.00× {common} 8.0 / 16.0 | 90 | – |",
        f"{hanse} | 10 × 2 | 3.00 / 3.00 / 3.00 | 2.00× / 2.00× / 2.00× {common} 8.0 / 16.0 | 90 | – |",
        f"raw | 10 × 2 | 2.00 / 2.00 / 2.00 | – {common} – / 16.0 | – | – |",
    ]


def test_a_phase_that_did_not_complete_has_no_time() -> None:
    stuck = _run("kubefed", 6.0)
    stuck["phases"]["update"]["t100_s"] = None
    runs = [_run("raw", 1.0), stuck]

    line = side_by_side_lines({"runs": runs, "ratios": ratios(runs)}, command="make bench", commit="abc1234")[1]

    assert "| 6.00 / – / 6.00 | 6.00× / – / 6.00× |" in line


def test_hanse_is_given_to_the_letter_what_kubefed_is_given() -> None:
    assert load_mode("migrated") == mode_kubefed.MODE
