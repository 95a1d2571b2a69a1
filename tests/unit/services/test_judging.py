import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.services.judging import Evidence, Opinion, judge

ALIVE, DEAD = Opinion(True), Opinion(False, "3 of 5 checkers cannot reach it")


def cluster(name, *addresses, backends=2, said=None, **more):
    opinions = dict.fromkeys(addresses, said) if said else {}
    return Evidence(name, addresses, backends=backends, opinions=opinions, **more)


def serving(*evidence):
    return {each.cluster: each.live for each in judge(evidence).presences if each.live}


GOOD = cluster("good", "9.9.9.9")
CASES = {
    "healthy": (cluster("x", "1.1.1.1"), True),
    "endpoints that nobody counts": (cluster("x", "1.1.1.1", backends=None), True),
    "no endpoint is ready": (cluster("x", "1.1.1.1", backends=0), False),
    "no endpoint is ready whatever checkers say": (cluster("x", "1.1.1.1", backends=0, said=ALIVE), False),
    "no address": (cluster("x"), False),
    "a majority calls it dead": (cluster("x", "1.1.1.1", said=DEAD), False),
    "a majority reaches it": (cluster("x", "1.1.1.1", said=ALIVE), True),
    "offline": (cluster("x", "1.1.1.1", offline="the cluster is offline"), False),
    "offline, but a majority reaches it": (cluster("x", "1.1.1.1", offline="offline", said=ALIVE), True),
    "offline and dead": (cluster("x", "1.1.1.1", offline="offline", said=DEAD), False),
}


@pytest.mark.parametrize(("evidence", "expected"), CASES.values(), ids=CASES)
def test_who_is_led_to_beside_a_healthy_cluster(evidence, expected):
    judgement = judge([evidence, GOOD])
    assert not judgement.failed_open
    presences = {each.cluster: each for each in judgement.presences}
    assert bool(presences["x"].live) is expected
    assert expected or presences["x"].why


def test_of_two_addresses_only_the_dead_one_is_out():
    said = {"1.1.1.1": DEAD, "1.1.1.2": ALIVE}
    assert serving(Evidence("x", ("1.1.1.1", "1.1.1.2"), backends=1, opinions=said)) == {"x": ("1.1.1.2",)}


def test_of_an_offline_cluster_only_the_address_that_is_reached_stays():
    evidence = Evidence("x", ("1.1.1.1", "1.1.1.2"), offline="offline", opinions={"1.1.1.2": ALIVE})
    assert serving(evidence, GOOD) == {"x": ("1.1.1.2",), "good": ("9.9.9.9",)}


def test_neither_checkers_nor_the_registry_leave_a_service_without_any_address():
    judgement = judge([cluster("x", "1.1.1.1", said=DEAD), cluster("y", "2.2.2.2", offline="the cluster is offline")])
    assert judgement.failed_open
    assert [each.live for each in judgement.presences] == [("1.1.1.1",), ("2.2.2.2",)]
    assert judgement.presences[1].why == "nothing else is left, although the cluster is offline"


def test_what_is_known_to_have_no_endpoint_is_not_kept_for_want_of_others():
    judgement = judge([cluster("x", "1.1.1.1", backends=0), cluster("y", "2.2.2.2", said=DEAD)])
    assert serving(cluster("x", "1.1.1.1", backends=0), cluster("y", "2.2.2.2", said=DEAD)) == {"y": ("2.2.2.2",)}
    assert judgement.failed_open


def test_nobody_is_led_anywhere_when_all_know_that_they_have_no_endpoint():
    judgement = judge([cluster("x", "1.1.1.1", backends=0), cluster("y", "2.2.2.2", backends=0, offline="offline")])
    assert not judgement.failed_open
    assert not any(each.live for each in judgement.presences)


def test_clusters_with_more_endpoints_get_more_clients():
    presences = judge([cluster("x", "1.1.1.1", backends=5), cluster("y", "2.2.2.2", backends=None)]).presences
    assert [each.weight for each in presences] == [5, 1]


def test_a_note_is_told_beside_the_verdict():
    (presence,) = judge([cluster("x", "1.1.1.1", note="lb.x cannot be resolved")]).presences
    assert (presence.serving, presence.why) == (True, "lb.x cannot be resolved")


evidences = st.lists(
    st.builds(
        Evidence,
        cluster=st.sampled_from("abcdef"),
        addresses=st.sampled_from([(), ("1.1.1.1",), ("1.1.1.1", "2.2.2.2")]),
        backends=st.sampled_from([None, 0, 1, 3]),
        offline=st.sampled_from(["", "the cluster is offline"]),
        opinions=st.dictionaries(st.sampled_from(["1.1.1.1", "2.2.2.2"]), st.sampled_from([ALIVE, DEAD, Opinion()])),
    ),
    unique_by=lambda each: each.cluster,
    max_size=6,
)


@given(evidences)
def test_an_answer_is_empty_only_if_every_cluster_knows_why(evidence):
    presences = judge(evidence).presences
    may_serve = [each for each in evidence if each.addresses and each.backends != 0]
    assert any(each.live for each in presences) is bool(may_serve)


@given(evidences)
def test_whoever_is_left_out_knows_why(evidence):
    assert all(each.why for each in judge(evidence).presences if not each.serving)


@given(evidences, st.randoms(use_true_random=False))
def test_the_order_of_clusters_does_not_matter(evidence, random):
    shuffled = random.sample(evidence, len(evidence))
    assert judge(evidence) == judge(shuffled)
