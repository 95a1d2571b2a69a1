"""A Vitess of the first generation over two clusters: split, rolled member by member, lost and found, removed."""

from __future__ import annotations

import pytest

from hanse.api.vitess.kinds import ETCD_CLUSTERS, VITESS_CELLS, VITESS_CLUSTERS, VITESS_KEYSPACES, VITESS_SHARDS
from hanse.kube.manifest import dig, uid_of
from hanse.kube.resources import DEPLOYMENTS, PODS, SERVICES, Resource
from tests.simulation.vitess.federated.first_world import MEMBERS, NAME, FirstWorld, federated, first_world
from tests.simulation.vitess.first_stage import JOBS, NEW_IMAGE

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(180)]

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
ALL = (VITESS_CELLS, VITESS_KEYSPACES, VITESS_SHARDS, ETCD_CLUSTERS, PODS, CLAIMS, JOBS, DEPLOYMENTS)


async def _up(world: FirstWorld) -> None:
    await world.host.create(VITESS_CLUSTERS, federated())
    await world.until(world.is_ready, 300)
    world.witness.primaries["db/0"] = world.witness.replicas("db/0")[0]


def _cells(touched: list[str]) -> list[str]:
    return [name.split("-")[2] for name in touched]


async def _uids(world: FirstWorld, member: str) -> set[str]:
    lists = [await world.clients[member].list(kind, "default") for kind in (VITESS_CLUSTERS, *ALL)]
    return {uid_of(each) for found in lists for each in found.items}


async def test_it_is_split_comes_up_and_is_silent_and_an_edit_rolls_one_member_after_the_other_over_crashes():
    async with first_world() as world:
        await _up(world)
        cells = {each: [cell["name"] for cell in dig(await world.part(each), "spec", "cells")] for each in MEMBERS}
        assert cells == {"east": ["global", "zone1"], "west": ["zone2"]}
        assert await world.names("west", VITESS_CELLS) == ["vitess-zone2"]
        source = await world.host.get(VITESS_CLUSTERS, NAME, "default")
        assert source["status"]["readyCells"] == ["global", "zone1", "zone2"]
        await world.runtime.sleep(30)
        world.forget_writes()
        await world.runtime.sleep(120)
        assert world.writes() == {}

        await world.edit(federated(NEW_IMAGE))
        await world.until(lambda: _says(world, "1 of 2 clusters have the new version; it waits for east"), 30)
        for touched in (1, 3):
            await world.until(lambda touched=touched: len(world.witness.touched) >= touched, 300)
            await world.kill_control_plane()
            await world.runtime.sleep(5)
            world.start_control_plane()
        await world.until(lambda: set(world.witness.images.values()) == {NEW_IMAGE}, 600)
        await world.until(world.is_ready, 300)
        assert _cells(world.witness.touched) == ["zone1"] * 2 + ["zone2"] * 2
        assert world.witness.wrongs == [], "no two tablets of a shard at once, and no primary unasked"


async def _says(world: FirstWorld, words: str) -> bool:
    status, message = await world.condition()
    return status == "False" and words in message


async def test_the_loss_of_a_member_deletes_nothing_and_its_return_completes_what_was_asked_meanwhile():
    async with first_world() as world:
        await _up(world)
        before = {member: await _uids(world, member) for member in MEMBERS}
        await world.fail("west")
        await world.until(lambda: _says(world, "west cannot be reached"), 60)
        await world.runtime.sleep(300)
        assert await _uids(world, "east") == before["east"]
        world.heal("west")
        await world.until(world.is_ready, 300)
        assert await _uids(world, "west") == before["west"]

        await world.fail("west")
        await world.until(lambda: world.cluster_is("west", "Offline"), 60)
        await world.edit(federated(NEW_IMAGE))
        await world.runtime.sleep(120)
        there = dig(await world.part("east"), "spec", "keyspaces")[0]["tablets"]["defaults"]["image"]
        assert there == NEW_IMAGE, "one that is lost holds up no other"
        claims = await world.names("west", CLAIMS)
        world.heal("west")
        await world.until(lambda: set(world.witness.images.values()) == {NEW_IMAGE}, 900)
        await world.until(world.is_ready, 300)
        assert await world.names("west", CLAIMS) == claims


async def test_what_cannot_be_split_changes_nothing_and_all_goes_with_the_whole():
    async with first_world() as world:
        await _up(world)
        before = {member: (await world.part(member) or {})["spec"] for member in MEMBERS}
        moved = federated()
        moved["spec"]["cells"][2]["cluster"] = "east"
        await world.edit(moved)
        await world.until(lambda: _says(world, "its data does not move to east"), 30)
        await world.runtime.sleep(60)
        assert {member: (await world.part(member) or {})["spec"] for member in MEMBERS} == before

        await world.host.delete(VITESS_CLUSTERS, NAME, "default")

        async def nothing_left() -> bool:
            left = [name for each in MEMBERS for kind in ALL for name in await world.names(each, kind)]
            parts = [await world.part(member) for member in MEMBERS]
            return not left and not any(parts) and await world.find("host", VITESS_CLUSTERS, NAME) is None

        await world.until(nothing_left, 180)
        assert {each: await world.names(each, SERVICES) for each in MEMBERS} == {
            each: ["kubernetes"] for each in MEMBERS
        }
