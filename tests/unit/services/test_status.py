import json

import pytest

from hanse.kube.conditions import find_condition
from hanse.services.judging import Judgement
from hanse.services.observing import Sighting, Wish
from hanse.services.status import (
    DNS_PUBLISHED,
    ENDPOINTS_HEALTHY,
    conditions_of,
    ingresses_of,
    ingresses_text,
    published_status,
    told_ingresses,
    unpublished_status,
    with_ingresses,
)
from tests.unit.services.cases import HOSTNAME, KEY, presence, service

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
IP, NAME = ("ip", "1.1.1.1"), ("hostname", "lb.example.com")


def plain(annotations=None, status=None, kind="LoadBalancer"):
    metadata = {"name": "my-service"} | ({"annotations": annotations} if annotations else {})
    return {"metadata": metadata, "spec": {"type": kind}, "status": status or {}}


def text(presences, sightings, told=()):
    return ingresses_text(ingresses_of(presences, sightings, dict(told)))


ANNOTATIONS = {
    "nothing": ([], {}, {}, "{}"),
    "in order of cluster": (
        [presence("b", backends=1), presence("a", backends=1)],
        {"b": Sighting((IP,)), "a": Sighting((NAME,))},
        {},
        '{"items":[{"cluster":"a","items":[{"hostname":"lb.example.com"}]},{"cluster":"b","items":[{"ip":"1.1.1.1"}]}]}',
    ),
    "no endpoint is ready": (
        [presence("a", backends=0)],
        {"a": Sighting((IP,))},
        {},
        '{"items":[{"cluster":"a","items":null}]}',
    ),
    "no address": ([presence("a", backends=1)], {"a": Sighting()}, {}, "{}"),
    "not to be asked, and told before": (
        [presence("a", backends=1)],
        {},
        {"a": [{"ip": "2.2.2.2"}]},
        '{"items":[{"cluster":"a","items":[{"ip":"2.2.2.2"}]}]}',
    ),
    "not to be asked, and nothing told": ([presence("a")], {}, {}, '{"items":[{"cluster":"a","items":[]}]}'),
}


@pytest.mark.parametrize(("presences", "sightings", "told", "expected"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_the_annotation_is_spelt_as_federation_v1_did(presences, sightings, told, expected):
    assert text(presences, sightings, told) == expected


def test_what_the_annotation_says_is_read_again():
    written = with_ingresses(plain(), '{"items":[{"cluster":"a","items":null},{"cluster":"b","items":[{"ip":"1"}]}]}')
    assert told_ingresses(written) == {"a": None, "b": [{"ip": "1"}]}


@pytest.mark.parametrize("written", ["", "[]", "{", '{"items":[{}]}', '{"items":[1]}', json.dumps(1)])
def test_an_annotation_that_cannot_be_read_says_nothing(written):
    assert told_ingresses(with_ingresses(plain(), written)) == {}


def test_what_is_annotated_already_is_not_written_again():
    source = plain({"federation.kubernetes.io/service-ingresses": "{}", "other": "1"})
    assert with_ingresses(source, "{}") is source
    assert with_ingresses(source, None)["metadata"]["annotations"] == {"other": "1"}
    assert with_ingresses(plain(), None) == plain()


FOUND = service(presence("a", "1.1.1.1"))


def test_the_hostname_is_the_only_entry():
    members = {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}]}}
    status = published_status(plain(status=members), FOUND, HOSTNAME, [], NOW)
    assert status["loadBalancer"] == {"ingress": [{"hostname": HOSTNAME}]}


@pytest.mark.parametrize(
    ("source", "found"),
    [(plain(), service()), (plain(kind="ClusterIP"), FOUND)],
    ids=["no address yet", "another type"],
)
def test_there_is_no_hostname_before_there_is_an_address_nor_where_the_api_forbids_one(source, found):
    assert published_status(source, found, HOSTNAME, [], NOW)["loadBalancer"] == {}


def test_a_status_that_says_it_already_stays_as_it_is_whatever_the_server_added():
    conditions = conditions_of(FOUND, Judgement(FOUND.presences), Wish(KEY), HOSTNAME)
    status = published_status(plain(), FOUND, HOSTNAME, conditions, NOW)
    status["loadBalancer"]["ingress"][0]["ipMode"] = "VIP"
    assert published_status(plain(status=status), FOUND, HOSTNAME, conditions, LATER) == status


def test_a_service_without_names_says_nothing_of_them():
    told = [{"type": DNS_PUBLISHED}, {"type": "other"}, {"type": ENDPOINTS_HEALTHY}]
    assert unpublished_status(plain(status={"conditions": told})) == {"conditions": [{"type": "other"}]}
    assert unpublished_status(plain(status={"conditions": told[:1]})) == {}


OUT = {"serving": False, "why": "none of its endpoints is ready"}
CONDITIONS = {
    "all is well": ([presence("a", "1.1.1.1")], False, ("True", "Published"), ("True", "AllServe")),
    "nowhere": ([], False, ("False", "NoAddresses"), ("Unknown", "Nowhere")),
    "no address": ([presence("a", serving=False, why="x")], False, ("False", "NoAddresses"), ("False", "AllOut")),
    "some are out": (
        [presence("a", "1.1.1.1"), presence("b", "2.2.2.2", **OUT)],
        False,
        ("True", "Published"),
        ("False", "SomeOut"),
    ),
    "a dead address": (
        [presence("a", "1.1.1.1", "1.1.1.2", dead=("1.1.1.2",))],
        False,
        ("True", "Published"),
        ("False", "SomeOut"),
    ),
    "all are out": ([presence("a", "1.1.1.1", **OUT)], False, ("False", "NoEndpoints"), ("False", "AllOut")),
    "failed open": ([presence("a", "1.1.1.1", why="but")], True, ("True", "Published"), ("False", "FailedOpen")),
}


@pytest.mark.parametrize(("presences", "failed_open", "published", "healthy"), CONDITIONS.values(), ids=CONDITIONS)
def test_conditions(presences, failed_open, published, healthy):
    found = service(*presences)
    told = conditions_of(found, Judgement(found.presences, failed_open), Wish(KEY), HOSTNAME)
    for kind, expected in ((DNS_PUBLISHED, published), (ENDPOINTS_HEALTHY, healthy)):
        condition = find_condition(told, kind)
        assert (condition["status"], condition["reason"]) == expected
        assert condition["message"]


def test_a_bad_annotation_is_told():
    told = conditions_of(FOUND, Judgement(FOUND.presences), Wish(KEY, problem="hanse.dev/dns-ttl: bad"), HOSTNAME)
    condition = find_condition(told, DNS_PUBLISHED)
    assert (condition["status"], condition["reason"], condition["message"]) == (
        "True",
        "BadAnnotation",
        "hanse.dev/dns-ttl: bad",
    )
