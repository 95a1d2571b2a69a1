"""One run of one mode: burst, steady, update, delete, each of them timed and metered."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bench.harness.metering import Meter, Processes
from bench.harness.modes import Context, Mode
from bench.harness.rest import Api, ApiError, Manifest, clock, log, path_of
from bench.harness.watching import Watcher, Wave
from bench.harness.workload import IMAGE_AFTER, RUN_LABEL, deployment

QUANTILES = (("t50_s", 0.50), ("t99_s", 0.99), ("t100_s", 1.0))


def quantile(values: list[float], q: float) -> float | None:
    """Nearest rank; `values` is sorted."""
    return values[max(0, math.ceil(q * len(values)) - 1)] if values else None


def rounded(value: float | None, digits: int = 3) -> float | None:
    """Round what is known."""
    return None if value is None else round(value, digits)


def spread(values: Iterable[float]) -> dict[str, float | None]:
    """How latencies in seconds are distributed, in milliseconds; empty if there are none."""
    ordered = [1e3 * value for value in sorted(values)]
    if not ordered:
        return {}
    points = (("p50_ms", 0.50), ("p90_ms", 0.90), ("p99_ms", 0.99), ("max_ms", 1.0))
    return {name: rounded(quantile(ordered, q), 1) for name, q in points}


@dataclass
class Item:
    """One workload: its key in the members and the objects that make it."""

    key: str
    objects: list[Manifest]
    sent: float = math.nan
    acked: float = math.nan


Request = tuple[Api, str, str, bytes | None, str]


@dataclass
class Run:
    """One mode, from the namespaces to the clean-up."""

    name: str
    mode: Mode
    args: argparse.Namespace
    host: Api
    members: list[Api]
    processes: Processes
    ctx: Context = field(init=False)
    watcher: Watcher = field(init=False)

    def __post_init__(self) -> None:
        run = secrets.token_hex(3)
        spaces = [f"bench-{run}-{index}" for index in range(self.args.namespaces)]
        self.ctx = Context(run, self.host, self.members, spaces)
        self.watcher = Watcher(self.members, run)

    @property
    def targets(self) -> list[Api]:
        """The API servers that the mode writes to."""
        return self.members if self.mode.direct else [self.host]

    @property
    def clusters(self) -> list[Api]:
        """The API servers whose writes are counted."""
        return [self.host, *self.members]

    # -- building blocks ---------------------------------------------------

    def items(self, group: str, count: int) -> list[Item]:
        """Make the workloads of one phase, spread over the namespaces."""
        result = []
        for index in range(count):
            namespace = self.ctx.namespaces[index % len(self.ctx.namespaces)]
            name = f"{group}-{index:05d}"
            manifest = deployment(self.ctx.run, group, namespace, name)
            result.append(Item(f"{namespace}/{name}", self.mode.workload(self.ctx, manifest)))
        return result

    def creates(self, item: Item) -> list[Request]:
        """The requests that create a workload."""
        return [
            (api, "POST", path_of(obj).rsplit("/", 1)[0], json.dumps(obj).encode(), "application/json")
            for obj in item.objects
            for api in self.targets
        ]

    def updates(self, item: Item) -> list[Request]:
        """The requests that change its image."""
        return [
            (api, "PATCH", patch.path, patch.body, patch.content_type)
            for patch in self.mode.set_image(self.ctx, item.objects, IMAGE_AFTER)
            for api in self.targets
        ]

    def deletes(self, item: Item) -> list[Request]:
        """The requests that remove it."""
        return [
            (api, "DELETE", path_of(obj), None, "application/json")
            for obj in reversed(item.objects)
            for api in self.targets
        ]

    @staticmethod
    async def send(request: Request) -> None:
        """Send one request; what is there or gone already counts as done."""
        api, method, path, body, content_type = request
        accept = {"POST": (409,), "DELETE": (404,)}.get(method, ())
        await api.request(method, path, body, content_type, accept)

    async def send_all(self, plan: list[tuple[Item, list[Request]]]) -> int:
        """Send every request, at most --concurrency at a time.

        The requests of one workload on one API server stay in order when there
        are several of them; in all other cases they go out independently.
        """
        jobs: list[list[Request]] = []
        for _, requests in plan:
            by_target: dict[str, list[Request]] = {}
            for request in requests:
                by_target.setdefault(request[0].name, []).append(request)
            jobs.extend(by_target.values())
        queue = iter(jobs)

        async def worker() -> None:
            for job in queue:
                for request in job:
                    await self.send(request)

        await asyncio.gather(*(worker() for _ in range(self.args.concurrency)))
        return sum(len(job) for job in jobs)

    async def finish(self, wave: Wave, label: str) -> bool:
        """Wait for a wave; say whether it completed in time."""
        deadline = clock() + self.args.timeout
        while not wave.complete.is_set():
            left = deadline - clock()
            if left <= 0:
                log(f"{self.name} {label}: timed out at {len(wave.done)}/{wave.total}")
                return False
            try:
                await asyncio.wait_for(wave.complete.wait(), min(10.0, left))
            except TimeoutError:
                log(f"{self.name} {label}: {len(wave.done)}/{wave.total} in all members")
        return True

    async def settle(self) -> float:
        """Wait until no API server takes more than --settle-writes writes a second."""
        start, quiet, before = clock(), 0, None
        while clock() - start < self.args.settle_max:
            tick = clock()
            now = await asyncio.gather(*(api.revision() for api in self.clusters))
            if before is not None:
                rate = max(b - a for a, b in zip(before[1], now, strict=True)) / max(tick - before[0], 1e-3)
                quiet = quiet + 1 if rate <= self.args.settle_writes else 0
                if quiet >= 3:
                    return clock() - start
            before = (tick, now)
            await asyncio.sleep(1.0)
        log(f"{self.name}: not quiet after {self.args.settle_max} s")
        return clock() - start

    async def wave(
        self,
        label: str,
        items: list[Item],
        make: Callable[[Item], list[Request]],
        wanted: Callable[[str | None], bool],
    ) -> Manifest:
        """One timed wave over all items, as fast as possible."""
        plan = [(item, make(item)) for item in items]
        retries = sum(api.retries for api in self.clusters)
        wave = self.watcher.expect((item.key for item in items), wanted)
        meter = await Meter(self.processes, self.clusters).start()
        t0 = clock()
        requests = await self.send_all(plan)
        sent = clock() - t0
        complete = await self.finish(wave, label)
        meter.mark()
        done = sorted(at - t0 for at in wave.done.values())
        measured = await meter.stop(await self.settle())
        reached = {
            name: rounded(quantile(done, q) if len(done) >= math.ceil(q * wave.total) else None)
            for name, q in QUANTILES
        }
        result = {
            "count": len(items),
            "complete": complete,
            "requests": requests,
            "requests_wall_s": round(sent, 3),
            "requests_per_s": round(requests / sent, 1),
            **reached,
            "objects_per_s": round(len(items) / reached["t100_s"], 1) if reached["t100_s"] else None,
            "retries": sum(api.retries for api in self.clusters) - retries,
            **measured,
        }
        if not complete:
            result["reached"] = len(done)
        log(
            f"{self.name} {label}: requests {sent:.2f} s, all members {reached['t100_s']} s, "
            f"then quiet after {measured['settle_s']} s"
        )
        return result

    async def steady(self, items: list[Item]) -> Manifest:
        """Open-loop creates at a fixed rate: latency without queueing."""
        plan = [(item, self.creates(item)) for item in items]
        wave = self.watcher.expect((item.key for item in items), lambda image: image is not None)
        meter = await Meter(self.processes, self.clusters).start()

        async def one(item: Item, requests: list[Request]) -> None:
            item.sent = clock()
            if self.mode.direct:
                await asyncio.gather(*map(self.send, requests))
            else:
                for request in requests:
                    await self.send(request)
            item.acked = clock()

        t0, tasks = clock(), []
        for index, (item, requests) in enumerate(plan):
            await asyncio.sleep(max(0.0, t0 + index / self.args.rate - clock()))
            tasks.append(asyncio.create_task(one(item, requests)))
        await asyncio.gather(*tasks)
        complete = await self.finish(wave, "steady")
        meter.mark()
        measured = await meter.stop(await self.settle())

        arrived = [item for item in items if item.key in wave.done]
        result = {
            "count": len(items),
            "rate_per_s": self.args.rate,
            "complete": complete,
            "sent_to_all_members": spread(wave.done[i.key] - i.sent for i in arrived),
            "sent_to_first_member": spread(wave.first[i.key] - i.sent for i in arrived),
            # a watch can be faster than the answer to the write
            "acked_to_all_members": spread(max(0.0, wave.done[i.key] - i.acked) for i in arrived),
            "request": spread(i.acked - i.sent for i in arrived),
            **measured,
        }
        log(f"{self.name} steady: {result['sent_to_all_members']}")
        return result

    async def idle(self) -> Manifest:
        """Measure the processes at rest."""
        meter = await Meter(self.processes, self.clusters).start()
        before = [await api.changes() for api in self.clusters]
        await asyncio.sleep(self.args.idle)
        after = [await api.changes() for api in self.clusters]
        meter.mark()
        changes = {api.name: new - old for api, old, new in zip(self.clusters, before, after, strict=True)}
        return {"seconds": self.args.idle, "changes": changes, **await meter.stop(0.0)}

    # -- the run -----------------------------------------------------------

    async def prepare(self) -> None:
        """Create namespaces and policies, start the watches, and send one workload through."""
        for namespace in self.ctx.namespaces:
            for api in self.targets:
                await api.create(
                    {
                        "apiVersion": "v1",
                        "kind": "Namespace",
                        "metadata": {"name": namespace, "labels": {RUN_LABEL: self.ctx.run}},
                    }
                )
        await self.mode.shared(self.ctx)
        deadline = clock() + 120
        for api in self.members:
            for namespace in self.ctx.namespaces:
                while True:
                    try:
                        await api.get(f"/api/v1/namespaces/{namespace}")
                        break
                    except ApiError as error:
                        if error.status != 404 or clock() > deadline:
                            raise
                        await asyncio.sleep(0.2)
        await self.watcher.start()
        # One object, untimed: connections, informers and caches exist before the clock starts.
        warm = self.items("warm", 1)
        for label, make, wanted in (
            ("warm-up", self.creates, lambda image: image is not None),
            ("warm-up", self.deletes, lambda image: image is None),
        ):
            wave = self.watcher.expect([warm[0].key], wanted)
            await self.send_all([(item, make(item)) for item in warm])
            if not await self.finish(wave, label):
                raise SystemExit(f"{self.name}: the control plane does not propagate")
        await self.settle()

    async def remove(self, items: list[Item]) -> None:
        """Remove workloads, untimed."""
        wave = self.watcher.expect((item.key for item in items), lambda image: image is None)
        await self.send_all([(item, self.deletes(item)) for item in items])
        await self.finish(wave, "removal")
        await self.settle()

    async def clean_up(self) -> None:
        """Remove the namespaces and wait until they are gone."""
        for api in self.targets:
            for namespace in self.ctx.namespaces:
                await api.request("DELETE", f"/api/v1/namespaces/{namespace}", accept=(404, 409))
        deadline = clock() + 180
        for api in (*self.targets, *self.members):
            while clock() < deadline:
                left = await api.get(f"/api/v1/namespaces?labelSelector={RUN_LABEL}%3D{self.ctx.run}")
                if not left["items"]:
                    break
                await asyncio.sleep(0.5)

    async def execute(self) -> Manifest:
        """Run all phases and return what was measured."""
        args, phases = self.args, {}
        log(f"{self.name}: run {self.ctx.run}, {args.count} Deployments, {len(self.members)} members")
        await self.prepare()

        def present(image: str | None) -> bool:
            return image is not None

        items = self.items("burst", args.count)
        phases["burst"] = await self.wave("burst", items, self.creates, present)
        if args.idle:
            phases["idle"] = await self.idle()
        if "steady" in args.phases:
            extra = self.items("steady", args.steady_count)
            phases["steady"] = await self.steady(extra)
            await self.remove(extra)
        if "update" in args.phases:
            phases["update"] = await self.wave("update", items, self.updates, lambda image: image == IMAGE_AFTER)
        if not args.keep:
            if "delete" in args.phases:
                phases["delete"] = await self.wave("delete", items, self.deletes, lambda image: image is None)
            else:
                await self.remove(items)
            await self.clean_up()
        await self.watcher.stop()
        return {
            "mode": self.name,
            "run": self.ctx.run,
            "manifest_bytes": len(json.dumps(items[0].objects[0], separators=(",", ":"))),
            "objects_per_workload": len(items[0].objects),
            "watch_events": self.watcher.events,
            "watch_relists": self.watcher.relists,
            "phases": phases,
        }
