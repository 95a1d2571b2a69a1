"""In which cluster a cell is: the one that it names, or the only one of its zone and region."""

from __future__ import annotations

import pytest

from hanse.kube.manifest import Obj
from hanse.vitess.federated.homes import Site, find_homes

_SITES = (
    Site("east", "us-east-1", ("us-east-1a", "us-east-1b")),
    Site("east-2", "us-east-1", ("us-east-1c",)),
    Site("west", "us-west-2", ("us-west-2a",)),
)


@pytest.mark.parametrize(
    ("cell", "home"),
    [
        ({"cluster": "west", "zone": "us-east-1a"}, "west"),
        ({"zone": "us-east-1b"}, "east"),
        ({"zone": "us-east-1c", "region": "us-east-1"}, "east-2"),
        ({"region": "us-west-2"}, "west"),
    ],
)
def test_a_cell_is_where_it_says_or_where_its_zone_is(cell: Obj, home: str):
    homes, refusals = find_homes({"cells": [{"name": "c", **cell}]}, _SITES, {})
    assert (homes, refusals) == ({"c": home}, [])


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ({"region": "us-east-1"}, "region us-east-1 is in several clusters (east, east-2)"),
        ({"zone": "us-west-2b"}, "no registered cluster has zone us-west-2b"),
        (
            {"zone": "us-west-2a", "region": "us-east-1"},
            "no registered cluster has zone us-west-2a and region us-east-1",
        ),
    ],
)
def test_what_fits_none_or_several_is_refused(cell: Obj, words: str):
    homes, refusals = find_homes({"cells": [{"name": "c", **cell}]}, _SITES, {})
    assert homes == {}
    assert words in refusals[0].message


def test_a_matched_cell_stays_when_clusters_are_labelled_anew():
    relabelled = (Site("east", "eu", ("eu-1",)), Site("west", "us-east-1", ("us-east-1a",)))
    homes, refusals = find_homes({"cells": [{"name": "c", "zone": "us-east-1a"}]}, relabelled, {"c": "east"})
    assert (homes, refusals) == ({"c": "east"}, [])
