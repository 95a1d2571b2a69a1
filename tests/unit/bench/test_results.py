"""A report of the propagation bench becomes one line for each run that is not raw."""

from typing import Any

from bench.federated_results import FEDERATED_HEADING, federated_lines
from bench.harness.rest import changes_in
from bench.propagate import ratios, to_native
from bench.results import result_lines, with_results


def _run(mode: str, *, seconds: float, latency: float, host_writes: int) -> dict[str, Any]:
    def phase(**more: Any) -> dict[str, Any]:
        controller = {"cpu_s": 1.0, "cpu_settled_s": 1.5, "peak_rss_mb": 90.4}
        return {"count": 10, "t100_s": seconds, "processes": {"controller": controller}, **more}

    return {
        "mode": mode,
        "run": f"{mode}-{seconds}",
        "phases": {
            "burst": phase(writes={"host": host_writes, "member1": 10, "member2": 20}),
            "steady": phase(sent_to_all_members={"p50_ms": latency, "p99_ms": 3 * latency}),
            "update": phase(),
            "delete": phase(),
        },
    }


def _report(*runs: dict[str, Any]) -> dict[str, Any]:
    compared = {"ratios": ratios(list(runs)), "to_native": to_native(list(runs))}
    return {"started": "2026-11-16T10:00:00+0000", "runs": list(runs), **compared}


def test_times_are_multiples_of_the_mean_of_the_raw_runs() -> None:
    report = _report(
        _run("raw", seconds=1.0, latency=10.0, host_writes=0),
        _run("hanse", seconds=3.0, latency=30.0, host_writes=40),
        _run("raw", seconds=2.0, latency=20.0, host_writes=0),
    )

    (line,) = result_lines(report, command="make bench", commit="abc1234")

    assert line == (
        "| 2026-11-16 | abc1234 | `make bench` | 1.50 | 2.00× | 2.00× | 2.00× | 2.00× / 2.00× | 4.0 / 1.5 "
        "| 6.0 | 90 | – |"
    )


def test_a_phase_that_did_not_complete_has_no_ratio() -> None:
    stuck = _run("hanse", seconds=3.0, latency=30.0, host_writes=40)
    stuck["phases"]["update"]["t100_s"] = None
    report = _report(_run("raw", seconds=1.0, latency=10.0, host_writes=0), stuck)

    (line,) = result_lines(report, command="make bench", commit="abc1234")

    assert "| 3.00× | – | 3.00× |" in line


def test_federated_types_are_compared_with_the_native_front_door_in_a_table_of_their_own() -> None:
    report = _report(
        _run("raw", seconds=1.0, latency=10.0, host_writes=0),
        _run("hanse", seconds=2.0, latency=20.0, host_writes=40),
        _run("federated", seconds=3.0, latency=21.0, host_writes=50),
    )

    (native,) = result_lines(report, command="make bench", commit="abc1234")
    (beside,) = federated_lines(report, command="make bench", commit="abc1234")

    assert "| 1.00 | 2.00× | 2.00× | 2.00× |" in native
    assert beside == (
        "| 2026-11-16 | abc1234 | `make bench` | 1.50× | 1.50× | 1.50× | 1.05× / 1.05× | 1.00× | 5.0 / 1.5 | – "
        "| 3.00×, 3.00×, 3.00× |"
    )
    assert with_results("", [beside], FEDERATED_HEADING).endswith(f"---|\n{beside}\n")


def test_federated_types_without_the_native_front_door_give_no_line() -> None:
    report = _report(
        _run("raw", seconds=1.0, latency=10.0, host_writes=0),
        _run("federated", seconds=3.0, latency=21.0, host_writes=50),
    )

    assert federated_lines(report, command="make bench", commit="abc1234") == []


def test_raw_runs_alone_give_no_line() -> None:
    report = _report(_run("raw", seconds=1.0, latency=10.0, host_writes=0))

    assert result_lines(report, command="make bench", commit="abc1234") == []


def test_writes_at_rest_are_told_of_the_host_and_of_all_members_together() -> None:
    rested = _run("hanse", seconds=3.0, latency=30.0, host_writes=40)
    rested["phases"]["idle"] = {"seconds": 60.0, "processes": {}, "changes": {"host": 1, "member1": 2, "member2": 3}}
    report = _report(_run("raw", seconds=1.0, latency=10.0, host_writes=0), rested)

    (line,) = result_lines(report, command="make bench", commit="abc1234")

    assert line.endswith("| 1 / 5 in 60 s |")


def test_requests_that_change_something_are_counted_but_leases_and_questions_are_not() -> None:
    def line(verb: str, group: str, resource: str, count: str) -> str:
        return f'apiserver_request_total{{group="{group}",resource="{resource}",verb="{verb}",code="200"}} {count}'

    metrics = "\n".join(
        (
            "# TYPE apiserver_request_total counter",
            line("POST", "apps", "deployments", "3"),
            line("APPLY", "", "configmaps", "1.2e+01"),
            line("GET", "", "configmaps", "100"),
            line("PUT", "coordination.k8s.io", "leases", "50"),
            line("POST", "authorization.k8s.io", "subjectaccessreviews", "7"),
        )
    )

    assert changes_in(metrics) == 15


def test_a_result_goes_to_the_end_of_its_own_table_and_begins_one_where_there_is_none() -> None:
    begun = with_results("# Other\n\n| a |\n|---|\n| 1 |\n", ["| new |"])
    later = with_results(f"{begun}\n# Last\n\n| b |\n", ["| newer |"])

    assert begun.startswith("# Other\n\n| a |\n|---|\n| 1 |\n\n# Propagation: how much slower than raw writes\n")
    assert begun.endswith("|\n| new |\n")
    assert later.endswith("| new |\n| newer |\n\n# Last\n\n| b |\n")
