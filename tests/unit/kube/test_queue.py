"""The work queue: each key once, one worker a key, later, fairly."""

import asyncio
from itertools import pairwise

import pytest

from hanse.kube.controller import Controller
from hanse.kube.queue import WorkQueue
from hanse.kube.runtime import SeededRuntime

pytestmark = pytest.mark.looptime


@pytest.fixture
def queue():
    return WorkQueue(SeededRuntime())


async def take(queue):
    async with asyncio.timeout(1000):
        return await queue.get()


async def test_a_key_added_twice_is_worked_on_once(queue):
    queue.add("a")
    queue.add("a")
    queue.add("b")

    assert [await take(queue), await take(queue)] == ["a", "b"]
    assert len(queue) == 0


async def test_a_key_that_changes_while_worked_on_waits_for_its_worker(queue):
    queue.add("a")
    key = await take(queue)
    queue.add("a")

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.get(), 5)

    queue.done(key)
    assert await take(queue) == "a"


async def test_a_key_is_in_the_queue_until_it_was_looked_at(queue):
    queue.add("a")
    queue.add_after("later", 60.0)
    waiting = "a" in queue
    await queue.get()
    working = "a" in queue
    queue.done("a")

    assert waiting
    assert working
    assert "a" not in queue
    assert "later" not in queue


async def test_of_several_delays_the_earliest_counts(queue):
    start = asyncio.get_running_loop().time()
    queue.add_after("a", 30)
    queue.add_after("a", 10)
    queue.add_after("a", 20)

    await take(queue)

    assert asyncio.get_running_loop().time() - start == pytest.approx(10)
    queue.done("a")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.get(), 100)


async def test_pauses_of_a_failing_key_grow_to_a_limit_and_start_anew_when_forgotten(queue):
    pauses = []
    for _ in range(14):
        pauses.append(queue.retry("a"))
        await take(queue)
        queue.done("a")

    assert all(later > earlier for earlier, later in pairwise(pauses[:9]))
    assert max(pauses) <= 60
    queue.forget("a")
    assert queue.retry("a") <= 0.05


async def test_owners_take_turns_so_that_a_noisy_one_starves_nobody():
    queue = WorkQueue(SeededRuntime(), owner=lambda key: key[0])
    for number in range(100):
        queue.add(("noisy", number))
    queue.add(("quiet", 0))

    first = [await take(queue) for _ in range(3)]

    assert ("quiet", 0) in first


async def test_waiting_workers_are_woken_one_a_key(queue):
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    for key in "abc":
        queue.add(key)

    assert sorted(await asyncio.gather(*workers)) == ["a", "b", "c"]


async def test_a_cancelled_worker_loses_no_key(queue):
    workers = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.add("a")
    workers[0].cancel()

    assert await asyncio.wait_for(workers[1], 5) == "a"


async def test_idle_means_nothing_waits_and_nobody_works(queue):
    queue.add("a")
    key = await take(queue)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.wait_idle(), 5)

    queue.done(key)

    await asyncio.wait_for(queue.wait_idle(), 5)


async def test_a_delay_that_is_a_rounding_error_still_lets_time_pass(queue):
    start = asyncio.get_running_loop().time()
    queue.add_after("a", 1e-16)

    await take(queue)

    assert asyncio.get_running_loop().time() > start


async def test_of_one_owner_no_more_are_worked_on_than_may_be_and_others_go_on():
    queue = WorkQueue(SeededRuntime(), owner=lambda key: key[0], most_of_one=2)
    for key in ("a1", "a2", "a3", "a4", "b1"):
        queue.add(key)
    taken = {await take(queue) for _ in range(3)}
    assert taken == {"a1", "a2", "b1"}
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.get(), 5)

    queue.add("a1")
    queue.done("b1")
    queue.done("a1")
    assert await take(queue) == "a3"
    queue.done("a2")
    queue.done("a3")
    assert {await take(queue), await take(queue)} == {"a4", "a1"}
    queue.done("a4")
    queue.done("a1")
    await asyncio.wait_for(queue.wait_idle(), 1)


async def test_a_key_that_changes_hands_while_it_is_worked_on_is_counted_as_it_was_taken():
    owners = {"x": "a", "y": "a"}
    queue = WorkQueue(SeededRuntime(), owner=lambda key: owners[key], most_of_one=1)
    queue.add("x")
    queue.add("y")
    assert await take(queue) == "x"
    owners["x"] = "b"
    queue.done("x")
    assert await take(queue) == "y"


async def test_without_a_number_of_workers_keys_that_hang_delay_nobody():
    runtime, seen = SeededRuntime(), {}

    async def reconcile(key):
        await runtime.sleep(1000.0 if key < 50 else 1.0)
        seen[key] = runtime.monotonic()

    controller = Controller("any", reconcile, runtime, workers=None)
    start = runtime.monotonic()
    working = asyncio.create_task(controller.run())
    for key in range(51):
        controller.queue.add(key)
    await runtime.sleep(2.0)
    assert seen == {50: pytest.approx(start + 1.0)}
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
