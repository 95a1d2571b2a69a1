"""The event loop is never held up: no callback of the machinery under load uses more than 50 ms of CPU time.

CPU time, because wall time on a shared machine says how busy the neighbours are. The load comes from a transport that
has its answers ready, so that nothing but the machinery itself is measured.
"""

import asyncio
import gc
import time
from contextlib import contextmanager

import pytest

from bench.kube.deployments import name_of_number
from bench.kube.pages import GeneratedDeployments
from hanse.kube import Cache, Client, Controller, SystemRuntime, WorkQueue
from hanse.kube.manifest import Key
from hanse.kube.resources import DEPLOYMENTS

LIMIT_SECONDS = 0.050
OBJECTS = 5_000
CHANGES = 5_000
KEYS = 10_000
RUNTIME = SystemRuntime()


class Callbacks:
    """The CPU time of every callback of the loop, and which one used the most."""

    def __init__(self):
        self.count = 0
        self.longest = 0.0
        self.slowest = ""

    def note(self, seconds, handle):
        self.count += 1
        if seconds > self.longest:
            self.longest, self.slowest = seconds, describe(handle)


def describe(handle):
    """Name a callback; a step of a task says by itself only that it is one, so its coroutine is named."""
    task = getattr(handle._callback, "__self__", None)
    return f"a step of {task.get_coro().__qualname__}" if isinstance(task, asyncio.Task) else repr(handle)


@contextmanager
def measured_callbacks(monkeypatch):
    """Measure every callback that a pure-Python loop runs for the length of a block."""
    callbacks = Callbacks()
    run = asyncio.Handle._run

    def measured(handle):
        began = time.thread_time()
        run(handle)
        callbacks.note(time.thread_time() - began, handle)

    with monkeypatch.context() as patched:
        patched.setattr(asyncio.Handle, "_run", measured)
        yield callbacks


@pytest.fixture
def callbacks(monkeypatch):
    # What the test run itself holds is not this load's to walk through; what the load makes is.
    gc.collect()
    gc.freeze()
    with measured_callbacks(monkeypatch) as measured:
        yield measured
    gc.unfreeze()


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@pytest.fixture
def pages():
    """A server that has everything ready: what it costs to make up objects is no cost of the machinery."""
    return GeneratedDeployments(OBJECTS, prepared=True)


async def test_a_slow_callback_is_caught(callbacks):
    asyncio.get_running_loop().call_soon(spin, 2 * LIMIT_SECONDS)
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert callbacks.longest > LIMIT_SECONDS
    assert "spin" in callbacks.slowest


async def test_a_slow_step_of_a_task_is_caught(callbacks):
    async def slow():
        await asyncio.sleep(0)
        spin(2 * LIMIT_SECONDS)

    await asyncio.create_task(slow())

    assert callbacks.longest > LIMIT_SECONDS
    assert "slow" in callbacks.slowest


async def test_a_callback_that_only_waits_is_not_blamed(callbacks):
    asyncio.get_running_loop().call_soon(time.sleep, 2 * LIMIT_SECONDS)
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert callbacks.longest < LIMIT_SECONDS


async def test_a_cache_a_queue_and_a_controller_under_load_never_hold_up_the_loop(pages, callbacks):
    cache = Cache(Client(pages, RUNTIME), DEPLOYMENTS)
    reconciled = set()
    finished = asyncio.Event()

    async def reconcile(key):
        obj = cache.get(key)
        if obj is not None and obj["metadata"]["resourceVersion"]:
            reconciled.add(key)
        if len(reconciled) == OBJECTS:
            finished.set()

    controller = Controller("load", reconcile, RUNTIME)
    cache.subscribe(lambda change: controller.queue.add(change.key))
    queue = WorkQueue(RUNTIME, owner=lambda key: key % 7)
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(cache.run()), tasks.create_task(controller.run())]
        drained = tasks.create_task(drain(queue))
        await pages.watched.wait()
        await churn(pages)
        await finished.wait()
        await drained
        await controller.queue.wait_idle()
        for task in running:
            task.cancel()

    assert len(cache) == OBJECTS
    assert len(reconciled) == OBJECTS
    assert cache.get(Key("default", name_of_number(0)))["metadata"]["resourceVersion"] != "1000"
    assert callbacks.count > OBJECTS
    assert callbacks.longest < LIMIT_SECONDS, f"{callbacks.slowest} used {callbacks.longest * 1000:.0f} ms of CPU time"


async def churn(pages):
    """Have every object change once, in bursts as a busy cluster sends them."""
    for start in range(0, CHANGES, 100):
        for number in range(start, start + 100):
            pages.change(number % OBJECTS)
        await asyncio.sleep(0)


async def drain(queue):
    """Fill a queue with keys of several owners, and take them all out again."""
    for key in range(KEYS):
        queue.add(key)
        queue.add_after(-key, 0.001)
        if key % 100 == 0:
            await asyncio.sleep(0)
    for _ in range(KEYS):
        queue.done(await queue.get())
