"""Telling a running embedded federation what is broken: the annotation on a Cluster object, written and read.

The process that runs the simulated clusters watches it, so a command, `kubectl annotate` and a schedule come by the
same road and survive a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hanse.api.clusters import CLUSTERS
from hanse.api.names import FAULT_ANNOTATION
from hanse.kube.client import Client
from hanse.kube.errors import Conflict, NotFound
from hanse.kube.log import Log
from hanse.kube.manifest import Obj, annotations_of, version_of
from hanse.kube.runtime import Runtime
from hanse.simulator.faults.schedule import Planned
from hanse.simulator.faults.values import (
    Fault,
    FaultError,
    active,
    faults_from_text,
    faults_to_text,
    lasting,
    with_fault,
)

log = Log("hanse")
# From the faults that are there and the time of day to the faults that shall be.
Change = Callable[[tuple[Fault, ...], float], Iterable[Fault]]


def faults_of(cluster: Obj, now: float) -> tuple[Fault, ...]:
    """Return the faults that a Cluster object says and that are not over; raises FaultError."""
    return active(faults_from_text(annotations_of(cluster).get(FAULT_ANNOTATION, "")), now)


async def change_faults(host: Client, name: str, change: Change) -> tuple[Obj, tuple[Fault, ...]]:
    """Change what a Cluster object says is broken; returns it and the faults that it has now. Raises NotFound.

    An annotation that cannot be read is as good as none: it is replaced.
    """
    while True:
        cluster = await host.get(CLUSTERS, name)
        try:
            present = faults_of(cluster, host.runtime.now())
        except FaultError:
            present = ()
        wanted = tuple(change(present, host.runtime.now()))
        annotations: dict[str, Any] = {FAULT_ANNOTATION: faults_to_text(wanted) or None}
        patch = {"metadata": {"annotations": annotations, "resourceVersion": version_of(cluster)}}
        try:
            return await host.patch(CLUSTERS, name, patch), wanted
        except Conflict:
            # Its health was written meanwhile; what was read may be outdated.
            continue


async def play(host: Client, schedule: Sequence[Planned]) -> None:
    """Have the faults of a schedule happen at their times, counted from now."""
    begin = host.runtime.monotonic()
    for one in sorted(schedule, key=lambda one: one.at):
        await host.runtime.sleep(max(0.0, begin + one.at - host.runtime.monotonic()))

        def add(present: tuple[Fault, ...], now: float, one: Planned = one) -> tuple[Fault, ...]:
            return with_fault(present, lasting(one.fault, one.lasts, now))

        try:
            await change_faults(host, one.cluster, add)
        except NotFound:
            log.warning("A cluster to be broken is no member any more", cluster=one.cluster, fault=str(one.fault))
            continue
        log.info("Broke a cluster as scheduled", cluster=one.cluster, fault=str(one.fault), seconds=one.lasts)


class Keeper:
    """Keeps a cluster as broken as its Cluster object says, also when a fault's time is over."""

    def __init__(self, name: str, runtime: Runtime, apply: Callable[[tuple[Fault, ...]], None]) -> None:
        self._name = name
        self._runtime = runtime
        self._apply = apply
        self._said: tuple[Fault, ...] = ()
        self._change = asyncio.Event()

    def read(self, cluster: Obj) -> None:
        """Take note of what the Cluster object says now; what cannot be read changes nothing."""
        try:
            self._said = faults_from_text(annotations_of(cluster).get(FAULT_ANNOTATION, ""))
        except FaultError as error:
            log.warning("Cannot read what is broken", cluster=self._name, annotation=FAULT_ANNOTATION, error=str(error))
            return
        self._change.set()

    async def run(self) -> None:
        """Apply what is said, and again whenever it changes or a fault ends, until cancelled."""
        while True:
            self._change.clear()
            present = active(self._said, self._runtime.now())
            self._apply(present)
            ends = [fault.until for fault in present if fault.until is not None]
            try:
                async with asyncio.timeout(max(0.0, min(ends) - self._runtime.now()) if ends else None):
                    await self._change.wait()
            except TimeoutError:
                continue
