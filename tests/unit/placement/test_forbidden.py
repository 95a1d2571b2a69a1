"""Clusters that whoever asks may not use."""

from hanse.placement.ask import Placement, State
from hanse.placement.candidate import Candidate
from hanse.placement.decision import decide

FLEET = [Candidate("a"), Candidate("b"), Candidate("c")]
NOT_C = Placement(forbidden=(("c", "anna may not use cluster c"),))


def test_a_forbidden_cluster_gets_nothing_and_says_who_may_not_use_it():
    decision = decide(FLEET, NOT_C, replicas=6)

    assert decision.replicas == {"a": 3, "b": 3}
    assert decision.of("c").reasons[-1] == "anna may not use cluster c"


def test_what_a_forbidden_cluster_holds_is_left_alone():
    decision = decide(FLEET, NOT_C, replicas=6, state=State(current={"a": 2, "b": 2, "c": 2}))

    assert decision.of("c").keep
    assert decision.replicas == {"a": 3, "b": 3}


def test_where_every_cluster_is_forbidden_each_says_so():
    everywhere = Placement(forbidden=tuple((each.name, f"dora may not use cluster {each.name}") for each in FLEET))

    decision = decide(FLEET, everywhere)

    assert decision.chosen() == []
    assert {verdict.reasons[-1] for verdict in decision.verdicts} == {f"dora may not use cluster {n}" for n in "abc"}
