"""Work that is done beside the reconcilers, and what they fetch of it."""

import asyncio

import pytest

from hanse.rollouts.environment import Check
from hanse.rollouts.execution import Answer, Outcome
from hanse.rollouts.releases.errands import Errands
from hanse.rollouts.releases.questions import Questions

pytestmark = pytest.mark.looptime


async def running(errands):
    task = asyncio.create_task(errands.run())
    await asyncio.sleep(0)
    return task


async def work(outcome, seconds=1.0):
    await asyncio.sleep(seconds)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


async def test_an_errand_is_sent_once_and_fetched_until_it_is_forgotten():
    back, sent = [], []
    errands = Errands(back.append)
    task = await running(errands)

    def send(outcome):
        errands.send("key", lambda: sent.append(outcome) or work(outcome))

    send("first")
    under_way = errands.fetch("key")
    send("second")
    await asyncio.sleep(2)
    found = [errands.fetch("key"), errands.fetch("key")]
    errands.forget("key")
    send("third")
    await asyncio.sleep(2)
    task.cancel()

    assert (under_way, found, errands.fetch("key")) == (None, ["first", "first"], "third")
    assert (sent, back) == (["first", "third"], ["key", "key"])


async def test_what_an_errand_failed_with_is_raised_once_and_another_one_may_be_sent():
    errands = Errands(lambda _key: None)
    task = await running(errands)
    errands.send("key", lambda: work(ValueError("no")))
    await asyncio.sleep(2)
    with pytest.raises(ValueError, match="no"):
        errands.fetch("key")
    gone = errands.fetch("key"), errands.known()
    errands.send("key", lambda: work("yes"))
    await asyncio.sleep(2)
    task.cancel()

    assert (gone, errands.fetch("key")) == ((None, []), "yes")


async def test_errands_end_with_whoever_sent_them():
    errands, ended = Errands(lambda _key: None), []

    async def endless():
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(True)

    task = await running(errands)
    errands.send("key", endless)
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.sleep(0)

    assert ended == [True]


class Patient:
    """Answers every check after a second."""

    async def ask(self, check):
        return await work(Answer(Outcome.SUCCESS, 1.0, check.name))


async def test_answers_are_of_one_step_and_kept_until_they_are_written():
    questions = Questions(Patient(), lambda _key: None)
    task = await running(questions)
    release = {"metadata": {"name": "r", "namespace": "n", "uid": "u"}, "spec": {"targetStep": 0}}
    key, later = ("n", "r"), {**release, "spec": {"targetStep": 1}}
    questions.ask(release, Check("errors"))
    none_yet = questions.answers(release)
    await asyncio.sleep(2)
    answers = questions.answers(release)
    again = questions.answers(release)
    questions.written(key, answers)
    written = questions.answers(release)
    questions.ask(release, Check("errors"))
    await asyncio.sleep(2)
    of_another_step = questions.answers(later)
    dropped = questions.answers(release)
    task.cancel()

    assert (none_yet, again, written) == ({}, answers, {})
    assert {name: answer.value for name, answer in answers.items()} == {"errors": "errors"}
    assert (of_another_step, dropped) == ({}, {})
