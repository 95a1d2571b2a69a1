"""Whole Jobs run in one target, once, and their source shows what became of them."""

import pytest

from hanse.api.admiralty.keys import TARGET
from hanse.api.clusters import Taint
from hanse.api.plain_kinds import CRON_JOBS, JOBS
from hanse.kube.manifest import dig
from tests.simulation.pods.job_world import job, jobs_elsewhere
from tests.unit.pods.jobs.job_rules import broken_rules

pytestmark = pytest.mark.looptime


async def begun(world, name="sum"):
    found = await world.job(name=name)
    return dig(found, "metadata", "annotations", TARGET, default="") if dig(found, "status", "startTime") else ""


async def test_a_job_runs_whole_in_one_target_and_its_status_comes_back_in_valid_steps():
    async with jobs_elsewhere() as world:
        await world.clients["home"].create(JOBS, job())
        before, broken = await world.job(), []
        while not await world.condition("Complete"):
            await world.runtime.sleep(0.1)
            now = await world.job()
            broken += broken_rules(before, now["status"])
            before = now
        assert broken == []
        assert before["status"]["succeeded"] == 2
        assert len(await world.where()) == 1
        assert await world.pods("home") == []
        copy = await world.job((await world.where())[0])
        assert "managedBy" not in copy["spec"]


async def test_a_failed_job_tells_its_targets_reason():
    async with jobs_elsewhere() as world:
        await world.clients["home"].create(
            JOBS, job(seconds=1, template={"simulator.hanse.dev/exit-code": "3"}, backoffLimit=0)
        )
        await world.until(lambda: world.condition("Failed"))
        reasons = [each["reason"] for each in (await world.job())["status"]["conditions"] if each["type"] == "Failed"]
        assert reasons == ["BackoffLimitExceeded"]


async def test_a_job_without_room_for_all_its_pods_waits_and_says_so():
    async with jobs_elsewhere() as world:
        big = job(parallelism=30, completions=30)
        big["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        await world.clients["home"].create(JOBS, big)
        await world.until(lambda: world.told("no more room"))
        assert await world.where() == []
        await world.clients["home"].patch(JOBS, "sum", {"spec": {"parallelism": 15}}, "default")
        await world.until(lambda: begun(world))


async def test_a_job_that_waits_for_room_begins_once_there_is_some_although_nobody_says_so():
    async with jobs_elsewhere() as world:
        big = job(parallelism=30, completions=30)
        big["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        await world.clients["home"].create(JOBS, big)
        await world.until(lambda: world.told("no more room"))
        world.targets.make_room("eu", "40")
        await world.until(lambda: begun(world), 15)


async def test_suspension_follows_the_source_both_ways():
    async with jobs_elsewhere() as world:
        await world.clients["home"].create(JOBS, job(suspend=True, seconds=30))
        await world.until(lambda: world.condition("Suspended"))
        assert await begun(world) == ""
        await world.clients["home"].patch(JOBS, "sum", {"spec": {"suspend": False}}, "default")
        await world.until(lambda: begun(world))
        await world.clients["home"].patch(JOBS, "sum", {"spec": {"suspend": True}}, "default")
        await world.until(lambda: world.condition("Suspended"))
        assert await world.pods(await the_target(world)) == []
        await world.clients["home"].patch(JOBS, "sum", {"spec": {"suspend": False}}, "default")
        await world.until(lambda: world.condition("Complete"), 120)


async def the_target(world):
    return dig(await world.job(), "metadata", "annotations", TARGET)


async def test_a_job_that_has_begun_and_is_deleted_in_its_target_has_failed_and_runs_once():
    async with jobs_elsewhere() as world:
        await world.clients["home"].create(JOBS, job(seconds=300))
        await world.until(lambda: begun(world))
        target = await begun(world)
        await world.clients[target].delete(JOBS, "sum", "default")
        await world.until(lambda: world.condition("Failed"))
        await world.runtime.sleep(45)
        assert await world.where() == []


async def test_a_job_that_has_ended_is_not_run_again_when_its_copy_goes_even_after_a_restart():
    async with jobs_elsewhere() as world:
        await world.clients["home"].create(JOBS, job(seconds=1))
        await world.until(lambda: world.condition("Complete"))
        (target,) = await world.where()
        await world.kill_plane()
        await world.clients[target].delete(JOBS, "sum", "default")
        world.start_plane()
        await world.runtime.sleep(45)
        assert await world.where() == []
        assert await world.condition("Complete")


async def test_a_lost_target_keeps_its_job_and_nobody_else_begins_it_nor_is_anything_written():
    async with jobs_elsewhere() as world:
        await world.clients["home"].create(JOBS, job(seconds=70))
        await world.until(lambda: begun(world))
        (target,) = await world.where()
        world.targets.change(target, ready=False, offline=True)
        await world.runtime.sleep(5)
        before = [await world.job(name) for name in ("home", target)]
        await world.runtime.sleep(40)
        assert [await world.job(name) for name in ("home", target)] == before
        assert await world.where() == [target]
        assert not await world.condition("Failed")
        world.targets.change(target, ready=True, offline=False)
        await world.until(lambda: world.condition("Complete"))


async def test_a_job_whose_target_is_removed_has_failed():
    async with jobs_elsewhere() as world:
        await world.clients["home"].create(JOBS, job(seconds=300))
        await world.until(lambda: begun(world))
        (target,) = await world.where()
        world.targets.remove(target)
        await world.until(lambda: world.condition("Failed"))
        assert await world.where() == [target]


async def test_a_job_that_has_not_begun_leaves_its_target_before_another_has_it():
    async with jobs_elsewhere() as world:
        await world.clients["home"].create(JOBS, job(suspend=True))
        await world.until(lambda: world.condition("Suspended"))
        (target,) = await world.where()
        world.targets.change(target, taints=(Taint("drained", effect="NoExecute"),))
        seen = []

        async def moved():
            seen.append(await world.where())
            return seen[-1] and seen[-1] != [target]

        await world.until(moved)
        assert all(len(places) <= 1 for places in seen)


async def test_a_deleted_job_takes_its_copy_and_its_pods_along():
    async with jobs_elsewhere() as world:
        await world.clients["home"].create(JOBS, job(seconds=300))
        await world.until(lambda: begun(world))
        target = await begun(world)
        await world.clients["home"].delete(JOBS, "sum", "default")

        async def gone():
            return await world.job() is None

        await world.until(gone)
        assert await world.where() == []
        assert await world.pods(target) == []


async def test_a_job_whose_time_is_over_goes_everywhere_and_another_may_have_its_name():
    async with jobs_elsewhere() as world:
        await world.clients["home"].create(JOBS, job(seconds=1, ttlSecondsAfterFinished=10))
        await world.until(lambda: world.condition("Complete"))
        await world.runtime.sleep(8)
        assert len(await world.where()) == 1

        async def gone():
            return await world.job() is None and await world.where() == []

        await world.until(gone)
        await world.clients["home"].create(JOBS, job(seconds=1))
        await world.until(lambda: world.condition("Complete"))


async def test_jobs_of_a_cron_job_run_elsewhere():
    async with jobs_elsewhere() as world:
        template = {"spec": job(seconds=1)["spec"]}
        await world.clients["home"].create(
            CRON_JOBS,
            {
                "apiVersion": "batch/v1",
                "kind": "CronJob",
                "metadata": {"name": "tick", "namespace": "default"},
                "spec": {"schedule": "* * * * *", "jobTemplate": template},
            },
        )

        async def ran():
            jobs = (await world.clients["home"].list(JOBS, namespace="default")).items
            done = [each for each in jobs if await world.condition("Complete", each["metadata"]["name"])]
            return bool(done)

        await world.until(ran, 120)
        assert await world.pods("home") == []
        cron = await world.clients["home"].get(CRON_JOBS, "tick", "default")
        assert dig(cron, "status", "lastSuccessfulTime")


async def test_a_job_of_the_targets_own_is_left_alone_and_told():
    async with jobs_elsewhere() as world:
        own = job(suspend=True)
        del own["spec"]["managedBy"]
        before = [await world.clients[target].create(JOBS, own) for target in ("eu", "us")]
        await world.clients["home"].create(JOBS, job(seconds=1))
        await world.until(lambda: world.told("an object of this name is there already and is not Hanse's"))
        after = [await world.job(target) for target in ("eu", "us")]
        assert [each["spec"] for each in after] == [each["spec"] for each in before]
        assert [each["metadata"]["labels"] for each in after] == [each["metadata"]["labels"] for each in before]
