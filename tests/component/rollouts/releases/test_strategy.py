"""Strategies carried out by the controller: what is written to whom, in which order, and what it waits for."""

import pytest

from hanse.api.shipper.kinds import APPLICATIONS, CAPACITY_TARGETS, ROLLOUT_BLOCKS
from hanse.kube.manifest import annotations_of, dig
from hanse.kube.resources import EVENTS
from hanse.rollouts.execution import Answer, Outcome
from tests.component.rollouts.releases.stage import FULL_ON, HALF, STAGING, stage, step

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]
TWO = {"clusterRequirements": {"regions": [{"name": "local", "replicas": 2}]}}


def specs(writes):
    """Return the targets that were written to, in order."""
    return [path for _, path in writes if path.split("/")[0] in ("capacitytargets", "traffictargets")]


async def achieved(here, name):
    return dig(await here.get("rel", name), "status", "achievedStep")


async def state(here, name):
    found = dig(await here.get("rel", name), "status", "strategy", "state", default={})
    return {key for key, value in found.items() if value == "True"}


async def test_5_to_7_staging_and_full_on_of_the_first_release():
    async with stage("kind-app") as here:
        name = await here.release()
        await here.quiet()
        untouched = await here.percents(name), await here.weights(name), await state(here, name)
        await here.shows(name, "it")
        await here.quiet()
        staged = await here.percents(name), await here.weights(name), await state(here, name)
        await here.shows(name, "ct", stale=True)
        await here.quiet()
        stale = await achieved(here, name)
        await here.shows(name, "ct", "tt")
        await here.quiet()
        at_step = await achieved(here, name), await state(here, name), await here.condition(name, "Complete")
        await here.go_to(name, 1)
        await here.quiet()
        asked = await here.percents(name), await here.weights(name)
        await here.shows(name, "ct")
        await here.quiet()
        led = await here.weights(name), await here.condition(name, "Complete")
        await here.shows(name, "tt")
        await here.quiet()
        events = [each["message"] for each in (await here.host.list(EVENTS, "default")).items]

        assert untouched == ({"kind-app": 0}, {"kind-app": 0}, {"waitingForInstallation"})
        assert staged == ({"kind-app": 1}, {"kind-app": 0}, {"waitingForCapacity"})
        assert stale is None
        assert at_step == ({"step": 0, "name": "staging"}, {"waitingForCommand"}, None)
        assert asked == ({"kind-app": 100}, {"kind-app": 0})
        assert led == ({"kind-app": 100}, None)
        assert await achieved(here, name) == {"step": 1, "name": "full on"}
        assert (await here.condition(name, "Complete"), await state(here, name)) == (("True", "", ""), set())
        assert {"step [0] finished", "step [1] finished"} <= set(events)
        assert "[] -> [Complete True]" in events
        assert dig(await here.get("it", name), "spec", "canOverride") is False
        types = [each["type"] for each in dig(await here.get("rel", name), "status", "conditions")]
        assert types == sorted(types) == ["Blocked", "Complete", "Scheduled", "StrategyExecuted"]


async def test_10_24_and_25_forward_the_incumbent_gives_last_and_backward_it_gets_first():
    async with stage("kind-app", start=False) as here:
        old = await here.stands(0, 1, 100, complete=True)
        here.start()
        new = await here.release(1)
        await here.quiet()
        for kinds in ("it", "ct", "tt"):
            await here.shows(new, kinds)
            await here.quiet()
        at_staging = (
            await here.percents(old),
            await here.weights(old),
            await here.percents(new),
            await achieved(here, new),
        )
        here.wire.writes.clear()
        await here.go_to(new, 1)
        for name, kind in ((new, "ct"), (new, "tt"), (old, "tt"), (old, "ct")):
            await here.quiet()
            await here.shows(name, kind)
        await here.quiet()
        forward, done = specs(here.wire.writes), await achieved(here, new)
        assert dig(await here.get("rel", old), "status", "progress") is None
        here.wire.writes.clear()
        await here.go_to(new, 0)
        for name, kind in ((old, "ct"), (old, "tt"), (new, "tt"), (new, "ct")):
            await here.quiet()
            assert (await achieved(here, new))["step"] == 1
            await here.shows(name, kind)
        await here.quiet()

        full = {"kind-app": 100}
        assert at_staging == (full, full, {"kind-app": 1}, {"step": 0, "name": "staging"})
        assert forward == [
            f"{kind}targets/{name}"
            for kind, name in zip(("capacity", "traffic", "traffic", "capacity"), (new, new, old, old), strict=True)
        ]
        assert done == {"step": 1, "name": "full on"}
        assert specs(here.wire.writes) == [
            f"{kind}targets/{name}"
            for kind, name in zip(("capacity", "traffic", "traffic", "capacity"), (old, old, new, new), strict=True)
        ]
        assert await achieved(here, new) == {"step": 0, "name": "staging"}
        assert await here.condition(new, "Complete") == ("True", "", "")
        here.wire.writes.clear()
        await here.kill()
        here.start()
        await here.quiet(30)
        assert here.wire.writes == []


async def test_29_a_cluster_that_is_not_ready_holds_up_the_step_and_is_named():
    async with stage("a", "b") as here:
        name = await here.release(**TWO)
        await here.quiet()
        await here.shows(name, "it")
        await here.quiet()
        await here.shows(name, "ct", sick=("b",))
        await here.cluster_is("b", ready=False)
        await here.quiet()
        waits_for = dig(await here.get("rel", name), "status", "progress", "waitsFor")
        held_up = await achieved(here, name)
        await here.shows(name, "ct", "tt")
        await here.quiet()

        assert (held_up, waits_for) == (None, "waiting for the capacity of release app-0 in b")
        assert await achieved(here, name) == {"step": 0, "name": "staging"}
        assert "waitsFor" in dig(await here.get("rel", name), "status", "progress")


async def test_30_31_and_33_steps_that_make_no_sense_are_said_and_nothing_is_given():
    async with stage("kind-app", start=False) as here:
        old = await here.stands(0, 1, 100, complete=True)
        here.start()
        new = await here.release(1, 2)
        await here.quiet()
        beyond = await here.condition(new, "StrategyExecuted"), await here.condition(old, "StrategyExecuted")
        await here.go_to(new, 0)
        await here.go_to(old, 0)
        await here.quiet()
        odd = await here.condition(old, "StrategyExecuted")
        empty = await here.release(2, strategy={"steps": []})
        await here.quiet()

        assert [each[:2] for each in beyond] == [("False", "StrategyExecutionFailed")] * 2
        assert beyond[0][2] == 'no step 2 in strategy for Release "default/app-1"'
        assert odd[2] == "Release default/app-0 target step is inconsistent: unexpected value 0 (expected: 1)"
        assert (await here.condition(empty, "StrategyExecuted"))[
            2
        ] == 'no step 0 in strategy for Release "default/app-2"'
        assert await here.percents(old) == {"kind-app": 100}
        assert await here.percents(new) == {"kind-app": 0}


async def test_a_decision_on_what_somebody_has_changed_meanwhile_is_made_anew():
    async with stage("kind-app") as here:
        name = await here.release()
        await here.quiet()
        tried = []

        async def interfere(request):
            if "capacitytargets" in request.path:
                tried.append(request.path)
                if len(tried) == 1:
                    await here.host.patch(CAPACITY_TARGETS, name, {"metadata": {"labels": {"x": "y"}}}, "default")

        here.wire.before_write = interfere
        await here.shows(name, "it")
        await here.quiet()

        assert len(tried) == 2
        assert await here.percents(name) == {"kind-app": 1}


async def test_75_a_block_stops_everything_until_it_is_gone():
    async with stage("kind-app") as here:
        name = await here.release()
        await here.quiet()
        await here.block()
        await here.quiet()
        await here.shows(name, "it")
        await here.quiet()
        blocked, untouched = await here.condition(name, "Blocked"), await here.percents(name)
        await here.host.delete(ROLLOUT_BLOCKS, "freeze", "default")
        await here.quiet()

        assert blocked == ("True", "RolloutsBlocked", 'rollout block(s) with name(s) "default/freeze" exist')
        assert (untouched, await here.percents(name)) == ({"kind-app": 0}, {"kind-app": 1})
        assert await here.condition(name, "Blocked") == ("False", "", "")


async def test_a_step_with_a_pause_goes_on_by_itself_unless_a_person_has_paused_the_release():
    async with stage("kind-app") as here:
        name = await here.release(strategy={"steps": [{**STAGING, "pause": {"duration": "60s"}}, FULL_ON]})
        await here.quiet()
        for kind in ("it", "ct", "tt"):
            await here.shows(name, kind)
            await here.quiet()
        await here.annotate(name, **{"hanse.dev__rollout_paused": "true"})
        await here.quiet(120)
        frozen = dig(await here.get("rel", name), "spec", "targetStep")
        held, writes = await here.condition(name, "Held"), len(here.wire.writes)
        await here.quiet(120)
        silent = len(here.wire.writes) == writes
        await here.annotate(name, **{"hanse.dev__rollout_paused": None})
        await here.quiet(62)

        assert (frozen, silent) == (0, True)
        assert held is not None
        assert held[:2] == ("True", "Paused")
        assert await here.condition(name, "Held") is None
        assert dig(await here.get("rel", name), "spec", "targetStep") == 1
        assert await here.percents(name) == {"kind-app": 100}


CHECKED = {**STAGING, "checks": [{"name": "errors", "http": {"url": "https://shop/healthz"}}]}


@pytest.mark.parametrize("remedy", ["Pause", "Abort", "Rollback"])
async def test_a_check_that_fails_brings_about_what_the_strategy_says(remedy):
    async with stage("kind-app", start=False) as here:
        old = await here.stands(0, 1, 100, complete=True)
        here.start()
        asked = {"strategy": {"steps": [CHECKED, FULL_ON], "onFailure": remedy}}
        await here.host.patch(APPLICATIONS, "app", {"spec": {"template": asked}}, "default")
        new = await here.release(1, **asked)
        here.oracle.answers["errors"] = [Answer(Outcome.FAILURE, here.runtime.now() + 60, "500")]
        await here.quiet()
        for kind in ("it", "ct", "tt"):
            await here.shows(new, kind)
            await here.quiet(30)
        await here.quiet(60)

        release, application = await here.get("rel", new), await here.host.get(APPLICATIONS, "app", "default")
        template = application["spec"]["template"]
        paused = release is not None and annotations_of(release).get("hanse.dev/rollout-paused") == "true"
        assert here.oracle.asked == ["errors"]
        assert (paused, release is None) == (remedy == "Pause", remedy == "Abort")
        assert (template == (await here.get("rel", old))["spec"]["environment"]) == (remedy == "Rollback")
        if release is not None:
            failure = dig(release, "status", "progress", "failure")
            assert (failure["message"], failure["carriedOut"]) == ('check "errors" failed once: 500', True)
            decides = "; a person decides" if remedy == "Pause" else ""
            held = ("True", "CheckFailed", f'check "errors" failed once: 500{decides}')
            assert await here.condition(new, "Held") == held


async def test_a_check_that_succeeds_lets_the_step_go_on():
    async with stage("kind-app") as here:
        steps = [{**CHECKED, "pause": {"duration": "5s"}}, FULL_ON]
        name = await here.release(strategy={"steps": steps})
        here.oracle.answers["errors"] = [Answer(Outcome.SUCCESS, here.runtime.now() + 60, "200")]
        await here.quiet()
        for kind in ("it", "ct", "tt"):
            await here.shows(name, kind)
            await here.quiet()
        await here.quiet(30)

        release = await here.get("rel", name)
        assert (here.oracle.asked, release["spec"]["targetStep"]) == (["errors"], 1)


async def test_38_historical_releases_are_brought_to_nothing_and_a_middle_step_shares():
    async with stage("kind-app") as here:
        first = await here.release(strategy={"steps": [STAGING, HALF, FULL_ON]})
        await here.complete(first, 2)
        second = await here.release(1, strategy={"steps": [STAGING, HALF, FULL_ON]})
        await here.quiet()
        await here.go_to(second, 1)
        for name, kind in ((second, "it"), (second, "ct"), (second, "tt"), (first, "tt"), (first, "ct")):
            await here.shows(name, kind)
            await here.quiet()

        half = {"kind-app": 50}
        assert [await here.percents(first), await here.weights(first)] == [half, half]
        assert [await here.percents(second), await here.weights(second)] == [half, half]
        assert await achieved(here, second) == {"step": 1, "name": "half"}


async def test_a_release_that_was_never_scheduled_leads_nobody():
    strategy = {"steps": [step("staging", (100, 1), (100, 1)), FULL_ON]}
    async with stage("a", start=False) as s:
        first = await s.stands(0, 1, 100, complete=True, strategy=strategy)
        await s.release(1, strategy=strategy, clusterRequirements={"regions": [{"name": "nowhere"}]})
        await s.stands(2, 0, 1, complete=False, strategy=strategy)
        s.start()
        await s.quiet()
        before = len(s.wire.writes)
        await s.quiet()

        assert (await s.percents(first), await s.weights(first)) == ({"a": 100}, {"a": 100})
        assert len(s.wire.writes) == before
