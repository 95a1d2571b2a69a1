"""What goes with pods, in a whole federation: from admission to the last of it."""

from __future__ import annotations

import pytest

from hanse.api.admiralty.keys import HAS_FINALIZER, ORIGINAL_SELECTOR, POD_FINALIZER, PREFIX
from hanse.kube.manifest import annotations_of, finalizers_of, labels_of, version_of
from hanse.kube.resources import CONFIGMAPS, PODS, SECRETS, SERVICES
from tests.simulation.pods.world import elected_pod, sending

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

NAMED = {"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "password"}}


def pod(name):
    found = elected_pod(name)
    found["metadata"]["labels"] = {"app": "web"}
    found["spec"]["containers"][0]["envFrom"] = list(NAMED)
    return found


def written(resource, name, **fields):
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": "default"},
        **fields,
    }


async def test_65_68_a_pod_finds_what_it_names_its_service_leads_to_it_and_nothing_is_left_of_either():
    async with sending("home", "home", "away") as world:
        home = world.clients["home"]
        await home.create(CONFIGMAPS, written(CONFIGMAPS, "settings", data={"a": "1"}))
        await home.create(SECRETS, written(SECRETS, "password", data={"p": "cw=="}))
        unused = await home.create(CONFIGMAPS, written(CONFIGMAPS, "unused", data={"a": "1"}))
        await home.create(
            SERVICES, written(SERVICES, "web", spec={"ports": [{"port": 80}], "selector": {"app": "web"}})
        )
        names = [f"web-{number}" for number in range(6)]
        for name in names:
            await home.create(PODS, pod(name))

        async def places():
            return {await world.runs_in("home", name) for name in names}

        await world.until(lambda: _all_run(places))
        assert "away" in await places()

        async def selector():
            return (await world.find("home", SERVICES, "web"))["spec"]["selector"]

        async def has_followed():
            found = [await world.find("away", *each) for each in _FOLLOWED]
            return all(found) and await selector() == {f"{PREFIX}app": "web"}

        await world.until(has_followed)
        for each in _FOLLOWED:
            assert POD_FINALIZER in finalizers_of(await world.find("home", *each))
        assert annotations_of(await world.find("home", SERVICES, "web"))[ORIGINAL_SELECTOR] == "app=web"
        assert version_of(await world.find("home", CONFIGMAPS, "unused")) == version_of(unused)

        for name in names:
            await home.delete(PODS, name, "default")

        async def is_free():
            found = [await world.find("away", *each) for each in _FOLLOWED]
            held = [await world.find("home", *each) for each in _FOLLOWED]
            free = not any(found) and not any(finalizers_of(each) for each in held)
            return free and await selector() == {"app": "web"}

        await world.until(is_free)
        assert HAS_FINALIZER not in labels_of(await world.find("home", CONFIGMAPS, "settings"))
        assert await world.leftovers() == []


_FOLLOWED = ((CONFIGMAPS, "settings"), (SECRETS, "password"), (SERVICES, "web"))


async def _all_run(places):
    return "" not in await places()
