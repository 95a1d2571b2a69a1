"""A Vitess over three clusters: split, begun once, drained across them, lost and found."""

from __future__ import annotations

import pytest

from hanse.api.planetscale.kinds import VITESS_CLUSTERS, VITESS_KEYSPACES
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import PODS
from hanse.vitess.federated.member_parts import tablet_pods
from hanse.vitess.federated.reading import shards_of
from hanse.vitess.federated.requests import EVACUATE_ANNOTATION, REPARENT_ANNOTATION, WRITTEN_OFF_ANNOTATION
from hanse.vitess.federated.token_store import TokenStore
from tests.simulation.vitess.federated.net import HOST
from tests.simulation.vitess.federated.operator import NAME, NAMESPACE
from tests.simulation.vitess.federated.world import LEFT, RIGHT, VitessWorld, keyspace, shop, vitess_world

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(180)]

MEMBERS = ("east", "west", "south")


async def _up(world: VitessWorld, source: Obj | None = None) -> None:
    await world.host.create(VITESS_CLUSTERS, source or shop())
    await world.until(world.is_ready, 300)


def _two() -> Obj:
    source = shop()
    audit = [
        {"cell": "useast1a", "type": "replica", "replicas": 1, "mysqld": {}},
        {"cell": "uswest2a", "type": "replica", "replicas": 1, "mysqld": {}},
    ]
    source["spec"]["keyspaces"].append(keyspace("audit", audit))
    return source


async def _begins(world: VitessWorld) -> dict[str, list[str]]:
    """Return the members that would begin each shard, by what they have."""
    found: dict[str, list[str]] = {}
    for member in MEMBERS:
        for each in dig(await world.part(member), "spec", "keyspaces", default=()):
            for shard in shards_of(each):
                found.setdefault(str(shard.id), []).extend([member] if shard.initialize else [])
    return found


async def test_it_comes_up_and_each_shard_has_one_primary():
    async with vitess_world() as world:
        await _up(world)
        for member in MEMBERS:
            cells = [cell for cell, home in world.net.homes.items() if home == member]
            assert [cell["name"] for cell in dig(await world.part(member), "spec", "cells")] == cells
        assert set(world.leaders()) == {str(LEFT), str(RIGHT)}
        assert all(alias.startswith("useast1a") for alias in world.leaders().values())
        assert await _begins(world) == {str(LEFT): ["east"], str(RIGHT): ["east"]}
        picture = await world.picture()
        assert picture is not None
        assert picture.aliases["planetscale_operator_default"].cells == ("useast1a", "ussouth3a", "uswest2a")
        assert world.net.acknowledged > 0
        assert world.wrong == []


async def test_steady_is_silent():
    async with vitess_world() as world:
        await _up(world)
        await world.runtime.sleep(60)
        world.forget_writes()
        writes = {address: server.writes for address, server in world.net.servers.items()}
        await world.runtime.sleep(300)
        assert world.writes() == {}
        assert {address: server.writes for address, server in world.net.servers.items()} == writes


async def test_a_control_plane_that_starts_anew_changes_nothing_and_nobody_notices_that_it_was_away():
    async with vitess_world() as world:
        await _up(world)
        parts = {member: (await world.part(member) or {})["spec"] for member in MEMBERS}
        leaders, acknowledged = world.leaders(), world.net.acknowledged
        await world.kill_control_plane()
        for operator in world.operators.values():
            operator.period = 60.0
        await world.runtime.sleep(3600)
        assert world.net.acknowledged - acknowledged >= 2 * 3500, "members keep serving"
        world.start_control_plane()
        await world.runtime.sleep(120)
        assert {member: (await world.part(member) or {})["spec"] for member in MEMBERS} == parts
        assert world.leaders() == leaders
        assert world.wrong == []


async def test_while_the_control_plane_is_away_members_repair_by_themselves():
    async with vitess_world() as world:
        await _up(world)
        await world.kill_control_plane()
        await world.lose("east")
        await world.until(lambda: len(world.leaders()) == 2, 120)
        assert not any(alias.startswith("useast1a") for alias in world.leaders().values())
        assert world.wrong == []


async def test_somebody_who_edits_a_member_sees_it_put_back():
    async with vitess_world() as world:
        await _up(world)
        before = (await world.part("west") or {})["spec"]
        switches = {"spec": {"topologyReconciliation": {"pruneKeyspaces": True}}}
        await world.clients["west"].patch(VITESS_CLUSTERS, NAME, switches, NAMESPACE)

        async def back() -> bool:
            return bool((await world.part("west") or {})["spec"] == before)

        await world.until(back, 30)


async def test_the_member_that_shall_begin_is_replaced_once_if_it_is_lost_before_it_did():
    async with vitess_world() as world:
        await world.kill_operator("east")
        await world.host.create(VITESS_CLUSTERS, shop())
        await world.runtime.sleep(60)
        assert world.leaders() == {}
        await world.lose("east")
        await world.until(lambda: len(world.leaders()) == 2, 120)
        began = {alias.partition("-")[0] for alias in world.leaders().values()}
        assert began == {"uswest2a"}
        world.bring_back("east")
        world.start_operator("east")
        await world.until(world.is_ready, 300)
        assert await _begins(world) == {str(LEFT): ["west"], str(RIGHT): ["west"]}
        assert world.wrong == []


async def test_a_member_that_is_lost_later_begins_nothing_anew_when_others_took_over():
    async with vitess_world() as world:
        await _up(world)
        await world.lose("east")

        async def degraded() -> bool:
            return bool((await world.condition("Degraded"))[0] == "True")

        await world.until(degraded, 60)
        await world.until(lambda: len(world.leaders()) == 2, 120)
        await world.runtime.sleep(60)
        shards = dig(await world.source(), "status", "federation", "shards")
        assert {each["initializer"] for each in shards.values()} == {"east"}
        assert {each["member"] for each in shards.values()} <= {"west", "south"}
        world.bring_back("east")
        await world.until(world.is_ready, 300)
        assert world.wrong == []


async def test_a_primary_without_a_sibling_in_its_cluster_hands_over_to_another_cluster_and_its_drain_finishes():
    async with vitess_world() as world:
        await _up(world, shop(east=1))
        await world.runtime.sleep(60)
        primary = world.leaders()[str(LEFT)]
        await world.drain(primary)
        await world.until(lambda: primary in world.finished.get(LEFT, set()), 180)
        assert not world.leaders()[str(LEFT)].startswith("useast1a")
        await world.sweep()
        await world.until(world.is_ready, 300)
        assert world.wrong == []


async def test_drains_of_one_shard_in_two_clusters_come_one_after_the_other():
    async with vitess_world() as world:
        await _up(world)
        await world.runtime.sleep(60)
        replicas = [each.alias for each in world.net.of(LEFT) if not each.leads and each.member != "east"]
        assert len(replicas) == 2
        for alias in replicas:
            await world.drain(alias)
        await world.until(lambda: world.finished.get(LEFT), 120)
        await world.runtime.sleep(120)
        first = set(world.finished[LEFT])
        assert len(first) == 1
        await world.sweep()
        await world.until(lambda: world.finished[LEFT] and not world.finished[LEFT] & first, 300)
        await world.sweep()

        async def free() -> bool:
            return await TokenStore(world.topology).read(LEFT) is None

        await world.until(free, 120)
        assert world.wrong == []


async def test_a_keyspace_that_is_removed_is_emptied_let_go_and_pruned_in_this_order():
    async with vitess_world() as world:
        await _up(world, _two())
        await world.edit({"keyspaces": shop()["spec"]["keyspaces"]})

        async def emptied() -> bool:
            found = [each for each in dig(await world.part("west"), "spec", "keyspaces") if each["name"] == "audit"]
            return bool(found) and not any(shard.pools for shard in shards_of(found[0]))

        await world.until(emptied, 30)

        async def gone() -> bool:
            named = [each["name"] for each in dig(await world.part("west"), "spec", "keyspaces")]
            return named == ["orders"] and "audit" not in (await _keyspaces(world))

        await world.until(gone, 300)
        assert [each["spec"]["name"] for each in (await world.clients["west"].list(VITESS_KEYSPACES)).items] == [
            "orders"
        ]
        assert world.wrong == []


async def _keyspaces(world: VitessWorld) -> frozenset[str]:
    picture = await world.picture()
    assert picture is not None
    return picture.keyspace_names()


async def test_nothing_is_pruned_while_a_member_cannot_be_asked_and_all_of_it_once_it_can():
    async with vitess_world() as world:
        await _up(world, _two())
        await world.lose("west")
        await world.edit({"keyspaces": shop()["spec"]["keyspaces"]})
        await world.runtime.sleep(200)
        assert "audit" in await _keyspaces(world)
        world.bring_back("west")

        async def pruned() -> bool:
            return "audit" not in await _keyspaces(world)

        await world.until(pruned, 400)
        await world.until(world.is_ready, 300)
        assert world.wrong == []


async def test_a_person_may_write_a_lost_member_off():
    async with vitess_world() as world:
        await _up(world, _two())
        await world.lose("west")
        await world.edit({"keyspaces": shop()["spec"]["keyspaces"]})
        mark = {"metadata": {"annotations": {WRITTEN_OFF_ANNOTATION: "west"}}}
        await world.host.patch(VITESS_CLUSTERS, NAME, mark, NAMESPACE)
        await world.runtime.sleep(60)
        source = await world.source()
        assert "west" not in (dig(source, "status", "federation", "plan", "leaving") or {})


async def test_a_member_that_comes_back_with_an_old_part_gets_the_new_one_and_loses_no_data():
    async with vitess_world() as world:
        await _up(world)
        await world.lose("south")
        await world.edit({"images": {"vttablet": "vitess/lite:v22"}})
        await world.runtime.sleep(60)
        positions = {each.alias: each.position for each in world.net.databases.values()}
        world.bring_back("south")

        async def updated() -> bool:
            return bool(dig(await world.part("south"), "spec", "images", "vttablet") == "vitess/lite:v22")

        await world.until(updated, 120)
        await world.until(world.is_ready, 300)
        assert all(world.net.databases[alias].position >= position for alias, position in positions.items())
        assert world.wrong == []


async def test_a_refused_specification_changes_nothing_and_says_why():
    async with vitess_world() as world:
        await _up(world)
        before = {member: (await world.part(member) or {})["spec"] for member in MEMBERS}
        cells = shop()["spec"]["cells"]
        cells[0]["cluster"] = "west"
        await world.edit({"cells": cells})

        async def refused() -> bool:
            return bool((await world.condition("Accepted"))[0] == "False")

        await world.until(refused, 30)
        assert "its data does not move to west" in (await world.condition("Accepted"))[1]
        await world.runtime.sleep(60)
        assert {member: (await world.part(member) or {})["spec"] for member in MEMBERS} == before
        await world.edit({"cells": shop()["spec"]["cells"]})
        await world.until(world.is_ready, 120)


async def test_an_upgrade_member_by_member_reaches_one_after_the_other():
    async with vitess_world() as world:
        await _up(world, shop(federation={"upgrade": {"type": "MemberByMember", "order": ["south", "west", "east"]}}))
        seen: list[tuple[str, ...]] = []
        await world.edit({"images": {"vttablet": "vitess/lite:v22"}})

        async def all_have_it() -> bool:
            images = {each: dig(await world.part(each), "spec", "images", "vttablet") for each in MEMBERS}
            have = [member for member, image in images.items() if image == "vitess/lite:v22"]
            if not seen or seen[-1] != tuple(have):
                seen.append(tuple(have))
            return len(have) == len(MEMBERS)

        await world.until(all_have_it, 300)
        assert [step for step in seen if step] == [("south",), ("west", "south"), ("east", "west", "south")]


async def test_without_a_quorum_of_lockservers_nothing_is_changed_and_queries_are_served_still():
    async with vitess_world() as world:
        await _up(world)
        world.net.etcd_down |= {"west"}
        world.net.refresh()
        assert world.net.has_quorum(HOST)
        world.net.etcd_down |= {"south"}
        world.net.refresh()
        before = world.net.acknowledged
        await world.runtime.sleep(120)
        assert world.net.acknowledged - before >= 200
        assert (await world.condition("Degraded"))[0] == "True"
        world.mend()
        await world.until(world.is_ready, 120)
        assert world.wrong == []


async def test_the_parts_go_with_the_whole():
    async with vitess_world() as world:
        await _up(world)
        await world.host.delete(VITESS_CLUSTERS, NAME, NAMESPACE)

        async def gone() -> bool:
            found = [await world.part(member) for member in MEMBERS]
            left = await world.find("host", VITESS_CLUSTERS, NAME, NAMESPACE)
            return not any(found) and left is None

        await world.until(gone, 60)


async def _ask(world: VitessWorld, annotation: str, text: str | None) -> None:
    await world.host.patch(VITESS_CLUSTERS, NAME, {"metadata": {"annotations": {annotation: text}}}, NAMESPACE)


async def test_a_member_that_is_evacuated_loses_its_primaries_first_and_gets_its_tablets_back_afterwards():
    async with vitess_world() as world:
        await _up(world)
        await world.runtime.sleep(60)
        await _ask(world, EVACUATE_ANNOTATION, "east")
        away = lambda: [alias for alias in world.leaders().values() if not alias.startswith("useast1a")]  # noqa: E731
        await world.until(lambda: len(away()) == 2, 120)

        async def marked() -> list[bool]:
            pods = (await world.clients["east"].list(PODS, NAMESPACE)).items
            return [pod.started for pod in tablet_pods(pods)]

        async def all_marked() -> bool:
            return all(await marked())

        await world.until(all_marked, 120)
        await _ask(world, EVACUATE_ANNOTATION, None)

        async def none_marked() -> bool:
            return not any(await marked())

        await world.until(none_marked, 120)
        assert world.wrong == []


async def test_a_primary_is_where_somebody_wants_it_and_the_wish_is_taken_away():
    async with vitess_world() as world:
        await _up(world)
        await world.runtime.sleep(60)
        heir = next(each.alias for each in world.net.of(RIGHT) if each.member == "south")
        await _ask(world, REPARENT_ANNOTATION, f"{RIGHT}={heir}")
        await world.until(lambda: world.leaders().get(str(RIGHT)) == heir, 60)

        async def served() -> bool:
            return REPARENT_ANNOTATION not in ((await world.source())["metadata"].get("annotations") or {})

        await world.until(served, 60)
        assert world.wrong == []
