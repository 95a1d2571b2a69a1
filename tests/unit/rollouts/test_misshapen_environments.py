"""Environments that a host stored which checks nothing: refused by the field that is wrong."""

import pytest

from hanse.rollouts.environment import EnvironmentProblem, parse_environment, parse_strategy

CHART = {"name": "nginx", "version": "1.2.3", "repoUrl": "https://charts.example.com"}


@pytest.mark.parametrize(
    ("environment", "field"),
    [
        ({"chart": 7}, "spec.template.chart"),
        ({"source": {"manifests": []}}, "spec.template.source"),
        ({"chart": CHART, "clusterRequirements": {"regions": [None]}}, "spec.template.clusterRequirements.regions"),
        ({"chart": CHART, "strategy": {"steps": "odd"}}, "spec.template.strategy.steps"),
        ({"chart": CHART, "strategy": {"steps": [{"capacity": [7]}]}}, "spec.template.strategy.steps"),
        ({"chart": CHART, "strategy": {"deadline": "10m"}}, "spec.template.strategy.deadline"),
    ],
)
def test_a_field_of_a_wrong_type_is_named(environment, field):
    with pytest.raises(EnvironmentProblem) as refused:
        parse_environment(environment)
    assert str(refused.value).startswith(field)


@pytest.mark.parametrize("number", ["many", {"a": 10**400}, "9" * 5000])
def test_a_share_that_is_no_number_is_named(number):
    with pytest.raises(EnvironmentProblem, match=r"strategy\.steps\[0\]\.capacity"):
        parse_strategy({"steps": [{"name": "a", "capacity": {"incumbent": number}}]})
