"""Affinity, anti-affinity and spreads among placeholders choose targets as they choose nodes in a cluster."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.api.clusters import Taint
from hanse.pods.wishes.company import company_terms, in_company, minds_company
from hanse.pods.wishes.placement import placement_of
from hanse.propagation.intent import Problem
from tests.unit.pods.wishes.scenes import (
    EU,
    US,
    beside,
    by_its_spec,
    cluster,
    decided,
    placeholder,
    pod,
    required,
    wishing,
)

few = settings() if settings().max_examples > 100 else settings(max_examples=30)

ZONES = (
    cluster("a1", zone="a", cpu="4"),
    cluster("a2", zone="a", cpu="2"),
    cluster("b1", zone="b", cpu="8"),
    cluster("bare", cpu="1"),
)
NAMES = tuple(each.name for each in ZONES)
WEB = {"app": "web"}


def open_to(asking, *neighbours, own=None, fleet=ZONES):
    """Return the targets that company leaves a pod, and the one that it goes to."""
    own = own or placeholder(labels=WEB)
    names = [each.name for each in fleet]
    terms = company_terms(asking, own, neighbours, fleet)
    assert not isinstance(terms, Problem), terms
    placement = in_company(placement_of(asking, own, names), terms)
    decision = decided(placement, fleet=fleet)
    out = {name for demand in terms.demands for name, _ in demand.against}
    return [name for name in names if name not in out], decision.chosen()


def term(key="zone", labels=WEB, **more):
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": key, **more}


def needing(kind, *terms):
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


def preferring(kind, *weighted):
    terms = [{"weight": weight, "podAffinityTerm": each} for weight, each in weighted]
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}


APART, TOGETHER = "podAntiAffinity", "podAffinity"


def test_pods_keep_apart_by_the_place_they_name():
    other = beside("a1", "other", labels=WEB)
    assert open_to(wishing(needing(APART, term())), other)[0] == ["b1", "bare"]
    assert open_to(wishing(needing(APART, term("kubernetes.io/hostname"))), other)[0] == ["a2", "b1", "bare"]


def test_pods_keep_together_by_the_place_they_name():
    other = beside("a1", "other", labels=WEB)
    assert open_to(wishing(needing(TOGETHER, term())), other)[0] == ["a1", "a2"]
    assert open_to(wishing(needing(TOGETHER, term("kubernetes.io/hostname"))), other)[0] == ["a1"]


def test_the_first_of_pods_that_keep_together_goes_anywhere_that_has_the_label():
    assert open_to(wishing(needing(TOGETHER, term())))[0] == ["a1", "a2", "b1"]
    assert open_to(wishing(needing(TOGETHER, term(labels={"app": "db"}))))[0] == []


def test_every_term_of_affinity_has_to_be_met_by_the_same_pods():
    asked = needing(TOGETHER, term(), term(labels={"tier": "front"}))
    half = beside("a1", "half", labels=WEB)
    both = beside("b1", "both", labels={**WEB, "tier": "front"})
    assert open_to(wishing(asked), half, both)[0] == ["b1"]


def test_what_has_ended_or_has_no_place_or_is_the_pod_itself_is_no_company():
    apart = wishing(needing(APART, term()))
    ended = beside("a1", "ended", labels=WEB, phase="Succeeded")
    waiting = beside("", "waiting", labels=WEB)
    itself = beside("a1", "web", labels=WEB)
    assert open_to(apart, ended, waiting, itself)[0] == list(NAMES)


def test_a_pod_is_not_let_near_one_that_keeps_apart_from_it():
    hermit = beside("a1", "hermit", **needing(APART, term()))
    allowed, _ = open_to(pod(), hermit)
    assert allowed == ["b1", "bare"]
    assert open_to(pod(), hermit, own=placeholder(labels={"app": "db"}))[0] == list(NAMES)


def test_namespaces_are_those_that_a_term_names():
    elsewhere = beside("a1", "other", labels=WEB, namespace="team")
    assert open_to(wishing(needing(APART, term())), elsewhere)[0] == list(NAMES)
    assert open_to(wishing(needing(APART, term(namespaces=["team"]))), elsewhere)[0] == ["b1", "bare"]
    assert open_to(wishing(needing(APART, term(namespaceSelector={}))), elsewhere)[0] == ["b1", "bare"]


def test_labels_are_compared_with_those_of_the_pod_itself():
    own = placeholder(labels={**WEB, "revision": "2"})
    old = beside("a1", "old", labels={**WEB, "revision": "1"})
    same = wishing(needing(APART, term(matchLabelKeys=["revision"])))
    other = wishing(needing(APART, term(mismatchLabelKeys=["revision"])))
    assert open_to(same, old, own=own)[0] == list(NAMES)
    assert open_to(other, old, own=own)[0] == ["b1", "bare"]


def test_a_preferred_term_counts_once_however_many_pods_it_speaks_of():
    crowd = [beside("a1", f"w{index}", labels=WEB) for index in range(3)]
    one = beside("b1", "db", labels={"app": "db"})
    asked = preferring(TOGETHER, (40, term()), (50, term(labels={"app": "db"})))
    assert open_to(wishing(asked), *crowd, one)[1] == ["b1"]
    assert open_to(wishing(preferring(APART, (10, term()))), beside("b1", "x", labels=WEB))[1] == ["a1"]


def spread(**more):
    entry = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**entry, "labelSelector": {"matchLabels": WEB}, **more}]}


def crowd(**counts):
    return [beside(name, f"{name}-{index}", labels=WEB) for name, count in counts.items() for index in range(count)]


SPREADS = {
    "nobody yet": ({}, {}, ["a1", "a2", "b1"]),
    "the emptiest place": ({"a1": 1}, {}, ["b1"]),
    "even": ({"a1": 1, "b1": 1}, {}, ["a1", "a2", "b1"]),
    "a greater skew": ({"a1": 1}, {"maxSkew": 2}, ["a1", "a2", "b1"]),
    "fewer places than asked for": ({"a1": 1, "b1": 1}, {"minDomains": 3}, []),
    "enough places": ({"a1": 1, "b1": 1}, {"minDomains": 2}, ["a1", "a2", "b1"]),
    "by target": ({"a1": 1, "bare": 1}, {"topologyKey": "kubernetes.io/hostname"}, ["a2", "b1"]),
    "others are meant": ({"a1": 5}, {"labelSelector": {"matchLabels": {"app": "db"}}}, ["a1", "a2", "b1"]),
    "no selector": ({"a1": 5}, {"labelSelector": None}, ["a1", "a2", "b1"]),
}  # fmt: skip


@pytest.mark.parametrize(("counts", "more", "allowed"), SPREADS.values(), ids=SPREADS)
def test_a_spread_keeps_places_even(counts, more, allowed):
    assert open_to(wishing(spread(**more)), *crowd(**counts))[0] == allowed


def test_pods_of_the_same_revision_are_counted_alone():
    own = placeholder(labels={**WEB, "revision": "2"})
    old = [beside("a1", f"old-{index}", labels={**WEB, "revision": "1"}) for index in range(3)]
    assert open_to(wishing(spread(matchLabelKeys=["revision"])), *old, own=own)[0] == ["a1", "a2", "b1"]


def test_pods_that_are_being_deleted_do_not_count():
    going = beside("a1", "going", labels=WEB, deleting=True)
    assert open_to(wishing(spread()), going)[0] == ["a1", "a2", "b1"]


def test_only_targets_that_the_pod_may_use_make_places():
    here = required({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]})
    asked = {**spread(topologyKey="kubernetes.io/hostname"), **here}
    assert open_to(wishing(asked), *crowd(a1=1, a2=1))[1] == ["a1"]
    ignoring = {**spread(topologyKey="kubernetes.io/hostname", nodeAffinityPolicy="Ignore"), **here}
    assert open_to(wishing(ignoring), *crowd(a1=1, a2=1))[1] == []


def test_taints_make_places_unless_they_are_honoured():
    fleet = (cluster(EU, zone="a"), cluster(US, Taint("gpu"), zone="b"))
    assert open_to(wishing(spread()), *crowd(eu=1), fleet=fleet)[0] == [US]
    honoured = wishing(spread(nodeTaintsPolicy="Honor"))
    assert EU in open_to(honoured, *crowd(eu=1), fleet=fleet)[0]


def test_a_lost_target_is_no_place_to_be_even_with():
    fleet = (cluster(EU, zone="a"), cluster(US, zone="b", ready=False))
    assert open_to(wishing(spread()), *crowd(eu=3), fleet=fleet)[1] == [EU]


def test_a_soft_spread_likes_the_emptier_place():
    soft = wishing(spread(whenUnsatisfiable="ScheduleAnyway"))
    assert open_to(soft, *crowd(b1=1))[1] == ["a1"]
    assert open_to(soft, *crowd(b1=1, a1=2))[1] == ["b1"]


def test_reasons_name_the_field_and_the_pod_that_keeps_a_target_closed():
    asked = by_its_spec(needing(APART, term()))
    own = placeholder(labels=WEB)
    terms = company_terms(asked, own, [beside("a1", "other", labels=WEB)], ZONES)
    decision = decided(in_company(placement_of(asked, own, NAMES), terms), fleet=ZONES)
    field = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
    assert decision.of("a2").reasons[-1] == f"{field}: pod default/other is in zone a"


def test_a_pod_stays_although_its_company_has_changed():
    asked, own = wishing(needing(APART, term())), placeholder(labels=WEB)
    terms = company_terms(asked, own, [beside("a1", "other", labels=WEB)], ZONES)
    placement = in_company(placement_of(asked, own, NAMES), terms)
    assert decided(placement, current="a1", fleet=ZONES).chosen() == ["a1"]


def test_only_pods_that_ask_for_it_mind_company():
    assert minds_company(wishing(spread()))
    assert minds_company(wishing(needing(APART, term())))
    assert minds_company(wishing("{"))
    assert not minds_company(wishing({"nodeSelector": {"a": "b"}}))
    assert not minds_company(pod(spread()))


BAD = {
    "no topology key": (needing(APART, {"labelSelector": {}}), "topologyKey must name a label"),
    "labels of namespaces": (
        needing(APART, term(namespaceSelector={"matchLabels": {"a": "b"}})), "namespaceSelector cannot be kept"),
    "an unknown field": (needing(APART, term(rack="r")), "there is no field .*required.*rack"),
    "a selector": (
        needing(APART, {"topologyKey": "z", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}}),
        "labelSelector: .*not a valid label selector operator"),
    "a skew": (spread(maxSkew=0), r"topologySpreadConstraints\[0\].maxSkew must be a whole number of at least 1"),
    "what to do": (spread(whenUnsatisfiable="Panic"), "whenUnsatisfiable must be DoNotSchedule or ScheduleAnyway"),
    "a policy": (spread(nodeTaintsPolicy="Maybe"), "nodeTaintsPolicy must be Honor or Ignore"),
    "a weight": (preferring(APART, (200, term())), "weight must be a whole number from 1 to 100"),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "sentence"), BAD.values(), ids=BAD)
def test_what_cannot_be_kept_of_company_is_told_with_the_path_of_its_field(asked, sentence):
    found = company_terms(wishing(asked), placeholder(labels=WEB), [], ZONES)
    assert isinstance(found, Problem)
    assert re.search(sentence, found.message)


def test_a_neighbour_whose_own_words_cannot_be_read_keeps_nobody_away():
    garbled = beside("a1", "garbled", **needing(APART, {"labelSelector": {}}))
    assert open_to(pod(), garbled)[0] == list(NAMES)


@few
@given(count=st.integers(1, 12), skew=st.integers(1, 3))
def test_pods_that_come_one_by_one_never_exceed_their_skew(count, skew):
    fleet = (cluster("a1", zone="a", cpu="50"), cluster("a2", zone="a", cpu="50"), cluster("b1", zone="b", cpu="99"))
    zones = {each.name: each.labels["zone"] for each in fleet}
    there = []
    for index in range(count):
        own = placeholder(f"w{index}", labels=WEB)
        (name,) = open_to(wishing(spread(maxSkew=skew)), *there, own=own, fleet=fleet)[1]
        there.append(beside(name, f"w{index}", labels=WEB))
        counts = [sum(zones[each.target] == zone for each in there) for zone in ("a", "b")]
        assert max(counts) - min(counts) <= skew
