"""Releases that somebody deletes: held until those that stay can do without them, and no longer."""

import pytest

from hanse.api.shipper.kinds import APPLICATIONS, RELEASES
from hanse.kube.manifest import dig
from tests.component.rollouts.releases.stage import FULL_ON, HALF, STAGING, stage

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]
STEPS = {"strategy": {"steps": [STAGING, HALF, FULL_ON]}}
TWO = {"clusterRequirements": {"regions": [{"name": "local", "replicas": 2}]}}


async def at_half(here, **asked):
    """Have a complete release and a contender that shares capacity and traffic with it."""
    old = await here.stands(0, 2, 50, complete=True, **STEPS, **asked)
    new = await here.stands(1, 1, 50, complete=False, **STEPS, **asked)
    here.start()
    await here.quiet()
    return old, new


async def test_an_aborted_contender_stays_until_the_release_before_it_is_back():
    async with stage("kind-app", start=False) as here:
        old, new = await at_half(here)
        await here.host.delete(RELEASES, new, "default")
        await here.quiet()
        asked = await here.percents(old), await here.weights(old), await here.percents(new)
        told = dig(await here.get("rel", new), "status", "progress", "waitsFor")
        await here.shows(old, "ct")
        await here.quiet()
        led, still_there = await here.weights(old), await here.get("rel", new) is not None
        await here.shows(old, "tt")
        await here.quiet()

        assert asked == ({"kind-app": 100}, {"kind-app": 50}, {"kind-app": 50})
        assert told == "it goes once release app-0 has its capacity and traffic back in kind-app"
        assert (led, still_there) == ({"kind-app": 100}, True)
        assert await here.get("rel", new) is None


async def test_clusters_that_cannot_be_reached_are_not_waited_for_but_the_others_get_their_traffic_back():
    async with stage("a", "b", start=False) as here:
        old, new = await at_half(here, **TWO)
        await here.cluster_is("b", ready=False)
        await here.host.delete(RELEASES, new, "default")
        await here.quiet()
        await here.shows(old, "ct", sick=("b",))
        await here.quiet()
        led, still_there = await here.weights(old), await here.get("rel", new) is not None
        await here.shows(old, "tt", sick=("b",))
        await here.quiet()

        assert (led, still_there) == ({"a": 100, "b": 50}, True)
        assert await here.get("rel", new) is None


async def test_18_an_unfinished_release_between_two_others_stays_until_the_incumbent_is_back():
    async with stage("kind-app", start=False) as here:
        old, middle = await at_half(here)
        newest = await here.release(2, **STEPS)
        await here.host.delete(RELEASES, middle, "default")
        await here.quiet()
        asked, still_there = await here.percents(old), await here.get("rel", middle) is not None
        for kind in ("ct", "tt"):
            await here.shows(old, kind)
            await here.quiet()

        assert (asked, still_there) == ({"kind-app": 100}, True)
        assert await here.weights(old) == {"kind-app": 100}
        assert await here.get("rel", middle) is None
        assert await here.get("rel", newest) is not None


async def contending(here):
    """Have a complete release, and one that was just begun."""
    old = await here.stands(0, 1, 100, complete=True)
    new = await here.stands(1, 0, 1, complete=False)
    here.start()
    await here.quiet()
    return old, new


async def test_nobody_waits_for_what_nobody_takes_the_place_of():
    async with stage("kind-app", start=False) as here:
        old, new = await contending(here)
        await here.host.delete(RELEASES, old, "default")
        await here.quiet()
        told = dig(await here.get("rel", old), "status", "progress", "waitsFor")
        await here.host.delete(RELEASES, new, "default")
        await here.quiet()

        assert told == f"it goes once release {new} has traffic in kind-app"
        assert (await here.get("rel", old), await here.get("rel", new)) == (None, None)


async def test_18_a_first_release_that_is_replaced_unfinished_serves_until_clients_are_led_to_the_next():
    async with stage("kind-app", start=False) as here:
        first = await here.stands(0, 1, 50, complete=False, **STEPS)
        new = await here.stands(1, 0, 0, complete=False, **STEPS)
        here.start()
        await here.host.delete(RELEASES, first, "default")
        await here.quiet()
        staged = await here.percents(first), await here.weights(first)
        await here.shows(new, "ct")
        await here.go_to(new, 1)
        await here.quiet()
        await here.shows(new, "ct")
        await here.quiet()
        unconfirmed = await here.weights(new), await here.get("rel", first) is not None
        await here.shows(new, "tt")
        await here.quiet()

        assert staged == ({"kind-app": 50}, {"kind-app": 50})
        assert unconfirmed == ({"kind-app": 50}, True)
        assert await here.get("rel", first) is None


async def test_a_release_beside_one_whose_strategy_cannot_be_read_is_kept_while_it_has_anything():
    check = {"name": "smoke", "http": {"url": "https://anna@shop.example.com"}}
    unreadable = {"strategy": {"steps": [STAGING, {**FULL_ON, "checks": [check]}]}}
    async with stage("kind-app", start=False) as here:
        empty = await here.stands(0, 1, 0, complete=True)
        serving = await here.stands(1, 1, 100, complete=True, **unreadable)
        await here.stands(2, 0, 1, complete=False, **unreadable)
        here.start()
        for name in (empty, serving):
            await here.host.delete(RELEASES, name, "default")
        await here.quiet()
        held = await here.get("rel", serving)

        assert await here.get("rel", empty) is None
        assert "strategies of those that stay can be read: spec.environment" in dig(
            held, "status", "progress", "waitsFor"
        )


async def test_a_release_that_was_stepped_back_from_takes_nobodys_place():
    async with stage("kind-app", start=False) as here:
        good = await here.stands(0, 2, 50, complete=True, **STEPS)
        bad = await here.stands(1, 0, 1, complete=True, **STEPS)
        new = await here.stands(2, 0, 50, complete=False, **STEPS)
        here.start()
        await here.host.delete(RELEASES, new, "default")
        await here.quiet()
        told = dig(await here.get("rel", new), "status", "progress", "waitsFor")
        for kind in ("ct", "tt"):
            await here.shows(good, kind)
            await here.quiet()

        assert told == f"it goes once release {good} has its capacity and traffic back in kind-app"
        assert await here.weights(good) == {"kind-app": 100}
        assert await here.percents(bad) == {"kind-app": 1}
        assert await here.get("rel", new) is None


async def test_the_releases_of_an_application_that_is_deleted_go_at_once():
    async with stage("kind-app", start=False) as here:
        old, new = await contending(here)
        held = {"metadata": {"finalizers": ["example.com/mine"]}}
        await here.host.patch(APPLICATIONS, "app", held, "default")
        await here.shows(old, "ct", sick=("kind-app",))
        await here.host.delete(RELEASES, new, "default")
        await here.quiet()
        waited = await here.get("rel", new) is not None
        await here.host.delete(APPLICATIONS, "app", "default")
        await here.quiet()
        contender = await here.get("rel", new)
        await here.host.patch(APPLICATIONS, "app", {"metadata": {"finalizers": None}}, "default")
        await here.quiet()

        assert (waited, contender, await here.get("rel", old)) == (True, None, None)
