"""What Hanse may not read: the controller, or the parent, that would need it says so, and nobody waits in silence."""

import pytest

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS
from hanse.kube.conditions import find_condition
from hanse.kube.errors import Forbidden
from hanse.kube.resources import CONFIGMAPS, SECRETS
from tests.simulation.composite.stage import THINGS, child, composite, config, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


class Unreadable:
    """A way to the server that refuses to list a kind."""

    def __init__(self, inner, word):
        self.inner = inner
        self.word = word

    @property
    def address(self):
        return self.inner.address

    async def send(self, request, timeout):
        self._refuse(request)
        return await self.inner.send(request, timeout)

    async def stream(self, request, timeout):
        self._refuse(request)
        return await self.inner.stream(request, timeout)

    async def close(self):
        await self.inner.close()

    def _refuse(self, request):
        if self.word and request.method == "GET" and request.path.endswith(self.word):
            raise Forbidden(403, "Forbidden", f'{self.word[1:]} is forbidden: User "hanse" cannot list it')


async def _ready(on):
    stored = await on.client.get(COMPOSITE_CONTROLLERS, "things")
    return find_condition((stored.get("status") or {}).get("conditions"), "Ready") or {}


async def test_a_controller_of_a_kind_that_may_not_be_read_says_so_and_starts_when_it_may():
    async with stage() as on:
        on.wire.inner = Unreadable(on.wire.inner, "/secrets")
        hook = on.hook("sync", lambda _body: {"children": [config("one-0")]})
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS), child(SECRETS)))
        await on.create(thing())
        await on.settle(20)
        told = await _ready(on)
        assert (told["status"], on.calls("sync")) == ("False", [])
        assert "secrets may not be read" in told["message"]

        on.wire.inner.word = ""
        await on.settle(20)
        assert (await _ready(on))["status"] == "True"
        assert await on.names(CONFIGMAPS, labels="thing=one") == ["one-0"]


async def test_a_parent_whose_related_kind_may_not_be_read_says_so_and_goes_on_when_it_may():
    async with stage() as on:
        on.wire.inner = Unreadable(on.wire.inner, "/secrets")
        hooks = {"sync": on.hook("sync", lambda _body: {"children": [config("one-0")]})}
        rule = {"relatedResources": [{"apiVersion": "v1", "resource": "secrets"}]}
        hooks["customize"] = on.hook("customize", lambda _body: rule)
        await on.create(composite("things", hooks, child(CONFIGMAPS)))
        await on.create(thing())
        await on.settle(20)
        told = find_condition((await on.client.get(THINGS, "one", "default"))["status"]["conditions"], "Synced")
        assert "secrets may not be read" in told["message"]

        on.wire.inner.word = ""
        await on.settle(60)
        assert await on.names(CONFIGMAPS, labels="thing=one") == ["one-0"]
