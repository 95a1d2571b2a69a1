"""What DNS knows of a federation follows its objects, and survives bad ones."""

from dataclasses import replace

import dns.rdatatype
import pytest

from hanse.api.federation import federation_manifest
from hanse.kube.manifest import Key
from hanse.kube.runtime import SystemRuntime
from hanse.services.addresses import addresses_manifest
from hanse.services.dns.authority import Authority
from hanse.services.dns.book import Book
from hanse.services.dns.zones import Zones
from hanse.services.places import LOAD_ANNOTATION
from hanse.services.presence import FederatedService, Port, Presence
from tests.unit.services.dns.asking import ask, rcode, values

WEB, SHOP = Key("default", "web"), Key("default", "shop")


def cluster(name, region="", *zones, load=""):
    annotations = {LOAD_ANNOTATION: load} if load else {}
    return {
        "metadata": {"name": name, "annotations": annotations},
        "status": {"region": region, "zones": list(zones)},
    }


def service(key, *presences, **more):
    return addresses_manifest(FederatedService(key, (Port("http", "TCP", 80),), presences, **more))


def book_of(*services, clusters=(), federation=None, **options):
    book = Book(Zones(complete=False), SystemRuntime(), **options)
    book.take_federation(federation or federation_manifest("fed", "example.com"))
    for each in clusters:
        book.take_cluster(each["metadata"]["name"], each)
    for each in services:
        book.take_service(Key(each["metadata"]["namespace"], each["metadata"]["name"]), each)
    book.complete()
    return book


def answer(book, name, kind="A"):
    found = ask(Authority(book.zones, SystemRuntime()), name, kind)
    return sorted(values(found)) or rcode(found)


def serial(book):
    return ask(Authority(book.zones, SystemRuntime()), "example.com", "SOA").answer[0][0].serial


US, EU = cluster("c-us", "us", "us-a"), cluster("c-eu", "eu", "eu-a")
BOTH = (Presence("c-us", ("1.1.1.1",)), Presence("c-eu", ("2.2.2.2",)))


def test_a_service_has_its_names_on_every_level():
    book = book_of(service(WEB, *BOTH), clusters=[US, EU])

    assert {name: answer(book, f"{name}.example.com") for name in (
        "web.default.fed",
        "web.default.fed.svc",
        "web.default.fed.svc.us",
        "web.default.fed.svc.eu-a.eu",
        "c-us.web.default.fed.svc",
    )} == {
        "web.default.fed": ["1.1.1.1", "2.2.2.2"],
        "web.default.fed.svc": ["1.1.1.1", "2.2.2.2"],
        "web.default.fed.svc.us": ["1.1.1.1"],
        "web.default.fed.svc.eu-a.eu": ["2.2.2.2"],
        "c-us.web.default.fed.svc": ["1.1.1.1"],
    }  # fmt: skip


# Who serves, and what each name answers: federation v1's lines 75, 76 and 77.
LEVELS = {
    "one of two": ("us", {"eu-a.eu": ["1.1.1.1"], "eu": ["1.1.1.1"], "us-a.us": ["1.1.1.1"], "": ["1.1.1.1"]}),
    "nobody": ("", {"eu-a.eu": "NXDOMAIN", "eu": "NXDOMAIN", "us-a.us": "NXDOMAIN", "": "NXDOMAIN"}),
    "both": ("us eu", {"eu-a.eu": ["2.2.2.2"], "eu": ["2.2.2.2"], "us": ["1.1.1.1"], "": ["1.1.1.1", "2.2.2.2"]}),
}


@pytest.mark.parametrize(("serving", "answers"), LEVELS.values(), ids=LEVELS.keys())
def test_a_level_without_anybody_leads_on_to_the_next_in_one_answer(serving, answers):
    presences = (replace(each, serving=each.cluster.removeprefix("c-") in serving.split()) for each in BOTH)
    book = book_of(service(WEB, *presences), clusters=[US, EU])

    found = {level: ask_level(book, level) for level in answers}

    assert {level: addresses or code for level, (code, addresses, _) in found.items()} == answers
    assert {level for level, (_, _, chain) in found.items() if chain} == {
        level for level, told in answers.items() if level and (told == "NXDOMAIN" or level[-2:] not in serving)
    }


def ask_level(book, level):
    """The code, the addresses in order, and the aliases on the way."""
    name = f"web.default.fed.svc.{level}.example.com" if level else "web.default.fed.svc.example.com"
    found = ask(Authority(book.zones, SystemRuntime()), name)
    told = {"A": [], "CNAME": []}
    for each in found.answer:
        told[dns.rdatatype.to_text(each.rdtype)] += [value.to_text() for value in each]
    return rcode(found), sorted(told["A"]), told["CNAME"]


def test_nothing_is_answered_before_all_is_known():
    book = Book(Zones(complete=False), SystemRuntime())
    book.take_federation(federation_manifest("fed", "example.com"))
    book.take_service(WEB, service(WEB, *BOTH))
    assert answer(book, "web.default.fed.example.com") == "SERVFAIL"

    book.complete()
    assert answer(book, "web.default.fed.example.com") == ["1.1.1.1", "2.2.2.2"]


def test_a_changed_service_changes_its_own_names_alone():
    book = book_of(service(WEB, *BOTH), service(SHOP, *BOTH), clusters=[US, EU])
    book.take_service(WEB, service(WEB, BOTH[0]))
    assert answer(book, "web.default.fed.example.com") == ["1.1.1.1"]

    book.take_service(WEB, None)
    assert answer(book, "web.default.fed.example.com") == "NXDOMAIN"
    assert answer(book, "shop.default.fed.example.com") == ["1.1.1.1", "2.2.2.2"]


def test_a_cluster_that_moves_takes_its_levels_along():
    book = book_of(service(WEB, *BOTH), clusters=[US, EU])
    book.take_cluster("c-eu", cluster("c-eu", "asia", "asia-a"))
    assert answer(book, "web.default.fed.svc.asia.example.com") == ["2.2.2.2"]
    assert answer(book, "web.default.fed.svc.eu.example.com") == "NXDOMAIN"

    book.take_cluster("c-eu", None)
    assert answer(book, "web.default.fed.svc.asia.example.com") == "NXDOMAIN"


def test_a_load_changes_the_order_and_no_name():
    changes = []
    book = book_of(service(WEB, *BOTH), clusters=[US, EU], changed=lambda: changes.append(1))
    changes.clear()

    def first():
        return values(ask(Authority(book.zones, SystemRuntime()), "web.default.fed.example.com"))[0]

    orders = []
    for load in ("0.95", "0.8", "0.6"):
        book.take_cluster("c-us", cluster("c-us", "us", "us-a", load=load))
        orders.append({first() for _ in range(40)})

    assert orders == [{"2.2.2.2"}, {"2.2.2.2"}, {"1.1.1.1", "2.2.2.2"}]
    assert changes == []


@pytest.mark.parametrize(
    "spoilt",
    [
        {"clusters": [{"serving": True}], "published": True},
        {"clusters": [{"name": "c-us", "serving": True, "addresses": ["one"]}], "published": True, "ttlSeconds": 1},
        {"clusters": "none"},
        {"ttlSeconds": "soon"},
    ],
)
def test_an_object_that_makes_no_sense_changes_nothing(spoilt, log_lines):
    book = book_of(service(WEB, *BOTH), clusters=[US, EU])
    book.take_service(WEB, {**service(WEB, *BOTH), "spec": spoilt})

    assert answer(book, "web.default.fed.example.com") == ["1.1.1.1", "2.2.2.2"]
    assert book.services[WEB].presences == BOTH
    assert [line["event"] for line in log_lines if line["log_level"] == "warning"] == [
        "Kept the names of a service as they were"
    ]


def test_a_service_that_makes_no_sense_does_not_stop_the_others_when_names_begin(log_lines):
    book = Book(Zones(complete=False), SystemRuntime())
    book.complete()
    spoilt = {"clusters": [{"name": "c-us", "serving": True, "addresses": ["one"]}], "published": True}
    book.take_service(SHOP, {**service(SHOP), "spec": spoilt})
    book.take_service(WEB, service(WEB, *BOTH))
    book.take_federation(federation_manifest("fed", "example.com"))

    assert answer(book, "web.default.fed.example.com") == ["1.1.1.1", "2.2.2.2"]
    assert answer(book, "shop.default.fed.example.com") == "NXDOMAIN"
    assert any(line.get("service") == "default/shop" for line in log_lines)


def test_a_federation_that_makes_no_sense_keeps_its_names(log_lines):
    book = book_of(service(WEB, *BOTH))
    book.take_federation(federation_manifest("fed", "Not A Domain"))

    assert answer(book, "web.default.fed.example.com") == ["1.1.1.1", "2.2.2.2"]
    assert "spec.domain" in next(line["error"] for line in log_lines if "error" in line)


def test_a_federation_that_is_renamed_or_gone_takes_its_names_along():
    book = book_of(service(WEB, *BOTH))
    before = serial(book)
    book.take_federation(federation_manifest("other", "example.com"))
    assert answer(book, "web.default.fed.example.com") == "NXDOMAIN"
    assert answer(book, "web.default.other.example.com") == ["1.1.1.1", "2.2.2.2"]
    assert serial(book) > before

    book.take_federation(federation_manifest("other", "example.org"))
    assert answer(book, "web.default.other.example.com") == "REFUSED"
    assert answer(book, "web.default.other.example.org") == ["1.1.1.1", "2.2.2.2"]

    book.take_federation(None)
    assert answer(book, "web.default.other.example.org") == "REFUSED"


def test_what_the_federation_says_of_subnets_and_distances_orders_answers():
    federation = federation_manifest("fed", "example.com")
    federation["spec"]["subnets"] = [{"cidr": "192.0.2.0/24", "region": "africa"}]
    federation["spec"]["distances"] = [{"from": "africa", "to": "eu", "distance": 1}]
    book = book_of(service(WEB, *BOTH), clusters=[US, EU], federation=federation)

    firsts = {
        values(ask(Authority(book.zones, SystemRuntime()), "web.default.fed.example.com", source="192.0.2.1"))[0]
        for _ in range(20)
    }
    assert firsts == {"2.2.2.2"}


def test_a_server_without_a_name_is_called_ns_and_has_its_address_in_the_zone():
    book = book_of(address="192.0.2.53")

    assert answer(book, "example.com", "NS") == ["ns.example.com."]
    assert answer(book, "ns.example.com") == ["192.0.2.53"]


def test_a_name_that_is_too_long_for_dns_is_left_out_and_the_others_stay(log_lines):
    key = Key("n" * 63, "s" * 63)
    far = cluster("c-far", "r" * 63, "z" * 63)
    book = book_of(service(key, Presence("c-far", ("1.1.1.1",))), clusters=[far])

    assert answer(book, f"{key.name}.{key.namespace}.fed.example.com") == ["1.1.1.1"]
    assert any(line["event"] == "Left a name out of DNS" for line in log_lines)
