"""Watching over members: probe, judge, look at what they have, and write what is new into their Cluster objects.

Nothing is written while nothing changes, and each member is watched by a task of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hanse.api.clusters import CLUSTERS, Cluster
from hanse.clusters.health import Health, HealthTerms, State, Symptom, judge
from hanse.clusters.lookout import Lookout, jittered
from hanse.clusters.member import Member, PullMember
from hanse.clusters.member_transport import MemberTransport
from hanse.clusters.status import Facts, cluster_status, health_from_status, relayed_status
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj, dig
from hanse.kube.patches.merge_patch import merge_patch_between
from hanse.kube.runtime import timestamp
from hanse.kube.transport import Unreachable

log = Log("hanse")


@dataclass(slots=True)
class _Listening:
    """What is thought of an agent's silence, and whether there is anything to report."""

    health: Health
    news: asyncio.Event


class Supervision:
    """Keeps the status of every Cluster true."""

    def __init__(
        self,
        host: Client,
        clusters: Cache,
        known: Callable[[], Sequence[Cluster]],
        terms: HealthTerms,
        events: EventRecorder,
    ) -> None:
        self._host = host
        self._runtime = host.runtime
        self._clusters = clusters
        self._known = known
        self._terms = terms
        self._events = events

    async def watch(self, member: Member, transport: MemberTransport) -> None:
        """Look after a member for ever, and report what is found."""

        async def tell(health: Health, facts: Facts) -> None:
            await self._try_to_report(member.name, health, facts)

        await Lookout(member, transport, self._terms, self._health_of(member.name), tell).run()

    async def listen(self, member: PullMember) -> None:
        """Listen for ever to the agent of a member that fetches its work, and report what it tells, or its silence."""
        watch = _Listening(self._health_of(member.name), asyncio.Event())
        member.pulse.subscribe(watch.news.set)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_judging(member, watch))
            tasks.create_task(self._keep_relaying(member, watch))

    async def _keep_judging(self, member: PullMember, watch: _Listening) -> None:
        while True:
            if (heard := member.pulse.probe()) is not None:
                watch.health = judge(watch.health, heard, self._runtime.monotonic(), self._terms)
                watch.news.set()
            await self._runtime.sleep(jittered(self._terms.period_seconds, self._terms, self._runtime))

    async def _keep_relaying(self, member: PullMember, watch: _Listening) -> None:
        while True:
            await watch.news.wait()
            watch.news.clear()
            told: Obj = member.pulse.told.get("cluster") or {}
            health = watch.health
            if health.state is State.READY:
                if not told:
                    # It is there, and has yet to say how its cluster is.
                    continue
                health = health_from_status(told.get("conditions") or [])
            await self._try_to_report(member.name, health, told)

    def _health_of(self, name: str) -> Health:
        """Return the judgement that an earlier control plane wrote."""
        known = self._clusters.get(Key("", name)) or {}
        return health_from_status(dig(known, "status", "conditions", default=[]))

    async def _try_to_report(self, name: str, health: Health, found: Facts | Obj) -> None:
        try:
            await self.report(name, self._unless_twin(name, health), found)
        except (ApiError, Unreachable) as error:
            # The host may be away for a moment; the judgement stands and is written with the next probe.
            log.warning("Could not write a cluster's status", member=name, error=str(error))

    async def report(self, name: str, health: Health, found: Facts | Obj) -> None:
        """Write what is new about a cluster, looked at or told, and say so when the judgement has changed."""
        obj = self._clusters.get(Key("", name))
        if obj is None:
            return
        old, now = obj.get("status") or {}, timestamp(self._runtime.now())
        if isinstance(found, Facts):
            status = cluster_status(old, health, found, now)
        else:
            status = relayed_status(old, found, health, now)
        if status == old:
            return
        try:
            written = await self._host.patch(
                CLUSTERS, name, {"status": merge_patch_between(old, status)}, subresource="status"
            )
        except NotFound:
            return
        self._clusters.remember(written)
        await self._tell_transition(obj, health)

    def _unless_twin(self, name: str, health: Health) -> Health:
        """Refuse a cluster that is a member already under another name: it would be asked for everything twice."""
        if health.state is not State.READY:
            return health
        uid = next((cluster.uid for cluster in self._known() if cluster.name == name), "")
        twins = [cluster.name for cluster in self._known() if uid and cluster.uid == uid]
        if not twins or min(twins) == name:
            return health
        why = f"it is the same cluster as {min(twins)}; remove one of the two"
        return Health(State.NOT_READY, why, symptom=Symptom.DUPLICATE)

    async def _tell_transition(self, before: Obj, health: Health) -> None:
        """Say in the log and in an Event when the judgement of a cluster has changed."""
        was = health_from_status(dig(before, "status", "conditions", default=[])).state
        if was is health.state:
            return
        name = before["metadata"]["name"]
        log.info("Judged a cluster anew", member=name, before=str(was), now=str(health.state), why=health.why)
        warning = health.state is not State.READY
        await self._events.record(
            before, f"Cluster{health.state}", f"{name} is {health.state}: {health.why}", warning=warning
        )
