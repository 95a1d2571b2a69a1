"""What an answer to a check means, and which checks are refused before anybody asks."""

import json

import pytest

from hanse.rollouts.environment import Check, EnvironmentProblem, parse_strategy
from hanse.rollouts.execution import Outcome
from hanse.rollouts.execution.judging import Found, judge

YES, NO, UNKNOWN = Outcome.SUCCESS, Outcome.FAILURE, Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("status", "body", "success", "failure", "expected"),
    [
        (200, "", "", "", YES),
        (204, "", "", "", YES),
        (302, "", "", "", NO),
        (500, "", "", "", NO),
        (500, "", "status == 500", "", YES),
        (200, "", "status == 500", "", NO),
        (200, "", "", "status != 200", YES),
        (503, "", "", "status != 200", NO),
        (200, '{"errors": 2}', "json.errors < 3", "", YES),
        (200, '{"errors": 9}', "json.errors < 3", "json.errors > 10", UNKNOWN),
        (200, '{"errors": 11}', "json.errors < 3", "json.errors > 10", NO),
        (200, "all is well", "body.contains('well')", "", YES),
        (200, "not json", "json.errors < 3", "", UNKNOWN),
        (200, "{}", "json.errors < 3", "", UNKNOWN),
        (200, "", "this is not CEL", "", UNKNOWN),
        (200, "", "unknown == 1", "", UNKNOWN),
        (200, '{"word": "yes"}', "json.word", "", UNKNOWN),
    ],
)
def test_an_http_answer_is_judged(status, body, success, failure, expected):
    check = Check("c", http="http://shop/healthz", success=success, failure=failure)

    found = judge(check, Found(status, body.encode()))

    assert found.outcome is expected
    assert found.value.startswith(f"HTTP status {status}")
    assert "\n" not in found.value


def vector(value):
    return {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, value]}]}}


@pytest.mark.parametrize(
    ("status", "body", "expected", "value"),
    [
        (200, vector("0.005"), YES, "0.005"),
        (200, vector("0.5"), NO, "0.5"),
        (200, vector("0.05"), UNKNOWN, "0.05"),
        (200, vector("+Inf"), NO, "inf"),
        (200, vector("NaN"), UNKNOWN, "the query's result is not a number"),
        (200, {"data": {"resultType": "scalar", "result": [1, "0"]}}, YES, "0"),
        (200, {"data": {"resultType": "matrix", "result": [{"values": [[1, "9"], [2, "0"]]}]}}, YES, "0"),
        (200, {"data": {"resultType": "vector", "result": []}}, UNKNOWN, "the query has no result"),
        (200, ["unexpected"], UNKNOWN, "the query has no result"),
        (422, {"status": "error"}, UNKNOWN, "Prometheus answered with HTTP status 422"),
    ],
)
def test_a_prometheus_answer_is_judged_by_its_first_value(status, body, expected, value):
    check = Check("c", prometheus="http://prom", query="up", success="result < 0.01", failure="result > 0.1")

    found = judge(check, Found(status, json.dumps(body).encode()))

    assert (found.outcome, found.value) == (expected, value)


@pytest.mark.parametrize(
    ("checks", "sentence"),
    [
        ([{"name": "a"}], "give either http.url or prometheus.address"),
        ([{"name": "a", "http": {"url": "http://me:secret@shop/"}}], "take the user and the password out"),
        ([{"name": "a", "http": {"url": "ftp://shop/"}}], "begins with http:// or https://"),
        ([{"name": "a", "http": {"url": "http:///path"}}], "begins with http:// or https://"),
        ([{"name": "a", "http": {"url": "http://[::1"}}], "this is not a URL"),
        ([{"name": "a", "prometheus": {"address": "http://prom"}}], "prometheus.query: say what is asked"),
        ([{"name": "a", "prometheus": {"address": "http://prom", "query": "up"}}], "needs success or failure"),
        ([{"http": {"url": "http://shop/"}}], "a name of its own"),
        ([{"name": "a", "http": {"url": "http://shop/"}}] * 2, "checks[1].name: give each check"),
    ],
)
def test_a_check_that_cannot_be_asked_is_refused_when_it_is_read(checks, sentence):
    with pytest.raises(EnvironmentProblem) as refused:
        parse_strategy({"steps": [{"name": "staging", "checks": checks}]})

    assert sentence in str(refused.value)
    assert "secret" not in str(refused.value)
