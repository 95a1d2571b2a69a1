"""A pod's wishes, its gang and its company say together where it goes."""

from typing import Any

import pytest

from hanse.api.admiralty.keys import GANG, TARGET
from hanse.pods.surroundings import Surroundings, Wish, is_concerned, wish_of
from hanse.pods.wishes.neighbours import Neighbour
from hanse.propagation.intent import Problem
from tests.unit.pods.wishes.scenes import AP, EU, FLEET, TARGETS, US, beside, decided, placeholder, pod, wishing

APART: Any = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "region"}
            ]
        }
    }
}


def member(name, target="", **annotations):
    own = placeholder(name, annotations={GANG: "2", **annotations}, labels={"app": "web"})
    own["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j", "uid": "uid-j", "controller": True}]
    return Neighbour(own, target)


def wish(asking, own, *neighbours):
    return wish_of(asking, own, TARGETS, Surroundings(neighbours, FLEET))


def test_a_pod_alone_goes_where_it_wishes():
    found = wish(pod(), placeholder())
    assert isinstance(found, Wish)
    assert decided(found.placement).chosen() == [US]


def test_a_pod_keeps_apart_from_those_that_are_there():
    found = wish(wishing(APART), placeholder(labels={"app": "web"}), beside(US, "other", labels={"app": "web"}))
    assert decided(found.placement).chosen() == [EU]


def test_a_gang_counts_before_wishes():
    first, second = member("a"), member("b")
    assert isinstance(wish(pod(), second.pod, first, second), Problem)
    assert decided(wish(pod(cpu="3"), first.pod, first, second).placement).chosen() == [US]
    placed = member("a", AP)
    assert decided(wish(pod(), second.pod, placed, second).placement).chosen() == [AP]


def test_a_gang_that_leaves_takes_even_what_is_there_along():
    said_no = {"pods.hanse.dev/answers": '{"eu": {"at": "2026-01-01T00:00:00Z", "why": "full"}}'}
    found = wish(pod(), member("b", EU).pod, member("a", EU, **said_no), member("b", EU))
    assert isinstance(found, Wish)
    assert found.nowhere


def test_a_bound_pod_minds_nobody():
    bound = member("b", EU, **{TARGET: EU})
    found = wish(wishing(APART), bound.pod, bound, beside(EU, "other", labels={"app": "web"}))
    assert decided(found.placement).chosen() == [EU]


def test_constraints_on_company_that_cannot_be_kept_are_told():
    assert isinstance(wish(wishing({"topologySpreadConstraints": [{}]}), placeholder()), Problem)


CONCERNED = {
    "strangers": (placeholder("a"), placeholder("b"), False),
    "one gang": (member("a").pod, member("b").pod, True),
    "a gang and a stranger": (member("a").pod, placeholder("b"), False),
    "a gang that minds": (member("a").pod | {"spec": APART}, placeholder("b"), True),
    "one that minds": (placeholder("a", **APART), placeholder("b"), True),
    "one that is minded": (placeholder("a"), placeholder("b", **APART), True),
    "one that is spread": (placeholder("a", topologySpreadConstraints=[{}]), placeholder("b"), True),
    "one that is bound": (placeholder("a", bound=EU, **APART), placeholder("b"), False),
}  # fmt: skip


@pytest.mark.parametrize(("own", "other", "concerned"), CONCERNED.values(), ids=CONCERNED)
def test_a_placeholder_is_looked_at_again_for_those_that_concern_it(own, other, concerned):
    assert is_concerned(own, other) is concerned
