"""Backups in object stores as VitessBackups: listed through a vtctld, and nothing removed on ignorance."""

import pytest

from hanse.api.planetscale.kinds import VITESS_BACKUP_STORAGES, VITESS_BACKUPS
from hanse.kube.conditions import find_condition
from hanse.kube.resources import PODS
from tests.simulation.vitess.operator_stage import operator_stage
from tests.simulation.vitess.test_operator_at_work import asked

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(120)]

FIRST, SECOND = "2026-11-18.014500.zone1-2548885007", "2026-11-18.024500.zone1-2548885007"
LOCATIONS = [{"s3": {"region": "r", "bucket": "one"}}, {"name": "far", "gcs": {"bucket": "two"}}]


async def stored(stage):
    return sorted(each["status"]["storageName"] for each in await stage.all(VITESS_BACKUPS) if "status" in each)


async def ready(stage):
    storages = await stage.all(VITESS_BACKUP_STORAGES)
    found = [find_condition(each.get("status", {}).get("conditions"), "Ready") for each in storages]
    return sorted({each["reason"] if each else "" for each in found})


async def test_each_location_is_listed_once_a_minute_by_a_vtctld_of_its_own():
    async with operator_stage(tablets=True) as stage:
        stage.world.stored = [FIRST]
        await stage.create(asked(backup={"locations": LOCATIONS}))
        await stage.until(lambda: _are(stage, [FIRST, FIRST]), 300)
        pods = await stage.names(PODS, "planetscale.com/component=vbs-subcontroller")
        assert [name.endswith("-vitessbackupstorage-subcontroller") for name in pods] == [True, True]
        assert {each["status"].get("complete") for each in await stage.all(VITESS_BACKUPS)} == {None}

        stage.world.stored = [FIRST, SECOND, "lost+found"]
        await stage.until(lambda: _are(stage, [FIRST, FIRST, SECOND, SECOND]), 65)
        assert (
            await stage.events("InvalidBackup")
            == ["commerce/-/lost+found: not what Vitess calls a backup, and not listed"] * 2
        )
        before = stage.world.listed
        await stage.settle(120)
        assert stage.world.listed - before <= 2 * 2, "many look, and one list a minute is enough"
        assert len(await stage.events("InvalidBackup")) == 2, "the same again is told once"


async def test_a_location_that_does_not_answer_loses_no_backup_and_one_that_answers_does():
    async with operator_stage(tablets=True) as stage:
        stage.world.stored = [FIRST, SECOND]
        await stage.create(asked(backup={"locations": LOCATIONS[:1]}))
        await stage.until(lambda: _are(stage, [FIRST, SECOND]), 300)
        stage.world.stored = None
        await stage.settle(120)
        assert await stored(stage) == [FIRST, SECOND]
        assert await ready(stage) == ["NotListed"]
        await stage.kill()
        stage.operate()
        await stage.settle(30)
        assert await stored(stage) == [FIRST, SECOND], "nor does an operator that starts then"
        stage.world.stored = [SECOND]
        await stage.until(lambda: _are(stage, [SECOND]), 120)
        assert await ready(stage) == ["Listed"]


async def _are(stage, names):
    return await stored(stage) == names
