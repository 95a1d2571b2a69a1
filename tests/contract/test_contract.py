"""The embedded server answers as a real one does, but for what is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.comparing import Difference, differences
from tests.contract.judging import Found, idle_parts, judge, play_both
from tests.contract.known import row
from tests.contract.known_differences import KNOWN
from tests.contract.page import PAGE, page
from tests.contract.script import STEPS


def test_the_script_is_long_and_every_request_has_its_own_name() -> None:
    names = [step.name for step in STEPS]
    assert len(names) >= 300
    assert len(set(names)) == len(names)


@pytest.mark.kubernetes
@pytest.mark.timeout(600)
def test_answers_are_equal_but_for_the_listed_differences(tmp_path: Path) -> None:
    found = play_both(STEPS, tmp_path)
    verdict = judge(found, KNOWN)
    assert not verdict.unlisted, "not listed:\n" + "\n".join(map(str, verdict.unlisted))
    assert not verdict.stale, f"no longer differ: {verdict.stale}"
    assert not idle_parts(found, KNOWN), f"say more than what differs: {idle_parts(found, KNOWN)}"


def test_the_page_of_differences_is_written_from_the_table() -> None:
    assert PAGE.read_text() == page(), "run `python -m tests.contract.page`"


@pytest.mark.parametrize(
    ("real", "embedded", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["$.a"]),
        ({"a": 1}, {"a": True}, ["$.a"]),
        ({"a": 1}, {}, ["$.a"]),
        ({"a": [1, 2]}, {"a": [1]}, ["$.a[1]"]),
        ([{"name": "x"}, {"name": "y"}], [{"name": "y"}], ["$[x]"]),
        ([{"name": "x"}, {"name": "y"}], [{"name": "y"}, {"name": "x"}], ["$:order"]),
        ({"kind": "Status", "a": 1}, {"kind": "Pod", "b": 1}, ["$"]),
    ],
)
def test_differences_are_found_where_they_are(real: object, embedded: object, paths: list[str]) -> None:
    assert [one.path for one in differences(real, embedded)] == paths


def test_a_row_that_says_more_than_what_differs_is_found() -> None:
    found = [Found("a/x", Difference("$.code", "1", "2"))]
    wide = row(("a/x", "a/y"), ("$.code", "$.body"), "known")
    assert [(one.requests, one.paths) for one in idle_parts(found, [wide])] == [
        (("a/y",), ("$.code", "$.body")),
        (("a/x", "a/y"), ("$.body",)),
    ]


def test_a_verdict_names_what_is_unlisted_and_what_is_stale() -> None:
    found = [Found("a/x", Difference("$.code", "1", "2")), Found("b/x", Difference("$.body.m", "1", "2"))]
    known, stale = row("a/*", "$.code", "known"), row("c/*", "*", "stale")
    verdict = judge(found, [known, stale])
    assert verdict.unlisted == found[1:]
    assert verdict.stale == [stale]
