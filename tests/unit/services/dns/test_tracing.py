"""What a client is told, step by step, as the server would tell it."""

import pytest

from hanse.api.federation import federation_manifest
from hanse.services.dns.tracing import place_to_ask_from, trace
from hanse.services.geography.vantage import NOWHERE, Vantage
from hanse.services.presence import Presence
from tests.unit.services.dns.test_book import BOTH, EU, US, WEB, book_of, cluster, service

DEAD = "none of its endpoints is ready"


def told(traced):
    """Every line of a trace: number of the step, what it covers, and what it says."""
    return [
        (number, step.level, step.type, *each)
        for number, step in enumerate(traced.steps, 1)
        for each in (
            *((each.value, each.cluster, each.why) for each in step.answer),
            *(("left out", left.cluster, left.why) for left in step.left_out),
        )
    ]


def test_a_level_without_anybody_leads_on_and_says_who_is_missing():
    book = book_of(service(WEB, BOTH[0], Presence("c-eu", ("2.2.2.2",), serving=False, why=DEAD)), clusters=[US, EU])
    traced = trace(book, "Web.default.fed.svc.eu-a.eu.example.com.", Vantage(region="eu"))

    assert told(traced) == [
        (1, "zone eu-a of eu", "CNAME", "web.default.fed.svc.eu.example.com", "", "nobody serves here"),
        (1, "zone eu-a of eu", "CNAME", "left out", "c-eu", DEAD),
        (2, "region eu", "CNAME", "web.default.fed.svc.example.com", "", "nobody serves here"),
        (2, "region eu", "CNAME", "left out", "c-eu", DEAD),
        (3, "everywhere", "A", "1.1.1.1", "c-us", "distance unknown"),
        (3, "everywhere", "A", "left out", "c-eu", DEAD),
    ]
    assert traced.service == "default/web"
    assert traced.outcome == "1 answer, nearest first; of equals by chance"


def test_answers_stand_in_the_order_in_which_they_are_told():
    book = book_of(
        service(WEB, Presence("c-us", ("1.1.1.1",), ("10.0.0.1",)), Presence("c-eu", ("2.2.2.2", "3.3.3.3"), weight=2)),
        clusters=[US, EU],
    )

    assert told(trace(book, "web.default.fed.example.com", Vantage(cluster="c-us"))) == [
        (1, "everywhere", "A", "10.0.0.1", "c-us", "same cluster"),
        (1, "everywhere", "A", "2.2.2.2", "c-eu", "distance unknown, weight 2"),
        (1, "everywhere", "A", "3.3.3.3", "c-eu", "distance unknown, weight 2"),
    ]
    assert [line[3] for line in told(trace(book, "_http._tcp.web.default.fed.example.com", Vantage(region="eu")))] == [
        "0 2 80 c-eu.web.default.fed.svc.example.com.",
        "0 1 80 c-us.web.default.fed.svc.example.com.",
    ]


def test_addresses_that_are_dead_and_clusters_that_serve_nevertheless_are_told():
    alive = Presence("c-us", ("1.1.1.1", "1.1.1.2"), dead=("1.1.1.2",), why="kept since all seem dead")
    traced = trace(book_of(service(WEB, alive), clusters=[US]), "web.default.fed.example.com", NOWHERE)

    [step] = traced.steps
    assert [(each.value, each.why) for each in step.answer] == [
        ("1.1.1.1", "distance unknown; kept since all seem dead")
    ]
    assert [(each.address, each.cluster) for each in step.left_out] == [("1.1.1.2", "c-us")]


def test_where_nobody_serves_there_is_no_such_name():
    book = book_of(service(WEB, Presence("c-us", ("1.1.1.1",), serving=False, why=DEAD)), clusters=[US])
    traced = trace(book, "web.default.fed.svc.us.example.com", NOWHERE)

    assert [step.type for step in traced.steps] == ["CNAME", ""]
    assert traced.outcome == "nobody serves at all (1 cluster is left out): the answer is NXDOMAIN"


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("web.default.fed.example.org", "not in example.com: the answer is REFUSED"),
        ("shop.default.fed.example.com", "no service has this name: the answer is NXDOMAIN"),
        ("web.default.fed.svc.mars.example.com", "no service has this name"),
        ("inner.default.fed.example.com", "has no names in DNS"),
    ],
)
def test_a_name_that_is_nobodys_is_said_to_be_so(name, outcome):
    inner = service(WEB._replace(name="inner"), published=False)

    assert outcome in trace(book_of(service(WEB, *BOTH), inner, clusters=[US, EU]), name, NOWHERE).outcome


def test_without_a_federation_there_are_no_names():
    book = book_of(service(WEB, *BOTH))
    book.take_federation(None)

    assert "there is no Federation object" in trace(book, "web.default.fed.example.com", NOWHERE).outcome


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("cluster/c-us", Vantage(cluster="c-us")),
        ("zone/eu/eu-a", Vantage(region="eu", zone="eu-a")),
        ("subnet/10.1.2.0/24", Vantage(region="eu")),
        ("10.1.2.3", Vantage(region="eu")),
        ("2001:db8::1", NOWHERE),
    ],
)
def test_a_place_may_be_named_or_found_by_a_subnet(text, place):
    federation = federation_manifest("fed", "example.com")
    federation["spec"]["subnets"] = [{"cidr": "10.1.0.0/16", "region": "eu"}]

    assert place_to_ask_from(text, book_of(federation=federation)) == place


@pytest.mark.parametrize(
    ("text", "why"), [("subnet/here", "no subnet"), ("300.1.1.1", "no subnet"), ("here", "no place")]
)
def test_what_is_no_place_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        place_to_ask_from(text, book_of())


def test_two_zones_of_one_cluster_are_two_levels():
    book = book_of(service(WEB, BOTH[0]), clusters=[cluster("c-us", "us", "us-a", "us-b")])

    assert [
        trace(book, f"web.default.fed.svc.{zone}.us.example.com", NOWHERE).steps[0].level for zone in ("us-a", "us-b")
    ] == ["zone us-a of us", "zone us-b of us"]
