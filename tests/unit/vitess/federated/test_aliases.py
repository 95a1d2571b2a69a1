"""The alias is the union of all cells, written by the federation alone and only when it is another."""

from __future__ import annotations

from hanse.vitess.federated.aliases import DEFAULT_ALIAS, AliasChange, alias_changes, wanted_aliases
from tests.unit.vitess.federated.shop import CELLS, EAST_CELLS, WEST_CELLS, plan_of, shop

_ALL = tuple(sorted(CELLS))


def test_one_alias_has_the_cells_of_every_member():
    assert wanted_aliases(shop()["spec"], {}) == {DEFAULT_ALIAS: _ALL}


def test_cells_that_are_leaving_stay_in_it_until_they_are_gone():
    source = shop(keyspaces=[])
    before = plan_of(source)
    source["spec"]["cells"] = source["spec"]["cells"][:3]
    assert wanted_aliases(source["spec"], plan_of(source, before).homes) == {DEFAULT_ALIAS: _ALL}


def test_groups_have_aliases_of_their_own():
    groups = [{"name": "east", "cells": list(EAST_CELLS)}, {"name": "west", "cells": list(WEST_CELLS[:2])}]
    assert wanted_aliases(shop(federation={"aliases": groups})["spec"], {}) == {
        "east": EAST_CELLS,
        DEFAULT_ALIAS: ("uswest2c",),
        "west": WEST_CELLS[:2],
    }


def test_it_can_be_switched_off():
    source = shop(topologyReconciliation={"registerCellsAliases": False})
    assert wanted_aliases(source["spec"], {}) == {}


def test_it_is_written_once():
    assert alias_changes({DEFAULT_ALIAS: _ALL}, {}) == [AliasChange(DEFAULT_ALIAS, _ALL)]
    assert alias_changes({DEFAULT_ALIAS: _ALL}, {DEFAULT_ALIAS: tuple(reversed(_ALL))}) == []


def test_a_cell_leaves_its_alias_before_it_joins_another():
    changes = alias_changes({"a": ("x",), "b": ("y", "z")}, {"a": ("x", "y"), "b": ("z",)})
    assert changes[0] == AliasChange("a", ("x",))
    assert AliasChange("b", ("y", "z")) in changes
    swapped = alias_changes({"a": ("y",), "b": ("x",)}, {"a": ("x",), "b": ("y",)})
    assert [change.cells for change in swapped] == [(), (), ("y",), ("x",)]


def test_an_alias_of_somebody_else_is_left_alone_unless_it_has_one_of_ours():
    assert alias_changes({"a": ("x",)}, {"a": ("x",), "theirs": ("q",)}) == []
    assert alias_changes({"a": ("x",)}, {"theirs": ("q", "x")}) == [
        AliasChange("theirs", ("q",)),
        AliasChange("a", ("x",)),
    ]


def test_one_write_is_enough_where_a_cell_only_goes():
    assert alias_changes({"a": ("x",)}, {"a": ("x", "old")}) == [AliasChange("a", ("x",))]
