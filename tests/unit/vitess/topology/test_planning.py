"""What is registered and pruned, with each switch on and off (checklist 38, 73, 75 to 77, 84)."""

from dataclasses import replace

import pytest

from hanse.api.planetscale.values import TopologySwitches
from hanse.api.vitess_records.topology import CellInfo, CellsAlias, Keyspace, TabletAlias
from hanse.simulator.virtual_time import run_virtually
from hanse.vitess.topology import paths
from hanse.vitess.topology.applying import perform
from hanse.vitess.topology.picture import TopologyPicture, read_picture
from hanse.vitess.topology.planning import (
    DEFAULT_ALIAS,
    plan_alias,
    plan_cells,
    plan_keyspace,
    prune_keyspaces,
    prune_shard_cells,
    prune_shards,
    prune_srv_keyspaces,
    prune_tablets,
)
from hanse.vitess.topology.steps import CreateKeyspace, SetDurability, Told, WriteAlias, WriteCell
from hanse.vitess.topology.store import Unreachable, Version, Versioned
from tests.unit.vitess.topology.cases import SmallVitess, info, texts

ON = TopologySwitches()
OFF = TopologySwitches(**dict.fromkeys(TopologySwitches.__slots__, False))
KEPT = ("zone1-0000000001", "zone2-0000000002")


def on(vitess, scene):
    async def play():
        await vitess.register()
        return await scene(vitess)

    return run_virtually(play)


async def littered(vitess):
    """Keyspace orders with one shard is wanted; the shard 80-, keyspace old, a tablet and a cell are left over."""
    await vitess.shard("orders", "-80", [*KEPT, "zone1-0000000009"], primary=KEPT[0], serving=["zone1", "zone2"])
    await vitess.shard("orders", "80-", ["zone1-0000000003"])
    await vitess.shard("old", "-", ["zone2-0000000004"], serving=["zone2"])
    await vitess.topology.create(paths.cell_info("gone"), CellInfo("global:2379", "/vitess/shop/local/gone"))


def everything(picture, switches):
    cells, present = ["zone1", "zone2"], [TabletAlias.parse(each) for each in KEPT]
    return [
        *plan_cells(picture, {cell: info(cell) for cell in cells}, [], switches),
        *prune_keyspaces(picture, cells, ["orders"], [], switches),
        *prune_shards(picture, cells, "orders", ["-80"], switches),
        *prune_srv_keyspaces(picture, "zone2", ["orders"], switches),
        *prune_tablets(picture, cells, "orders", "-80", present, switches),
    ]


PLANNED = {
    "register_cells_aliases": f"WriteAlias: alias {DEFAULT_ALIAS} is zone1, zone2",
    "prune_cells": "DeleteCell: cell gone",
    "prune_keyspaces": "DeleteKeyspace: keyspace old",
    "prune_shards": "DeleteShard: shard orders/80-",
    "prune_srv_keyspaces": "DeleteSrvKeyspace: SrvKeyspace old of cell zone2",
    "prune_tablets": "DeleteTablet: tablet zone1-0000000009 of shard orders/-80",
}


def test_what_is_left_over_is_pruned_and_nothing_else():
    async def scene(vitess):
        await littered(vitess)
        steps = everything(await read_picture(vitess.topology), ON)
        assert texts(steps) == list(PLANNED.values())
        told = await perform(vitess.topology, steps)
        assert [each.reason for each in told] == ["TopoUpdated"] + ["TopoCleanup"] * 5
        assert everything(await read_picture(vitess.topology), ON) == []
        return vitess.paths()

    assert on(SmallVitess(), scene) == [
        "global/cells/zone1/CellInfo",
        "global/cells/zone2/CellInfo",
        f"global/cells_aliases/{DEFAULT_ALIAS}/CellsAlias",
        "global/keyspaces/orders/Keyspace",
        "global/keyspaces/orders/VSchema",
        "global/keyspaces/orders/shards/-80/Shard",
        "zone1/keyspaces/orders/SrvKeyspace",
        "zone1/keyspaces/orders/shards/-80/ShardReplication",
        "zone1/tablets/zone1-0000000001/Tablet",
        "zone2/keyspaces/orders/SrvKeyspace",
        "zone2/keyspaces/orders/shards/-80/ShardReplication",
        "zone2/tablets/zone2-0000000002/Tablet",
    ]


@pytest.mark.parametrize("switch", sorted(PLANNED))
def test_each_switch_turns_off_its_own_and_nothing_else(switch):
    async def scene(vitess):
        await littered(vitess)
        return everything(await read_picture(vitess.topology), replace(ON, **{switch: False}))

    assert texts(on(SmallVitess(), scene)) == [text for name, text in PLANNED.items() if name != switch]


def test_with_all_switches_off_nothing_is_planned():
    async def scene(vitess):
        await littered(vitess)
        return everything(await read_picture(vitess.topology), OFF)

    assert on(SmallVitess(), scene) == []


@pytest.mark.parametrize(
    ("found", "planned"),
    [
        (None, ["WriteCell: cell zone1 is at zone1:2379/vitess/shop/local/zone1"]),
        (CellInfo("old:2379", "/x"), ["WriteCell: cell zone1 is at zone1:2379/vitess/shop/local/zone1"]),
        (info("zone1"), []),
    ],
)
def test_a_cell_is_written_only_where_its_record_differs(found, planned):
    picture = TopologyPicture(cells={} if found is None else {"zone1": found})
    only_cells = replace(OFF, register_cells=True)
    assert texts(plan_cells(picture, {"zone1": info("zone1")}, [], only_cells)) == planned
    assert plan_cells(picture, {"zone1": info("zone1")}, [], OFF) == []


def test_what_a_newer_vitess_wrote_into_a_cell_info_survives():
    async def scene(vitess):
        store = await vitess.topology.store("global")
        await store.update("cells/zone1/CellInfo", b"\x0a\x03old\x9a\x06\x01x", None)
        await perform(vitess.topology, [WriteCell("zone1", info("zone1"))])
        return await vitess.topology.find(paths.cell_info("zone1"))

    assert on(SmallVitess(), scene) == replace(info("zone1"), unknown=b"\x9a\x06\x01x")


def test_the_alias_lists_exactly_the_cells_of_the_object():
    assert plan_alias(TopologyPicture(), "a", ["zone2", "zone1"]) == [WriteAlias("a", CellsAlias(("zone1", "zone2")))]
    as_it_is = TopologyPicture(aliases={"a": CellsAlias(("zone2", "zone1"))})
    assert plan_alias(as_it_is, "a", ["zone1", "zone2"]) == []
    assert plan_alias(as_it_is, "a", ["zone1"]) == [WriteAlias("a", CellsAlias(("zone1",)))]


def test_a_cell_that_is_in_another_alias_is_not_taken_from_it():
    picture = TopologyPicture(aliases={"us": CellsAlias(("zone1", "zone9"))})
    [told] = plan_alias(picture, "a", ["zone1", "zone2"])
    assert isinstance(told, Told)
    assert told.reason == "TopoCellAlias"
    assert "zone1 is in alias us already" in told.message


@pytest.mark.parametrize(
    ("found", "durability", "planned"),
    [
        (
            None,
            "semi_sync",
            [CreateKeyspace("orders", Keyspace(durability_policy="semi_sync", sidecar_db_name="_vt2"))],
        ),
        ("none", "semi_sync", [SetDurability("orders", "semi_sync")]),
        ("semi_sync", "semi_sync", []),
        ("semi_sync", "", []),
    ],
)
def test_a_durability_policy_is_set_and_an_empty_one_changes_nothing(found, durability, planned):
    record = {} if found is None else {"orders": Versioned(Keyspace(durability_policy=found), Version(1))}
    assert plan_keyspace(TopologyPicture(keyspaces=record), "orders", durability, "_vt2") == planned


def test_a_durability_policy_that_was_set_leaves_the_rest_of_the_keyspace():
    async def scene(vitess):
        await vitess.topology.create(paths.keyspace("orders"), Keyspace(sidecar_db_name="_vt2"))
        await perform(vitess.topology, [SetDurability("orders", "cross_cell")])
        return await vitess.topology.find(paths.keyspace("orders"))

    assert on(SmallVitess(), scene) == Keyspace(durability_policy="cross_cell", sidecar_db_name="_vt2")


def test_nothing_is_removed_while_a_cell_does_not_answer():
    async def scene(vitess):
        await littered(vitess)
        vitess.servers["zone2:2379"].up = False
        picture = await read_picture(vitess.topology)
        assert list(picture.silent) == ["zone2"]
        return [step for step in everything(picture, replace(ON, prune_tablets=False)) if not isinstance(step, Told)]

    assert [type(step).__name__ for step in on(SmallVitess(), scene)] == ["WriteAlias", "DeleteCell"]


def test_without_the_global_lockserver_nothing_is_known():
    async def scene(vitess):
        vitess.servers["global:2379"].up = False
        with pytest.raises(Unreachable):
            await read_picture(vitess.topology)
        return True

    async def play():
        return await scene(SmallVitess())

    assert run_virtually(play)


def test_tablets_in_the_cells_of_others_are_kept_and_so_is_what_holds_them():
    async def scene(vitess):
        await vitess.shard("theirs", "-", ["zone2-0000000002"])
        picture = await read_picture(vitess.topology)
        mine = ["zone1"]
        assert prune_tablets(picture, mine, "theirs", "-", [], ON) == []
        assert prune_shard_cells(picture, mine, "theirs", "-", [], ON) == []
        return [*prune_keyspaces(picture, mine, [], [], ON), *prune_shards(picture, mine, "theirs", [], ON)]

    steps = on(SmallVitess(), scene)
    assert [type(step) for step in steps] == [Told, Told]
    assert all("tablet zone2-0000000002 is of another VitessCluster" in step.message for step in steps)


def test_the_primary_is_never_pruned():
    async def scene(vitess):
        await vitess.shard("orders", "-", ["zone1-0000000001"], primary="zone1-0000000001")
        picture = await read_picture(vitess.topology)
        return [
            *prune_tablets(picture, ["zone1"], "orders", "-", [], ON),
            *prune_shard_cells(picture, ["zone1"], "orders", "-", [], ON),
        ]

    assert texts(on(SmallVitess(), scene)) == [
        "Told: tablet zone1-0000000001 stays in topology: it is the primary of orders/-",
        "Told: cell zone1 of shard orders/- stays in topology: its primary zone1-0000000001 is there",
    ]


def test_a_shard_that_serves_is_never_pruned_and_one_that_serves_again_is_not_deleted():
    async def scene(vitess):
        await vitess.shard("orders", "-80", [], serving=["zone1"])
        await vitess.shard("orders", "-", [])
        steps = prune_shards(await read_picture(vitess.topology), ["zone1", "zone2"], "orders", [], ON)
        assert texts(steps) == [
            "DeleteShard: shard orders/-",
            "Told: shard orders/-80 stays in topology: it still serves in zone1",
        ]
        await vitess.topology.delete(paths.srv_keyspace("zone1", "orders"))
        await vitess.shard("orders", "x", [], serving=["zone2"])
        await vitess.topology.delete(paths.srv_keyspace("zone2", "orders"))
        again = prune_shards(await read_picture(vitess.topology), ["zone1", "zone2"], "orders", ["-", "x"], ON)
        await vitess.topology.delete(paths.shard("orders", "-80"))
        await vitess.shard("orders", "-80", [], serving=["zone1"])
        return await perform(vitess.topology, again)

    [told] = on(SmallVitess(), scene)
    assert (told.reason, "was changed by another meanwhile" in told.message) == ("TopoCleanupFailed", True)


def test_a_tablet_that_registers_again_meanwhile_keeps_its_record():
    async def scene(vitess):
        await vitess.shard("orders", "-", ["zone1-0000000001"])
        steps = prune_tablets(await read_picture(vitess.topology), ["zone1"], "orders", "-", [], ON)
        place = paths.tablet(TabletAlias("zone1", 1))
        await vitess.topology.update(place, lambda record: replace(record, hostname="back"))
        told = await perform(vitess.topology, steps)
        assert [each.reason for each in told] == ["TopoCleanupFailed"]
        return await vitess.topology.find(place)

    assert on(SmallVitess(), scene).hostname == "back"


def test_an_emptied_cell_is_taken_from_its_shard():
    async def scene(vitess):
        await vitess.shard("orders", "-", ["zone1-0000000001", "zone2-0000000002"])
        picture = await read_picture(vitess.topology)
        [told] = prune_shard_cells(picture, ["zone1", "zone2"], "orders", "-", ["zone1"], ON)
        assert isinstance(told, Told)
        assert "tablets are left there: zone2-0000000002" in told.message
        await perform(vitess.topology, prune_tablets(picture, ["zone2"], "orders", "-", [], ON))
        picture = await read_picture(vitess.topology)
        steps = prune_shard_cells(picture, ["zone1", "zone2"], "orders", "-", ["zone1"], ON)
        await perform(vitess.topology, steps)
        assert await vitess.topology.find(paths.shard_replication("zone2", "orders", "-")) is None
        return texts(steps)

    assert on(SmallVitess(), scene) == ["RemoveShardCell: shard orders/- in cell zone2"]


@pytest.mark.parametrize(
    ("litter", "why"),
    [("serving", "it serves orders"), ("tablets", "1 tablets are registered there"), ("silence", "is not known")],
)
def test_a_cell_in_which_something_is_left_stays(litter, why):
    async def scene(vitess):
        tablets = ["zone2-0000000002"] if litter == "tablets" else []
        await vitess.shard("orders", "-", tablets, serving=["zone2"] if litter == "serving" else [])
        vitess.servers["zone2:2379"].up = litter != "silence"
        picture = await read_picture(vitess.topology)
        return plan_cells(picture, {"zone1": info("zone1")}, [], replace(OFF, prune_cells=True))

    [told] = on(SmallVitess(), scene)
    assert told.reason == "TopoCleanupBlocked"
    assert why in told.message


def test_a_cell_to_which_a_tablet_comes_meanwhile_keeps_its_record():
    async def scene(vitess):
        picture = await read_picture(vitess.topology)
        steps = plan_cells(picture, {"zone1": info("zone1")}, [], replace(OFF, prune_cells=True))
        assert texts(steps) == ["DeleteCell: cell zone2"]
        await vitess.shard("orders", "-", ["zone2-0000000002"])
        told = await perform(vitess.topology, steps)
        assert [each.reason for each in told] == ["TopoCleanupFailed"]
        return await vitess.topology.find(paths.cell_info("zone2"))

    assert on(SmallVitess(), scene) == info("zone2")


def test_what_still_leaves_is_not_pruned():
    async def scene(vitess):
        await littered(vitess)
        picture = await read_picture(vitess.topology)
        cells = ["zone1", "zone2"]
        return [
            *plan_cells(picture, {cell: info(cell) for cell in cells}, ["gone"], replace(OFF, prune_cells=True)),
            *prune_keyspaces(picture, cells, ["orders"], ["old"], ON),
        ]

    assert on(SmallVitess(), scene) == []
