"""The count: a majority of the checkers that are there, and nobody twice."""

from itertools import product

import pytest

from hanse.api.health_reports import (
    HOST_CHECKER,
    checker_lease,
    checker_of,
    cluster_checker,
    report_key,
)
from hanse.kube.manifest import Key
from hanse.services.health.choosing import MOST_CHECKERS, choose_checkers
from hanse.services.health.standing import Standing, State
from hanse.services.health.votes import Verdict, count_votes

ALIVE, DEAD, UNKNOWN = Standing(State.ALIVE), Standing(State.DEAD, "no answer within 2 s"), Standing()


def votes(word):
    return {f"cluster-{index}": {"+": ALIVE, "-": DEAD, "?": UNKNOWN}[vote] for index, vote in enumerate(word)}


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("", State.UNKNOWN),
        ("+++++", State.ALIVE),
        # The checklist's line 97: five checkers, two against it, then three.
        ("--+++", State.ALIVE),
        ("---++", State.DEAD),
        # Half is not a majority, of neither opinion.
        ("--++", State.UNKNOWN),
        ("-+", State.UNKNOWN),
        ("---+", State.DEAD),
        ("-", State.DEAD),
        ("+", State.ALIVE),
        # Whoever has not judged it yet is not counted.
        ("-??", State.DEAD),
        ("?", State.UNKNOWN),
    ],
)
def test_more_than_half_must_agree(word, state):
    assert count_votes(votes(word)).state is state


@pytest.mark.parametrize(
    ("others", "state"),
    [
        # Nobody else is there to contradict the registry.
        ("", State.DEAD),
        ("?", State.DEAD),
        ("+", State.ALIVE),
        ("-", State.DEAD),
        ("++", State.ALIVE),
        ("+-", State.DEAD),
        ("++-", State.ALIVE),
        ("+--", State.DEAD),
        ("++--", State.DEAD),
    ],
)
def test_an_offline_cluster_needs_a_majority_of_the_others_for_it(others, state):
    assert count_votes(votes(others), offline=True).state is state


def test_the_registry_speaks_for_the_host_and_not_beside_it():
    verdict = count_votes({HOST_CHECKER: ALIVE, "cluster-a": DEAD, "cluster-b": ALIVE}, offline=True)

    assert (verdict.dead, verdict.alive) == (2, 1)


def test_no_vote_is_counted_as_both():
    for size, offline in product(range(7), (False, True)):
        for word in product("+-?", repeat=size):
            cast = votes(word)
            verdict = count_votes(cast, offline=offline)
            if verdict.state is State.DEAD:
                assert 2 * verdict.dead > verdict.votes
            if verdict.state is State.ALIVE:
                assert 2 * word.count("+") > size - word.count("?")


def test_a_verdict_says_who_found_what():
    verdict = count_votes(votes("---++"))

    assert verdict.why == "3 of 5 checkers call it dead: cluster-0 says no answer within 2 s"
    assert count_votes(votes("+++-+")).why == "4 of 5 checkers reach it; cluster-3 says no answer within 2 s"
    assert count_votes(votes("++--")).why == "the checkers disagree: 2 reach it and 2 do not"
    assert count_votes({}, offline=True).why == (
        "1 of 1 checkers call it dead: host says the federation cannot reach its cluster"
    )
    assert count_votes({}) == Verdict()


def test_every_service_has_five_checkers_where_there_are_as_many():
    checkers = [cluster_checker(f"c{index}") for index in range(20)]
    web = Key("shop", "web")

    assert choose_checkers(checkers[:3], web) == ("cluster-c0", "cluster-c1", "cluster-c2")
    assert len(choose_checkers(checkers, web)) == MOST_CHECKERS
    assert choose_checkers(reversed(checkers), web) == choose_checkers(checkers, web)


def test_the_work_is_shared_and_little_of_it_moves():
    checkers = [cluster_checker(f"c{index}") for index in range(20)]
    services = [Key("shop", f"web-{index}") for index in range(400)]
    before = {service: set(choose_checkers(checkers, service)) for service in services}
    shares = [sum(checker in chosen for chosen in before.values()) for checker in checkers]
    lost = checkers[7]
    after = {
        service: set(choose_checkers([each for each in checkers if each != lost], service)) for service in services
    }

    assert min(shares) > 50
    assert max(shares) < 200
    for service in services:
        assert before[service] - {lost} <= after[service]


@pytest.mark.parametrize(
    ("lease", "checker"),
    [
        (checker_lease(HOST_CHECKER), "host"),
        (checker_lease(cluster_checker("a")), "cluster-a"),
        (Key("hanse-cluster-a", "checker-cluster-a"), "cluster-a"),
        # Nobody speaks for another cluster, or for the host, from a namespace of their own.
        (Key("hanse-cluster-a", "checker-cluster-b"), ""),
        (Key("hanse-cluster-a", "checker-host"), ""),
        (Key("shop", "checker-host"), ""),
        (Key("hanse-system", "hanse-controller"), ""),
    ],
)
def test_a_lease_speaks_for_its_own_checker_alone(lease, checker):
    assert checker_of(lease) == checker


def test_a_report_is_found_by_checker_and_service():
    assert report_key("hanse-system", "cluster-a", Key("shop", "web")) == Key("hanse-system", "cluster-a.web.shop")
