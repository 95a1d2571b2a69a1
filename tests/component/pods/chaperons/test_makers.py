"""Chaperons that say from their creation which keeper makes their pods."""

from __future__ import annotations

import pytest

from hanse.api.admiralty.keys import MAKER
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.kube.client import Client
from hanse.kube.manifest import annotations_of
from hanse.kube.resources import PODS
from hanse.kube.transport import Unreachable
from hanse.pods.chaperons.makers import MakerClient, Makers
from hanse.pods.chaperons.makings import LATE_SECONDS
from tests.component.pods.chaperons.stage import chaperon, made_by, stage

pytestmark = pytest.mark.looptime


async def test_the_keeper_that_is_named_makes_the_pod_without_another_word():
    async with stage() as target:
        await target.send(made_by(target.word))
        await target.until_phase("Bound")
        await target.runtime.sleep(10.0)
        made, *told = [method for method, _path in target.wire.writes]
        assert made == "POST"
        assert set(told) == {"PATCH"}


async def test_a_keeper_that_is_not_named_waits_for_a_pod_that_may_come():
    """The one that was named may have sent its creation before it died."""
    async with stage() as target:
        await target.send(made_by("somebody-else"))
        await target.runtime.sleep(LATE_SECONDS - 1.0)
        assert await target.pod() is None
        await target.until_phase("Bound", seconds=10.0)
        assert "making" not in await target.fence()


async def test_a_keeper_that_is_not_named_does_not_say_that_there_is_no_pod_before_that():
    async with stage() as target:
        await target.send(made_by("somebody-else"))
        await target.runtime.sleep(1.0)
        await target.client.delete(POD_CHAPERONS, "web-abcde", "default")
        await target.runtime.sleep(LATE_SECONDS - 3.0)
        assert await target.chaperon() is not None
        await target.until_gone(seconds=5.0)


async def test_what_the_named_keeper_has_not_begun_goes_at_once():
    async with stage(keeper=False) as target:
        target.start()
        await target.send(made_by(target.word))
        await target.client.delete(POD_CHAPERONS, "web-abcde", "default")
        await target.until_gone(seconds=5.0)
        assert target.wire.writes == [("PATCH", f"{POD_CHAPERONS.path('default')}/web-abcde")]


async def test_a_creation_that_broke_off_is_waited_out_by_the_named_keeper_too():
    async with stage(keeper=False) as target:
        target.wire.before_write = _refuse
        target.start()
        await target.send(made_by(target.word))
        await target.runtime.sleep(1.0)
        await target.client.delete(POD_CHAPERONS, "web-abcde", "default")
        target.wire.before_write = lambda _request: None
        await target.runtime.sleep(LATE_SECONDS / 2)
        assert await target.chaperon() is not None
        await target.until_gone(seconds=LATE_SECONDS)


async def test_a_word_from_the_beginning_says_nothing_once_a_pod_was_recorded():
    """A pod that is made again is announced anew, by whoever makes it."""
    async with stage() as target:
        await target.send(made_by(target.word))
        await target.until_phase("Bound")
        await target.client.delete(PODS, "web-abcde", "default")
        await target.until_phase("Lost", seconds=60.0)
        await target.until_phase("Bound", seconds=120.0)
        assert (await target.fence())["pods"] == 2


@pytest.mark.parametrize(("keeps", "word"), [("target", "w1"), ("elsewhere", None)])
async def test_only_chaperons_of_clusters_that_this_process_keeps_name_their_maker(keeps, word):
    async with stage(keeper=False) as target:
        makers = Makers()
        client = MakerClient(Client(target.wire, target.runtime), makers, "target")
        with makers.at_work(keeps, "w1"):
            made = await client.create(POD_CHAPERONS, chaperon())
        assert annotations_of(made).get(MAKER) == word
        later = await client.create(POD_CHAPERONS, chaperon("later"))
        assert MAKER not in annotations_of(later)


def _refuse(_request: object) -> None:
    raise Unreachable("target", "the wire is cut")
