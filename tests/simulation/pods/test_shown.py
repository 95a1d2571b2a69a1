"""What a target writes on a pod, and how much of that the placeholder shows at home."""

from __future__ import annotations

import pytest

from hanse.api.admiralty.keys import SHOWN
from hanse.kube.manifest import annotations_of, dig, name_of, version_of
from hanse.kube.resources import EVENTS, PODS
from tests.simulation.pods.world import elected_pod, sending

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]
AUTOSCALER = "cluster-autoscaler.kubernetes.io/safe-to-evict"


async def test_38_annotations_of_the_pod_come_home_within_reason_and_nothing_is_written_in_circles():
    async with sending("home", "away") as world:
        home, away = world.clients["home"], world.clients["away"]
        await home.create(PODS, elected_pod("one", {"mine": "kept"}))
        await world.until(lambda: world.runs_in("home", "one"))
        ((_, [(_, delegate)]),) = (await world.delegates("home")).items()
        told = {"example.com/result": "42", "mine": "another", AUTOSCALER: "false", "large": "x" * 250_000}
        await away.patch(PODS, name_of(delegate), {"metadata": {"annotations": told}}, "default")
        await world.until(lambda: _shows(world, "42"))

        shown = await world.find("home", PODS, "one")
        assert annotations_of(shown)["mine"] == "kept"
        assert annotations_of(shown)[SHOWN] == "example.com/result"
        assert AUTOSCALER not in annotations_of(shown)
        assert dig(shown, "status", "phase") == "Running"
        events = [event["message"] for event in (await home.list(EVENTS, "default")).items]
        assert "large: annotations of its pod for which there is no room here" in events

        await world.runtime.sleep(60)
        assert version_of(await world.find("home", PODS, "one")) == version_of(shown)
        await away.patch(
            PODS, name_of(delegate), {"metadata": {"annotations": {"example.com/result": "43"}}}, "default"
        )
        await world.until(lambda: _shows(world, "43"))
        await away.patch(
            PODS, name_of(delegate), {"metadata": {"annotations": {"example.com/result": None}}}, "default"
        )
        await world.until(lambda: _shows(world, None))


async def _shows(world, result):
    return annotations_of(await world.find("home", PODS, "one")).get("example.com/result") == result
