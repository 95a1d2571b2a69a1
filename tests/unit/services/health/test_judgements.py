"""One checker's mind about one address: slow to turn, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.api.federation import HealthSettings
from hanse.services.health.standing import Finding, Standing, State, judge, resumed

TERMS = HealthSettings(fall=3, rise=2)
GOOD, BAD = Finding(alive=True), Finding(alive=False, why="the connection was refused")


def after(findings, start=State.UNKNOWN):
    standing = Standing(start)
    for finding in findings:
        standing = judge(standing, GOOD if finding == "+" else BAD, TERMS)
    return standing


@pytest.mark.parametrize(
    ("start", "findings", "end"),
    [
        (State.UNKNOWN, "", State.UNKNOWN),
        (State.UNKNOWN, "+", State.ALIVE),
        (State.UNKNOWN, "--", State.UNKNOWN),
        (State.UNKNOWN, "---", State.DEAD),
        (State.UNKNOWN, "--+", State.ALIVE),
        (State.ALIVE, "--", State.ALIVE),
        (State.ALIVE, "--+--", State.ALIVE),
        (State.ALIVE, "---", State.DEAD),
        (State.DEAD, "+", State.DEAD),
        (State.DEAD, "+-+", State.DEAD),
        (State.DEAD, "++", State.ALIVE),
    ],
)
def test_an_address_turns_only_after_enough_probes_in_a_row(start, findings, end):
    assert after(findings, start).state is end


def test_a_dead_address_keeps_the_sentence_of_its_death():
    dead = after("---")

    assert dead.why == "the connection was refused"
    assert judge(dead, Finding(alive=False, why="no answer"), TERMS) == dead


@given(st.text("+-", max_size=60))
def test_it_never_turns_more_often_than_its_terms_allow(findings):
    standing, turns = Standing(State.ALIVE), 0
    for finding in findings:
        turned = judge(standing, GOOD if finding == "+" else BAD, TERMS)
        turns += turned.state is not standing.state
        standing = turned

    assert turns <= 2 * len(findings) // (TERMS.fall + TERMS.rise) + 1


@pytest.mark.parametrize(
    ("told", "findings", "end"),
    [
        (State.DEAD, "", State.UNKNOWN),
        (State.DEAD, "-", State.DEAD),
        (State.DEAD, "+", State.ALIVE),
        (State.ALIVE, "+", State.ALIVE),
        (State.ALIVE, "--", State.UNKNOWN),
        (State.ALIVE, "---", State.DEAD),
        (State.UNKNOWN, "--", State.UNKNOWN),
    ],
)
def test_a_new_run_leans_to_what_was_told_and_looks_for_itself(told, findings, end):
    standing = resumed(Standing(told), TERMS)
    for finding in findings:
        standing = judge(standing, GOOD if finding == "+" else BAD, TERMS)

    assert standing.state is end
