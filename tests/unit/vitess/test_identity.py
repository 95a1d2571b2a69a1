"""Tablets: their uids and aliases follow from where they stand."""

import pytest

from hanse.vitess.identity import TabletIdentity, duplicate_uids, parse_alias, tablet_alias


@pytest.mark.parametrize(
    ("identity", "uid"),
    [
        (TabletIdentity("cell", "keyspace", "10-20", "replica", 1), 3376898362),
        (TabletIdentity("cell", "keyspace", "10-20", "replica", 1, "unmanaged-replica-1"), 6333720),
        (TabletIdentity("zone1", "commerce", "-", "replica", 1), 2548885007),
        (TabletIdentity("zone1", "commerce", "-", "replica", 2), 2469782763),
        (TabletIdentity("zone1", "commerce", "-", "replica", 3), 790125915),
    ],
)
def test_the_uid_follows_from_the_place(identity, uid):
    assert identity.uid == uid


@pytest.mark.parametrize(
    ("place", "alias"),
    [
        (("useast1a", "-80", "replica", 1), "useast1a-2244051001"),
        (("useast1a", "-80", "replica", 2), "useast1a-1362584625"),
        (("uswest2a", "-80", "replica", 1), "uswest2a-0394942161"),
        (("uswest2b", "-80", "rdonly", 1), "uswest2b-2088132781"),
        (("useast1a", "80-", "replica", 1), "useast1a-0838873728"),
        (("useast1a", "80-", "replica", 2), "useast1a-0321174680"),
        (("uswest2a", "80-", "replica", 1), "uswest2a-4209214293"),
        (("uswest2b", "80-", "rdonly", 1), "uswest2b-1647412108"),
    ],
)
def test_the_tablets_of_the_worked_example(place, alias):
    cell, shard, kind, index = place
    assert TabletIdentity(cell, "orders", shard, kind, index).alias == alias


def test_a_small_uid_is_padded_to_ten_digits():
    small = TabletIdentity("zone1", "commerce", "-", "replica", 3)
    assert (small.uid_text, small.alias) == ("0790125915", "zone1-0790125915")


def test_an_alias_is_read_back():
    assert parse_alias(tablet_alias("zone_1.a", 6333720)) == ("zone_1.a", 6333720)
    assert parse_alias("zone1") is None


def test_tablets_that_would_have_one_uid_are_found():
    first, second, other = (TabletIdentity("zone1", "commerce", "-", "replica", index) for index in (25158, 63339, 1))
    assert duplicate_uids([first, other, first]) == {}
    assert duplicate_uids([second, other, first]) == {4137772890: (first, second)}
