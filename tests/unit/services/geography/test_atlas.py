"""How early each cluster comes for an asker."""

import pytest

from hanse.services.geography.atlas import Atlas, ClientSubnet, overloaded_clusters
from hanse.services.geography.distances import Distances
from hanse.services.geography.subnets import Subnets
from hanse.services.geography.vantage import NOWHERE, Vantage
from hanse.services.presence import Place

PLACES = {
    "us-1": Place("us-1", "us", ("us-a", "us-b")),
    "us-2": Place("us-2", "us", ("us-c",)),
    "eu-1": Place("eu-1", "eu", ("eu-a",)),
    "asia-1": Place("asia-1", "asia", ("asia-a",)),
    "ship": Place("ship"),
}
ATLAS = Atlas(
    PLACES,
    subnets=Subnets([("10.0.0.0/8", Vantage(region="eu")), ("10.1.0.0/16", Vantage(cluster="us-1"))]),
    distances=Distances([("us", "eu", 6000), ("us", "asia", 9000), ("eu", "asia", 8000)]),
)

# From where, and the clusters in groups, the nearest first.
ORDERS = {
    "in a cluster": (Vantage(cluster="us-1"), [["us-1"], ["us-2"], ["eu-1"], ["asia-1"], ["ship"]]),
    "in a zone": (Vantage(region="us", zone="us-c"), [["us-2"], ["us-1"], ["eu-1"], ["asia-1"], ["ship"]]),
    "in a region": (Vantage(region="us"), [["us-1", "us-2"], ["eu-1"], ["asia-1"], ["ship"]]),
    "in a cluster that left": (Vantage(cluster="gone"), [["asia-1", "eu-1", "ship", "us-1", "us-2"]]),
    "in a region nobody knows": (Vantage(region="mars"), [["asia-1", "eu-1", "ship", "us-1", "us-2"]]),
    "nowhere": (NOWHERE, [["asia-1", "eu-1", "ship", "us-1", "us-2"]]),
}

# What is declared, the client's subnet and the source of a question: where that is, and for how long a prefix.
ASKERS = {
    "declared before all": ("region/asia", ClientSubnet(4, 0x0A000000, 8), "10.1.1.1", Vantage(region="asia"), 0),
    "subnet before source": ("", ClientSubnet(4, 0x0A800000, 16), "10.1.1.1", Vantage(region="eu"), 9),
    "source at last": ("", None, "10.1.1.1", Vantage(cluster="us-1"), 0),
    "nonsense is not declared": ("moon", None, "10.2.1.1", Vantage(region="eu"), 0),
    "a subnet that is not told": ("", ClientSubnet(4, 0, 0), "10.1.1.1", Vantage(cluster="us-1"), 0),
    "unknown": ("", None, "192.0.2.1", NOWHERE, 0),
}


def groups(atlas, vantage):
    view = atlas.view(vantage)
    found: dict = {}
    for name in sorted(view.grades):
        found.setdefault(view.grades[name], []).append(name)
    return [found[grade] for grade in sorted(found)]


@pytest.mark.parametrize(("vantage", "order"), ORDERS.values(), ids=ORDERS.keys())
def test_clusters_come_by_cluster_zone_region_and_distance(vantage, order):
    assert groups(ATLAS, vantage) == order


@pytest.mark.parametrize(("declared", "subnet", "source", "vantage", "scope"), ASKERS.values(), ids=ASKERS.keys())
def test_an_asker_is_where_it_says_else_where_its_client_is_else_where_it_is(declared, subnet, source, vantage, scope):
    assert ATLAS.locate(declared, subnet, source) == (vantage, scope)


def test_overloaded_clusters_come_after_all_that_are_not_even_the_askers_own():
    atlas = Atlas(PLACES, overloaded={"us-1", "us-2"})

    assert groups(atlas, Vantage(cluster="us-1"))[-2:] == [["us-1"], ["us-2"]]
    assert atlas.view(Vantage(cluster="us-1")).own == "us-1"
    assert str(atlas.rank(Vantage(cluster="us-1"), "us-1")) == "same cluster, overloaded"


def test_a_rank_says_in_words_why_a_cluster_stands_where_it_stands():
    said = {name: str(ATLAS.rank(Vantage(region="us", zone="us-a"), name)) for name in PLACES}

    assert said == {
        "us-1": "same zone",
        "us-2": "same region",
        "eu-1": "distance 6000",
        "asia-1": "distance 9000",
        "ship": "distance unknown",
    }


def test_who_is_in_no_known_cluster_has_none_of_its_own():
    assert [ATLAS.view(Vantage(cluster=name)).own for name in ("us-1", "gone", "")] == ["us-1", "", ""]
    assert ATLAS.view(Vantage(region="us")).others == max(ATLAS.view(Vantage(region="us")).grades.values())


def test_places_that_askers_invent_are_not_remembered_without_end():
    atlas = Atlas(PLACES)
    for number in range(5000):
        atlas.view(Vantage(region=f"region-{number}"))

    assert len(atlas._views) <= 1024


def test_a_cluster_is_overloaded_from_one_mark_on_until_it_is_below_another():
    def after(load, before):
        places = {"a": Place("a", load=load), "b": Place("b")}
        return overloaded_clusters(places, before, mark=0.9, clear=0.7)

    assert after(0.89, ()) == frozenset()
    assert after(0.9, ()) == {"a"}
    assert after(0.7, {"a"}) == {"a"}
    assert after(0.69, {"a"}) == frozenset()
    assert after(None, {"a", "b"}) == frozenset()
