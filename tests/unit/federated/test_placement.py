"""Which clusters a federated object may have; numbers are lines of KubeFed's checklist."""

import pytest

from hanse.api.kubefed.objects import FieldProblem, WrittenPlacement
from hanse.federated.placement import Resolved, Surroundings, anywhere, by_selector_only, resolve
from hanse.placement import Candidate, decide
from hanse.placement.ask import Placement
from hanse.propagation.intent import Problem

FLEET = [
    Candidate("cluster1", {"tier": "dev"}),
    Candidate("cluster2", {"tier": "prod", "foo": "bar"}),
    Candidate("cluster3", {"tier": "prod"}, refusal="it is offline"),
]
FOO = {"matchLabels": {"foo": "bar"}}


def named(*names):
    return WrittenPlacement(tuple(names))


def selecting(selector):
    return WrittenPlacement(selector=selector)


def asked(resolved):
    """The clusters that are asked for, ready or not, and what else is to be said."""
    assert isinstance(resolved, Resolved)
    decision = decide(FLEET, Placement(clusters=resolved.term))
    return {each.cluster for each in decision.verdicts if each.chosen or each.keep}


def notes(resolved):
    return decide(FLEET, Placement(clusters=resolved.term)).notes


@pytest.mark.parametrize(
    ("written", "found"),
    [
        pytest.param(WrittenPlacement(("cluster1",), {}), {"cluster1"}, id="18 a list counts before a selector"),
        pytest.param(WrittenPlacement(), set(), id="19 neither"),
        pytest.param(WrittenPlacement((), FOO), set(), id="20 an empty list counts before a selector"),
        pytest.param(selecting({}), {"cluster1", "cluster2", "cluster3"}, id="21 an empty selector"),
        pytest.param(selecting({"matchLabels": {}}), {"cluster1", "cluster2", "cluster3"}, id="21 no labels to match"),
        pytest.param(selecting(FOO), {"cluster2"}, id="22 a label"),
        pytest.param(
            selecting({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["dev"]}]}),
            {"cluster2", "cluster3"},
            id="an expression",
        ),
        pytest.param(named("cluster2", "cluster1"), {"cluster1", "cluster2"}, id="10 order is nothing"),
        pytest.param(named("cluster1", "cluster1"), {"cluster1"}, id="twice is once"),
        pytest.param(named("ghost"), set(), id="23 nobody knows it"),
    ],
)
def test_a_placement_finds_its_clusters(written, found):
    assert asked(resolve(written, Surroundings())) == found


def test_a_name_that_nobody_knows_is_told():
    """Line 23, mended: KubeFed said nothing."""
    assert notes(resolve(named("ghost"), Surroundings())) == (
        "the placement names ghost, which is no cluster of the federation",
    )


@pytest.mark.parametrize(
    ("selector", "sentence"),
    [
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "Foo"}]}, '"Foo" is not a valid label selector', id="24"
        ),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "values set can't be empty"),
        ({"matchLabels": {"a b": "c"}}, "key: Invalid value"),
    ],
)
def test_a_selector_that_cannot_be_read_places_nothing_and_says_why(selector, sentence):
    problem = resolve(selecting(selector), Surroundings())
    assert isinstance(problem, Problem)
    assert problem.reason == "ComputePlacementFailed"
    assert sentence in problem.message


def test_a_placement_that_cannot_be_read_says_whose_it_is():
    bad = FieldProblem("spec.placement", "must be an object with fields")
    own = resolve(bad, Surroundings())
    theirs = resolve(named("cluster1"), Surroundings(bad, name="FederatedNamespace shop/shop"))
    assert own == Problem("ComputePlacementFailed", "spec.placement must be an object with fields")
    assert theirs == Problem(
        "ComputePlacementFailed", "FederatedNamespace shop/shop: spec.placement must be an object with fields"
    )


@pytest.mark.parametrize(
    ("own", "namespace", "found"),
    [
        pytest.param(named("cluster1", "cluster2"), named("cluster2", "cluster3"), {"cluster2"}, id="25"),
        pytest.param(named("cluster1", "cluster2"), selecting(FOO), {"cluster2"}, id="names within a selector"),
        pytest.param(selecting({}), named("cluster2"), {"cluster2"}, id="everything within names"),
        pytest.param(
            selecting({"matchLabels": {"tier": "prod"}}), selecting(FOO), {"cluster2"}, id="selector within selector"
        ),
        pytest.param(named("cluster1"), WrittenPlacement(), set(), id="a namespace that is nowhere"),
        pytest.param(named("cluster1"), named(), set(), id="27"),
    ],
)
def test_a_federated_namespace_limits_what_is_in_it(own, namespace, found):
    around = Surroundings(namespace, name="FederatedNamespace shop/shop")
    assert asked(resolve(own, around)) == found


def test_without_a_federated_namespace_a_placement_is_as_written_unless_one_is_required():
    """Lines 12 and 26."""
    assert asked(resolve(named("cluster1"), Surroundings())) == {"cluster1"}
    lost = resolve(named("cluster1"), Surroundings(required=True, name="FederatedNamespace shop/shop"))
    assert (asked(lost), lost.nowhere) == (set(), True)
    assert "FederatedNamespace shop/shop is missing" in lost.told[0]


@pytest.mark.parametrize(
    ("own", "namespace", "nowhere"),
    [
        (named(), None, True),
        (WrittenPlacement(), None, True),
        (named("cluster1"), named(), True),
        (named("cluster1"), WrittenPlacement(), True),
        (named("ghost"), None, False),
        (selecting({"matchLabels": {"no": "such"}}), None, False),
        (named("cluster1"), named("cluster2"), False),
    ],
)
def test_only_what_somebody_wrote_down_is_meant_to_be_nowhere(own, namespace, nowhere):
    assert resolve(own, Surroundings(namespace)).nowhere == nowhere


def test_selectors_alone_choose_where_lists_do_not_count():
    own = WrittenPlacement(("cluster1",), {"matchLabels": {"tier": "prod"}})
    around = Surroundings(WrittenPlacement(("cluster3",), FOO), name="FederatedNamespace shop/shop")
    assert asked(by_selector_only(own, around)) == {"cluster2"}
    assert asked(by_selector_only(named("cluster1"), Surroundings())) == set()
    assert asked(anywhere(Surroundings(named("cluster2")))) == {"cluster2"}
