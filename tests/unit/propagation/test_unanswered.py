"""Creations that were never answered: until they surely came to nothing, nobody else gets what must not run twice."""

from dataclasses import replace

import pytest

from hanse.kube.manifest import Key
from hanse.kube.resources import DEPLOYMENTS
from hanse.placement.ask import ClusterTerm, Placement
from hanse.propagation.comparison import Present
from hanse.propagation.intent import Ref
from hanse.propagation.parts import JobParts
from hanse.propagation.planning import Observation, plan
from hanse.propagation.unanswered import LATE_SECONDS, Asked, Unanswered
from tests.unit.propagation.builders import copy, deployment_intent, fleet

REF = Ref(DEPLOYMENTS, Key("shop", "web"))
NOW = 1_000.0


def only_b(*, at_most_once=True):
    """One replica, which is to be in b."""
    made = deployment_intent(1)
    return replace(made, placement=Placement(clusters=ClusterTerm(names=("b",)), at_most_once=at_most_once))


def granted(made, asked_of_a, lost=""):
    """What b gets when a was asked before, and until when that counts."""
    observed = {"a": Observation(seen=True, asked=asked_of_a), "b": Observation(seen=True)}
    planned = plan(made, fleet("a", "b", offline=lost), observed, now=NOW)
    wishes = {name: wish for name, wish in planned.wanted.items() if isinstance(wish, Present)}
    return wishes["b"].manifest["spec"]["replicas"] if "b" in wishes else 0, planned.decision.until


@pytest.mark.parametrize(
    ("until", "lost", "expected"),
    [
        (None, "", (0, None)),
        (NOW + 5, "", (0, NOW + 5)),
        (NOW, "", (1, None)),
        (NOW - 100, "a", (0, None)),
    ],
    ids=["under way", "may come late", "came to nothing", "its cluster is lost"],
)
def test_nobody_else_gets_what_a_cluster_was_asked_to_make_and_may_make_yet(until, lost, expected):
    made = only_b()
    assert granted(made, Asked(copy(made, 1), until), lost) == expected


# Where a Job shall be now, and what of its five completions everybody gets while a may make its part of them yet.
@pytest.mark.parametrize(("where", "expected"), [(("b",), {}), (("a", "b"), {"a": 5})])
def test_the_completions_that_a_cluster_was_asked_for_are_given_to_nobody_else(where, expected):
    made = replace(only_b(at_most_once=False), parts=JobParts(1, 5))
    made = replace(made, placement=Placement(clusters=ClusterTerm(names=where)))
    asked = copy(made, 1)
    asked["spec"]["completions"] = 5
    observed = {"a": Observation(seen=True, asked=Asked(asked)), "b": Observation(seen=True)}

    wanted = plan(made, fleet("a", "b"), observed, now=NOW).wanted

    given = {name: wish.manifest["spec"]["completions"] for name, wish in wanted.items() if isinstance(wish, Present)}
    assert given == expected


def test_it_counts_for_nothing_that_may_run_twice_and_for_no_other_source():
    made = only_b()
    assert granted(only_b(at_most_once=False), Asked(copy(made, 1)))[0] == 1
    assert granted(made, Asked(copy(replace(made, source_uid="another"), 1)))[0] == 1


def test_a_refusal_says_nothing_of_a_creation_that_broke_off_before():
    unanswered = Unanswered()
    unanswered.sends(REF, {"first": 1})
    assert unanswered.get(REF) == Asked({"first": 1})
    unanswered.broke_off(REF, NOW)
    unanswered.sends(REF, {"second": 2})
    unanswered.refused(REF)
    assert unanswered.get(REF) == Asked({"second": 2}, NOW + LATE_SECONDS)


@pytest.mark.parametrize("answer", [Unanswered.refused, Unanswered.seen])
def test_an_answer_ends_the_wait(answer):
    unanswered = Unanswered()
    unanswered.sends(REF, {})
    answer(unanswered, REF)
    assert unanswered.get(REF) is None
