"""The cluster selector takes every operator of federation v1 in every spelling and refuses the rest."""

import pytest

from hanse.placement.cluster_selector import ClusterSelector, SelectorError, in_words

LABELS = {"env": "prod", "size": "15", "empty": "", "odd": "1_5"}


@pytest.mark.parametrize(
    ("key", "operators", "values", "matches"),
    [
        ("env", ["in", "In"], ["prod", "test"], True),
        ("env", ["in", "In"], ["test"], False),
        ("none", ["in", "In"], ["prod"], False),
        ("env", ["notin", "NotIn"], ["test"], True),
        ("env", ["notin", "NotIn"], ["prod"], False),
        ("none", ["notin", "NotIn"], ["prod"], True),
        ("env", ["=", "=="], ["prod"], True),
        ("none", ["=", "=="], ["prod"], False),
        ("env", ["!="], ["prod"], False),
        ("none", ["!="], ["prod"], True),
        ("empty", ["exists", "Exists"], [], True),
        ("none", ["exists", "Exists"], [], False),
        ("none", ["!", "DoesNotExist"], [], True),
        ("env", ["!", "DoesNotExist"], [], False),
        ("size", ["gt", "Gt", ">"], ["14"], True),
        ("size", ["gt", "Gt", ">"], ["15"], False),
        ("size", ["lt", "Lt", "<"], ["16"], True),
        ("size", ["lt", "Lt", "<"], ["15"], False),
        ("env", ["gt", "Gt", ">"], ["1"], False),
        ("none", ["lt", "Lt", "<"], ["1"], False),
        ("odd", ["gt", "Gt", ">"], ["1"], False),
    ],
)
def test_an_operator_matches_in_each_of_its_spellings(key, operators, values, matches):
    for operator in operators:
        selector = ClusterSelector.parse([{"key": key, "operator": operator, "values": values}])

        assert (selector.unmet(LABELS) is None) == matches, operator


@pytest.mark.parametrize("document", [[], None])
def test_no_requirements_select_every_cluster(document):
    assert ClusterSelector.parse(document).unmet({}) is None


def test_all_requirements_must_hold():
    both = ClusterSelector.parse(
        [{"key": "env", "operator": "in", "values": ["prod"]}, {"key": "size", "operator": "lt", "values": ["3"]}]
    )

    assert in_words(both.unmet(LABELS)) == "size < 3"


def test_field_names_match_whatever_their_case():
    assert ClusterSelector.parse([{"Key": "env", "Operator": "=", "Values": ["prod"]}]).unmet(LABELS) is None


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({}, "must be a JSON list"),
        ("", "must be a JSON list"),
        (["x"], r"\[0\] must be an object"),
        ([{"key": "env", "operator": "IN", "values": ["a"]}], r"\[0\].operator: 'IN' is not an operator"),
        ([{"key": "env", "operator": "equals", "values": ["a"]}], "is not an operator"),
        ([{"key": "env", "operator": "", "values": ["a"]}], "is not an operator"),
        ([{"key": "-env", "operator": "exists"}], r"\[0\].key: '-env' is not a label key"),
        ([{"key": "env", "operator": "in", "values": []}], "at least one entry"),
        ([{"key": "env", "operator": "=", "values": ["a", "b"]}], "exactly one entry"),
        ([{"key": "env", "operator": "exists", "values": ["a"]}], "must be empty"),
        ([{"key": "env", "operator": "in", "values": [1]}], "must be a list of strings"),
        ([{"key": "env", "operator": "gt", "values": ["-5"]}], "is not a label value"),
        ([{"key": "env", "operator": "gt", "values": ["many"]}], "is not a whole number"),
    ],
)
def test_a_malformed_selector_is_refused_with_the_place_of_the_fault(document, sentence):
    with pytest.raises(SelectorError, match=sentence):
        ClusterSelector.parse(document)
