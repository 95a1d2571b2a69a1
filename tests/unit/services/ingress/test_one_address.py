"""Ingresses that share an address: who gets one first, who waits, and what the federation's is told."""

import pytest

from hanse.api.clusters import Cluster
from hanse.native import NativeDoor
from hanse.native.ingresses import address_mark
from hanse.native.template import template_of
from hanse.placement.decision import Decision
from hanse.propagation.one_address import (
    FIRST_CLUSTER_ANNOTATION,
    STATIC_IP_ANNOTATION,
    UNDECIDED,
    OneAddress,
    one_address,
)
from hanse.propagation.planning import Observation, plan
from hanse.propagation.report import Report, Row
from hanse.propagation.wellness import has_entrance

ALL = {"a", "b", "c"}


def cluster(name, uid="shared", *, ready=True, own=False):
    return Cluster(name, ready=ready, ingress_uid=uid, own_ingress=own)


def ingress(**annotations):
    metadata = {"name": "web", "namespace": "default", "uid": "u", "annotations": annotations}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": {}}


def row(name, held="", *, live=True, **annotations):
    observed = {"metadata": {"annotations": annotations}} if annotations else None
    return Row(name, None, observed, live, held=held)


def marked(source, *rows):
    mark = address_mark(source, Report(Decision(()), rows))
    return (mark.annotation, mark.text) if mark is not None else None


def test_where_no_cluster_shares_a_uid_nobody_waits():
    assert OneAddress().held_back([cluster("a", ""), cluster("b", "")], ALL) == {}


def test_all_that_share_wait_until_one_of_them_is_first_and_others_do_not():
    clusters = [cluster("a"), cluster("b"), cluster("c", "", own=True)]

    assert OneAddress().held_back(clusters, ALL) == {"a": UNDECIDED, "b": UNDECIDED}


def test_the_others_wait_for_the_name_of_the_address_of_the_first():
    clusters = [cluster("a"), cluster("b")]

    held = OneAddress(first="a").held_back(clusters, ALL)

    assert held == {"b": "it waits for the name of the address that a gets"}
    assert OneAddress(named=True).held_back(clusters, ALL) == {}


def test_a_first_that_is_lost_or_not_chosen_is_replaced():
    lost = [cluster("a", ready=False), cluster("b")]

    assert OneAddress(first="a").held_back(lost, ALL) == {"a": UNDECIDED, "b": UNDECIDED}
    assert OneAddress(first="a").held_back([cluster("a"), cluster("b")], {"b"})["b"] == UNDECIDED


def test_a_cluster_of_which_nothing_is_known_waits_beside_others_that_share_even_where_the_address_is_named():
    held = OneAddress(named=True).held_back([cluster("a"), cluster("b", "")], ALL)

    assert list(held) == ["b"]


def test_the_first_waiting_cluster_is_marked_and_before_others_one_that_has_a_copy():
    waiting = [row("a", UNDECIDED, live=False), row("b", UNDECIDED), row("c", UNDECIDED, seen="yes")]

    assert marked(ingress(), *waiting[:2]) == (FIRST_CLUSTER_ANNOTATION, "b")
    assert marked(ingress(), *waiting) == (FIRST_CLUSTER_ANNOTATION, "c")
    assert marked(ingress(), row("a")) is None
    assert address_mark(ingress(), None) is None


def test_the_name_of_the_address_is_taken_from_the_first_cluster_and_never_overwritten():
    own = row("a", **{"ingress.kubernetes.io/static-ip": "of-a-alone"})
    told = row("b", **{"ingress.kubernetes.io/static-ip": "k8s-fw-web"})
    first = {FIRST_CLUSTER_ANNOTATION: "b"}

    assert marked(ingress(**first), own, told) == (STATIC_IP_ANNOTATION, "k8s-fw-web")
    assert marked(ingress(**first), own) is None
    assert marked(ingress(), own) is None
    assert marked(ingress(**first, **{STATIC_IP_ANNOTATION: "mine"}), told) is None


def test_the_plan_makes_no_copy_where_one_waits_and_keeps_those_that_are_there():
    source = ingress(**{FIRST_CLUSTER_ANNOTATION: "a"})
    intent = NativeDoor().translate(source)
    clusters = [cluster(name) for name in "abc"]
    copy = {
        "kind": "Ingress",
        "metadata": {
            "name": "web",
            "annotations": {"hanse.dev/owner-uid": "u"},
            "labels": {"hanse.dev/managed": "true"},
        },
    }
    observed = {"a": Observation(True), "b": Observation(True), "c": Observation(True, copy)}

    planned = plan(intent, clusters, observed)

    assert intent.one_address == one_address(source) == OneAddress(first="a")
    assert set(planned.wanted) == {"a", "c"}
    assert set(planned.held) == {"b", "c"}
    assert any(note.startswith("b: it waits") for note in planned.decision.notes)
    assert planned.final is False


def test_who_is_first_is_the_federations_own_business():
    annotations = {FIRST_CLUSTER_ANNOTATION: "a", STATIC_IP_ANNOTATION: "ip"}

    assert template_of(ingress(**annotations))["metadata"]["annotations"] == {STATIC_IP_ANNOTATION: "ip"}


def owned(kind="Ingress", address="", **spec):
    """Return a copy of the Ingress, or of a Service, with or without an address."""
    annotations, labels = {"hanse.dev/owner-uid": "u"}, {"hanse.dev/managed": "true"}
    entries = [{"ip": address}] if address else []
    return {
        "kind": kind,
        "metadata": {"name": "web", "namespace": "default", "annotations": annotations, "labels": labels},
        "spec": spec,
        "status": {"loadBalancer": {"ingress": entries}},
    }


def moving(here, there):
    """Plan for an Ingress that shall be in b only, which a has, too."""
    source = ingress(**{"federation.alpha.kubernetes.io/cluster-selector": '[{"key": "in", "operator": "exists"}]'})
    clusters = [Cluster("a", ready=True), Cluster("b", {"in": ""}, ready=True)]
    return plan(NativeDoor().translate(source), clusters, {"a": Observation(True, here), "b": Observation(True, there)})


def test_an_ingress_leaves_a_cluster_when_the_one_that_follows_it_has_an_address():
    waits = moving(owned(address="192.0.2.1"), owned())
    follows = moving(owned(address="192.0.2.1"), owned(address="192.0.2.2"))
    useless = moving(owned(), owned())

    assert [type(each.wanted["a"]).__name__ for each in (waits, follows, useless)] == ["Kept", "Absent", "Absent"]


@pytest.mark.parametrize(
    ("copy", "entered"),
    [
        (owned(), False),
        (owned(address="192.0.2.1"), True),
        (owned("Service", type="LoadBalancer"), False),
        (owned("Service", "192.0.2.1", type="LoadBalancer"), True),
        (owned("Service", type="NodePort"), True),
        (owned("ConfigMap"), True),
    ],
)
def test_clients_come_in_by_what_has_an_address_where_it_is_there_for_them(copy, entered):
    assert has_entrance(copy) is entered
