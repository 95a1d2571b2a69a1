"""Keys that stand twice, schedules that cannot be kept, and what a namespace says while it ends."""

from __future__ import annotations

import orjson
import pytest

from hanse.apiserver.builtin.cron_schedules import schedule_problem, zone_problem
from hanse.apiserver.loops.namespace_conditions import remaining_conditions
from hanse.apiserver.negotiation import duplicate_keys
from hanse.kube.manifest import Obj


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        (b'{"a":1,"b":{"a":1}}', []),
        (b'{ "a" : 1 , "b" : 2 }', []),
        (b'{"a":1,"a":2}', ["a"]),
        (b'{"a":1,"a":2,"a":3}', ["a"]),
        (b'{"data":{"k":"1","k":"2"}}', ["data.k"]),
        (b'{"list":[{"n":1},{"n":1,"n":2}]}', ["list[1].n"]),
    ],
)
def test_keys_that_stand_twice_are_found_by_their_path(body: bytes, paths: list[str]) -> None:
    assert duplicate_keys(body, orjson.loads(body)) == paths


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ("*/5 0-6,12 1 jan mon-fri", ""),
        ("@hourly", ""),
        ("@every 5m", ""),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("*/1/2 * * * *", "too many slashes: */1/2"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("@never", "unrecognized descriptor: @never"),
    ],
)
def test_a_schedule_that_cannot_be_kept_says_why(schedule: str, told: str) -> None:
    assert schedule_problem(schedule) == told


@pytest.mark.parametrize(
    ("zone", "told"),
    [("Etc/UTC", ""), ("", "timeZone must be nil or non-empty string"), ("../etc/passwd", "unknown")],
)
def test_a_time_zone_must_be_one_that_is_known(zone: str, told: str) -> None:
    assert zone_problem(zone).startswith(told) if told else not zone_problem(zone)


def test_a_namespace_that_ends_counts_what_is_left_and_who_holds_it() -> None:
    left: dict[str, list[Obj]] = {"configmaps.": [{"metadata": {"finalizers": ["example.com/hold"]}}, {"metadata": {}}]}
    told = {one["type"]: one for one in remaining_conditions(left, [], "now")}
    assert told["NamespaceContentRemaining"]["message"].endswith("configmaps. has 2 resource instances")
    assert told["NamespaceFinalizersRemaining"]["message"].endswith("example.com/hold in 1 resource instances")
    assert told["NamespaceDeletionContentFailure"]["status"] == "False"


def test_a_condition_that_says_the_same_keeps_its_time() -> None:
    left: dict[str, list[Obj]] = {"configmaps.": [{"metadata": {}}]}
    before = remaining_conditions(left, [], "then")
    assert remaining_conditions(left, before, "now") == before
    changed = {
        one["type"]: one for one in remaining_conditions({**left, "secrets.": [{"metadata": {}}]}, before, "now")
    }
    assert changed["NamespaceContentRemaining"]["lastTransitionTime"] == "now"
    assert changed["NamespaceFinalizersRemaining"]["lastTransitionTime"] == "then"
