"""Writing into sources what came of them: their status, what others have to know of them, and events."""

from __future__ import annotations

from hanse.kube.client import Client
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Obj, version_of
from hanse.kube.runtime import timestamp
from hanse.propagation.door import Door
from hanse.propagation.host_writer import HostWriter
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.records import Records
from hanse.propagation.report import Report
from hanse.propagation.reporting import STATUS_SECONDS, Pace, Settling
from hanse.propagation.sources import Sources
from hanse.propagation.turns import noted
from hanse.propagation.waves import Wave


class Telling:
    """Tells people what became of their objects, once it is worth it."""

    def __init__(self, host: Client, sources: Sources, writer: HostWriter, pace: Pace) -> None:
        self._runtime = host.runtime
        self._sources = sources
        self._writer = writer
        self._pace = pace
        self._events = EventRecorder(host, "hanse")
        self._records = Records(host)
        self._settling = Settling()

    def forget(self, ref: Ref) -> None:
        """Forget a source that is looked after no longer."""
        self._records.forget(ref)
        self._settling.forget(ref)

    def settle(self, ref: Ref) -> None:
        """Forget since when a source waits for its members."""
        self._settling.forget(ref)

    async def tell(self, door: Door, ref: Ref, source: Obj, intent: Intent, report: Report, wave: Wave) -> float | None:
        """Write down what the members show; returns when to look again where that is too early."""
        if mark := door.marks(source, report):
            await self._writer.mark(mark)
            if version_of(self._sources.get(ref) or source) != version_of(source):
                # What is to be said is said of the version that the mark left behind.
                return STATUS_SECONDS
        if wait := self._settling.wait(ref, report, self._runtime.monotonic()):
            return wait
        if wait := self._pace.hold(ref, self._runtime.monotonic()):
            return wait
        now = timestamp(self._runtime.now())
        reported = noted(door.reported(source, report, now), wave)
        news = await self._writer.write_reported(ref, source, reported)
        await self._records.keep(ref, door.records(source, report, now))
        if not news:
            return None
        if report.trouble:
            await self._events.record(source, "PropagationFailed", report.trouble, warning=True)
        for warning in intent.warnings:
            await self._events.record(source, warning.reason, warning.message, warning=True)
        return None

    async def refuse(self, door: Door | None, ref: Ref, source: Obj, problem: Problem) -> None:
        """Say in a source why nothing is done for it; what it says already is no news."""
        now = timestamp(self._runtime.now())
        reported = door.refused(source, problem, now) if door is not None else source
        if await self._writer.write_reported(ref, source, reported):
            await self._events.record(source, problem.reason, problem.message, warning=not problem.expected)
