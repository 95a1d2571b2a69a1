"""Several releases of an application under one name: a cluster has more than one presence, and nobody mixes them up."""

from collections import Counter

from hanse.api.dns_zones import WEIGHTED, CloudDnsSettings, Route53Settings
from hanse.kube.manifest import Key
from hanse.kube.runtime import SystemRuntime
from hanse.services.addresses import addresses_manifest, parse_addresses
from hanse.services.balancing.lines import Asking, draw_lines
from hanse.services.dns.authority import Authority
from hanse.services.dns.tracing import trace
from hanse.services.geography.vantage import NOWHERE
from hanse.services.presence import FederatedService, Port, Presence
from hanse.services.providers import clouddns_sets, route53_sets
from hanse.services.records import records_of
from tests.unit.services.cases import FEDERATION
from tests.unit.services.dns.asking import ask, values
from tests.unit.services.dns.test_book import book_of, cluster

WEB = Key("shop", "web")
OLD, NEW = "web-old-0", "web-new-0"
MIXED = FederatedService(
    WEB,
    (Port("http", "TCP", 80),),
    (
        Presence("eu", ("192.0.2.1",), ("10.0.0.1",), backends=9, weight=9, release=OLD),
        Presence("eu", ("192.0.2.2",), ("10.0.0.2",), backends=1, weight=1, release=NEW),
        Presence("us", ("192.0.2.3",), ("10.1.0.1",), backends=9, weight=9, release=OLD),
        Presence("us", ("192.0.2.4",), ("10.1.0.2",), serving=False, why="none is ready", release=NEW),
    ),
)
HOSTNAME = FEDERATION.hostname(WEB)


def records():
    return {(each.name, each.type): each for each in records_of(MIXED, FEDERATION, {})}


def test_the_release_is_stored_and_read():
    assert parse_addresses(addresses_manifest(MIXED, HOSTNAME)) == MIXED


def test_every_name_and_type_has_one_record_set():
    found = [(each.name, each.type) for each in records_of(MIXED, FEDERATION, {})]
    assert len(found) == len(set(found))


def test_the_name_of_a_cluster_leads_to_all_its_releases_with_their_weights():
    own = records()[FEDERATION.in_cluster(WEB, "eu"), "A"]
    assert [(each.value, each.weight, each.inside) for each in own.data] == [
        ("192.0.2.1", 9, "10.0.0.1"),
        ("192.0.2.2", 1, "10.0.0.2"),
    ]


def test_a_port_names_each_cluster_once_with_what_its_releases_have_together():
    found = records()[f"_http._tcp.{HOSTNAME}", "SRV"]
    assert found.values == (
        f"0 10 80 {FEDERATION.in_cluster(WEB, 'eu')}.",
        f"0 9 80 {FEDERATION.in_cluster(WEB, 'us')}.",
    )


def test_a_balancer_gives_each_release_its_own_share():
    (line,) = draw_lines([Asking(MIXED, "tcp")]).lines
    assert [(each.cluster, each.address, each.weight) for each in line.targets] == [
        ("eu", "192.0.2.1", 256),
        ("eu", "192.0.2.2", 28),
        ("us", "192.0.2.3", 256),
        ("us", "192.0.2.4", 0),
    ]


def test_providers_that_answer_by_weight_keep_the_releases_apart():
    wanted = records()[HOSTNAME, "A"]
    aws = route53_sets.Routing(Route53Settings(routing=WEIGHTED), lambda _cluster: "")
    made = route53_sets.api_sets(aws.stored(wanted), {})
    assert {key[2]: told["Weight"] for key, told in made.items()} == {
        f"weighted/eu/{OLD}": 9,
        f"weighted/eu/{NEW}": 1,
        f"weighted/us/{OLD}": 9,
    }
    google = clouddns_sets.Routing(CloudDnsSettings("project", routing=WEIGHTED), lambda _cluster: "")
    items = clouddns_sets.api_set(google.stored(wanted))["routingPolicy"]["wrr"]["items"]
    assert items == [
        {"weight": 1.0, "rrdatas": ["192.0.2.2"]},
        {"weight": 9.0, "rrdatas": ["192.0.2.1"]},
        {"weight": 9.0, "rrdatas": ["192.0.2.3"]},
    ]


def test_dns_answers_with_every_release_that_serves_the_heavier_ones_first_in_proportion():
    book = book_of(addresses_manifest(MIXED), clusters=[cluster("eu"), cluster("us")])
    authority, first = Authority(book.zones, SystemRuntime()), Counter()
    for _ in range(400):
        answer = values(ask(authority, "eu.web.shop.fed.svc.example.com", "A"))
        assert sorted(answer) == ["192.0.2.1", "192.0.2.2"]
        first[answer[0]] += 1
    # One in ten: fewer than 8 or more than 90 of 400 happen once in many millions of runs.
    assert 8 <= first["192.0.2.2"] <= 90


def test_a_trace_says_whose_each_address_is_and_who_is_left_out():
    book = book_of(addresses_manifest(MIXED), clusters=[cluster("eu"), cluster("us")])
    [step] = trace(book, "web.shop.fed.example.com", NOWHERE).steps
    assert [(each.value, each.why) for each in step.answer] == [
        ("192.0.2.1", f"distance unknown, release {OLD}, weight 9"),
        ("192.0.2.3", f"distance unknown, release {OLD}, weight 9"),
        ("192.0.2.2", f"distance unknown, release {NEW}"),
    ]
    assert [(each.cluster, each.why) for each in step.left_out] == [("us", "none is ready")]
    [own] = trace(book, "eu.web.shop.fed.svc.example.com", NOWHERE).steps
    assert [each.value for each in own.answer] == ["192.0.2.1", "192.0.2.2"]
