"""Rollout blocks on an API server in memory: what is refused, and to whom; numbers are lines of Shipper's checklist."""

import pytest
import pytest_asyncio

from hanse.api.shipper.kinds import APPLICATIONS, OVERRIDE_ANNOTATION, RELEASES, ROLLOUT_BLOCKS
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden, Invalid
from hanse.kube.manifest import annotations_of, dig
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.transport import Response
from hanse.rollouts.blocks import install_block_admission
from hanse.rollouts.blocks.controller import LEDGER
from tests.behaviour.rollouts import FIRST, SECOND
from tests.component.rollouts.applications.stage import stage
from tests.simulation.world import Wire

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]
FREEZE, NIGHT = "default/freeze", "rollout-blocks-global/night"


@pytest_asyncio.fixture
async def host():
    async with stage() as opened:
        yield opened


@pytest_asyncio.fixture
async def guarded():
    async with stage() as opened:
        assert await install_block_admission(opened.hanse)
        yield opened


def override(*names):
    return {OVERRIDE_ANNOTATION: ",".join(names)}


async def overrides_in_status(host, name="freeze", namespace="default"):
    return dig(await host.user.get(ROLLOUT_BLOCKS, name, namespace), "status", "overrides")


class WithoutPolicies(Wire):
    """A way to a server that serves no admission policies."""

    async def send(self, request, timeout):
        if "admissionregistration" in request.path:
            return Response(404, {}, b'{"kind": "Status", "reason": "NotFound", "code": 404}')
        return await super().send(request, timeout)


async def refusal(awaitable):
    with pytest.raises(Forbidden) as refused:
        await awaitable
    return str(refused.value)


async def test_69_70_71_74_creation_needs_an_override_of_every_block_and_of_none_else(guarded):
    await guarded.block("freeze")
    await guarded.block("night", "rollout-blocks-global")
    await guarded.rest()

    assert "rollout block(s) with name(s)" in await refusal(guarded.apply_seed())
    told = await refusal(guarded.apply_seed(**override(FREEZE)))
    assert f'rollout block(s) with name(s) "{NIGHT}" exist' in told
    told = await refusal(guarded.apply_seed(**override(FREEZE, NIGHT, "default/old")))
    assert 'rollout block with name "default/old" does not exist' in told

    await guarded.apply_seed(**override(NIGHT, FREEZE))
    await guarded.until_history(FIRST)
    expected = {"application": "default/super-server", "release": f"default/{FIRST}"}
    assert await overrides_in_status(guarded) == expected
    assert await overrides_in_status(guarded, "night", "rollout-blocks-global") == expected


async def test_72_73_76_77_what_a_block_lets_through_and_what_it_does_not(guarded):
    await guarded.apply_seed()
    await guarded.until_history(FIRST)
    await guarded.block("freeze")
    await guarded.rest()
    user, exists = guarded.user, f'rollout block(s) with name(s) "{FREEZE}" exist'

    assert exists in await refusal(user.patch(RELEASES, FIRST, {"spec": {"targetStep": 1}}, "default"))
    assert exists in await refusal(user.delete(RELEASES, FIRST, "default"))
    assert exists in await refusal(user.delete(APPLICATIONS, "super-server", "default"))
    assert exists in await refusal(guarded.apply_seed("0.0.2"))
    labelled = await user.patch(APPLICATIONS, "super-server", {"metadata": {"labels": {"team": "a"}}}, "default")
    assert labelled["metadata"]["labels"] == {"team": "a"}
    with pytest.raises(Invalid, match="the Release environment must not be changed; consider editing"):
        await user.patch(RELEASES, FIRST, {"spec": {"environment": {"values": {"replicaCount": 9}}}}, "default")

    await guarded.annotate(RELEASES, FIRST, **override(FREEZE))
    await user.patch(RELEASES, FIRST, {"spec": {"targetStep": 1}}, "default")


async def test_what_an_override_let_through_is_carried_out_to_its_end(guarded):
    await guarded.apply_seed()
    await guarded.until_history(FIRST)
    await guarded.block("freeze")
    await guarded.rest()
    await guarded.apply_seed("0.0.2", **override(FREEZE))
    await guarded.rest()

    # What was abandoned goes under the override of its application.
    assert (await guarded.user.get(RELEASES, FIRST, "default"))["metadata"]["deletionTimestamp"]
    assert annotations_of(await guarded.user.get(RELEASES, SECOND, "default"))[OVERRIDE_ANNOTATION] == FREEZE

    # What lost its owner goes under nobody's.
    await guarded.annotate(RELEASES, SECOND, **{OVERRIDE_ANNOTATION: None})
    await guarded.user.delete(APPLICATIONS, "super-server", "default")
    await guarded.rest()
    assert (await guarded.user.get(RELEASES, SECOND, "default"))["metadata"]["deletionTimestamp"]


async def test_75_without_the_block_the_application_goes_on_and_dead_overrides_are_gone(guarded):
    await guarded.apply_seed()
    await guarded.until_history(FIRST)
    await guarded.block("freeze")
    await guarded.block("other")
    await guarded.until_said("Blocked", "True", "default/freeze,default/other")
    await guarded.annotate(APPLICATIONS, "super-server", **override(FREEZE, "default/other"))
    await guarded.until_said("Blocked", "False")
    await guarded.rest()
    del guarded.wire.writes[:]
    await guarded.rest(600)
    assert guarded.wire.writes == []

    await guarded.user.delete(ROLLOUT_BLOCKS, "freeze", "default")
    await guarded.rest()
    assert annotations_of(await guarded.application())[OVERRIDE_ANNOTATION] == "default/other"
    await guarded.user.delete(ROLLOUT_BLOCKS, "other", "default")
    await guarded.rest()
    assert OVERRIDE_ANNOTATION not in annotations_of(await guarded.application())
    assert (await guarded.condition("Blocked"))[0] == "False"


async def test_overrides_of_a_block_that_went_while_nobody_looked_are_taken_away(host):
    await host.block("freeze")
    await host.apply_seed(**override(FREEZE))
    await host.until_history(FIRST)
    await host.rest()
    await host.kill()
    await host.user.delete(ROLLOUT_BLOCKS, "freeze", "default")
    host.start()
    await host.rest()

    for resource, name in ((APPLICATIONS, "super-server"), (RELEASES, FIRST)):
        found = await host.user.get(resource, name, "default")
        assert OVERRIDE_ANNOTATION not in annotations_of(found)
    assert (await host.user.get(CONFIGMAPS, LEDGER.name, LEDGER.namespace))["data"] == {"blocks": ""}


async def test_where_the_host_serves_no_policies_the_controllers_still_hold_everything_back(host):
    wire = WithoutPolicies(host.user.transport, host.runtime)
    assert await install_block_admission(Client(wire, host.runtime)) is False
    assert wire.writes == []
    await host.apply_seed()
    await host.until_history(FIRST)
    await host.complete(FIRST)
    await host.block("freeze")
    await host.apply_seed("0.0.2")
    await host.until_said("Blocked", "True", f'rollout block(s) with name(s) "{FREEZE}" exist')
    await host.rest()
    assert await host.history() == [FIRST]
    await host.annotate(APPLICATIONS, "super-server", **override("default/old"))
    await host.until_said("Blocked", "True", 'rollout block with name "default/old" does not exist')

    await host.annotate(APPLICATIONS, "super-server", **override(FREEZE))
    await host.until_history(FIRST, SECOND)
