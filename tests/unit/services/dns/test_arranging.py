"""Within a rank chance decides, in the proportion of weights."""

from collections import Counter

import pytest

from hanse.kube.runtime import SeededRuntime
from hanse.services.dns.arranging import arranged
from hanse.services.dns.names import to_wire
from hanse.services.dns.types import Type
from hanse.services.geography.atlas import Atlas
from hanse.services.geography.vantage import NOWHERE, Vantage
from hanse.services.presence import Place
from hanse.services.records import Datum
from tests.unit.services.dns.asking import records, zone_of

ATLAS = Atlas({"a": Place("a", "here", ("z",)), "b": Place("b", "here"), "c": Place("c", "there")})


def kept(*data, kind="A"):
    return zone_of(records("web", kind, *data)).find(to_wire("web.example.com"))[Type[kind]]


def order(vantage, *data, kind="A"):
    told = arranged(ATLAS.view(vantage), SeededRuntime(0).uniform, kept(*data, kind=kind))
    return [tail[10:] for tail in told]


def last_bytes(*arguments, **options):
    return [value[-1] for value in order(*arguments, **options)]


@pytest.mark.parametrize(("weights", "share"), [((1, 1), 0.5), ((3, 1), 0.75), ((9, 1), 0.9), ((1, 0), 1.0)])
def test_the_first_of_equals_is_each_as_often_as_its_weight_says(weights, share):
    equals = kept(*(Datum(f"10.0.0.{index}", "c", weight) for index, weight in enumerate(weights)))
    uniform, view = SeededRuntime(1).uniform, ATLAS.view(NOWHERE)
    first = Counter(arranged(view, uniform, equals)[0][-1] for _ in range(2000))

    assert first[0] / 2000 == pytest.approx(share, abs=0.04)


def test_nearer_ones_come_first_whatever_their_weight():
    data = [Datum("10.0.0.1", "c", 1000), Datum("10.0.0.2", "b"), Datum("10.0.0.3", "a")]

    assert last_bytes(Vantage(cluster="a"), *data) == [3, 2, 1]


def test_several_addresses_of_a_cluster_lead_to_one_inside_of_it():
    data = [
        Datum("10.0.0.1", "a", inside="10.9.9.9"),
        Datum("10.0.0.2", "a", inside="10.9.9.9"),
        Datum("10.0.0.3", "b"),
    ]

    assert last_bytes(Vantage(cluster="a"), *data) == [9, 3]
    assert sorted(last_bytes(Vantage(cluster="b"), *data)) == [1, 2, 3]


def test_a_cluster_without_an_address_inside_keeps_the_one_for_everybody():
    assert last_bytes(Vantage(cluster="a"), Datum("10.0.0.1", "a")) == [1]


def test_each_rank_is_a_priority_of_its_own_where_clients_go_by_priorities():
    data = [Datum(f"0 5 80 {cluster}.example.com.", cluster) for cluster in "abc"]
    told = order(Vantage(cluster="a"), *data, kind="SRV")

    assert [(int.from_bytes(each[:2]), int.from_bytes(each[2:4]), each[7:8]) for each in told] == [
        (0, 5, b"a"),
        (1, 5, b"b"),
        (2, 5, b"c"),
    ]
    assert {int.from_bytes(each[:2]) for each in order(NOWHERE, *data, kind="SRV")} == {0}
