"""Watching over members: probe, judge, look at what they have, and write what is new into their Cluster objects.

Nothing is written while nothing changes, and each member is watched by a task of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hanse.api.clusters import CLUSTERS, Cluster
from hanse.clusters.health import Health, HealthTerms, State, Symptom, judge
from hanse.clusters.member import Member
from hanse.clusters.member_transport import MemberTransport
from hanse.clusters.probing import look_at_identity, look_at_nodes, look_at_pods, look_at_version, probe_member
from hanse.clusters.status import Facts, cluster_status, health_from_status
from hanse.clusters.topology import Topology
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, Forbidden, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj, dig
from hanse.kube.patches.merge_patch import merge_patch_between
from hanse.kube.runtime import timestamp
from hanse.kube.transport import Unreachable

log = Log("hanse")

_FACTS_SECONDS = 30.0
# Adding up what pods ask for costs a list of all of them, which is worth it now and then.
_DEMAND_SECONDS = 60.0
_DEMAND_TIMEOUT_SECONDS = 20.0
_SHORTEST_PAUSE_SECONDS = 0.1


@dataclass(slots=True)
class _Watch:
    """What is known of a member between two looks at it."""

    health: Health
    answering: bool = False
    looked: bool = False


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
        """Probe a member for ever, look at what it has now and then, and report what is found.

        Looking may take long where there is much to see, so it never keeps a probe waiting.
        """
        known = self._clusters.get(Key("", member.name)) or {}
        watch = _Watch(health_from_status(dig(known, "status", "conditions", default=[])))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_probing(member, transport, watch))
            tasks.create_task(self._keep_looking(member, watch))

    async def _keep_probing(self, member: Member, transport: MemberTransport, watch: _Watch) -> None:
        terms = self._terms
        while True:
            started = self._runtime.monotonic()
            found = await probe_member(transport, self._runtime, terms.timeout_seconds)
            now = self._runtime.monotonic()
            watch.health = judge(watch.health, replace(found, seconds=now - started), now, terms)
            facts = Facts()
            if found.healthy and not watch.looked:
                # What is ready for the first time is told with where it is: placement asks for both.
                watch.looked = True
                facts = await self._look(member, with_pods=False)
            watch.answering = found.healthy
            await self._try_to_report(member.name, watch.health, facts)
            # From start to start: probes that hang follow each other closely, or three of them would take too long.
            period = self._jittered(terms.period_seconds)
            await self._runtime.sleep(max(_SHORTEST_PAUSE_SECONDS, started + period - self._runtime.monotonic()))

    async def _keep_looking(self, member: Member, watch: _Watch) -> None:
        pause, demand_due = self._terms.period_seconds, 0.0
        while True:
            await self._runtime.sleep(self._jittered(pause))
            if not watch.answering:
                continue
            now = self._runtime.monotonic()
            facts = await self._look(member, with_pods=now >= demand_due)
            settled = facts.denied or (facts.topology is not None and facts.topology.nodes > 0)
            pause = _FACTS_SECONDS if settled else self._terms.period_seconds
            demand_due = now + _DEMAND_SECONDS if facts.demand is not None else demand_due
            await self._try_to_report(member.name, watch.health, facts)

    def _jittered(self, seconds: float) -> float:
        """Spread what would otherwise happen to all members at once."""
        return seconds * self._runtime.uniform(1 - self._terms.jitter, 1 + self._terms.jitter)

    async def _try_to_report(self, name: str, health: Health, facts: Facts) -> None:
        try:
            await self.report(name, self._unless_twin(name, health), facts)
        except (ApiError, Unreachable) as error:
            # The host may be away for a moment; the judgement stands and is written with the next probe.
            log.warning("Could not write a cluster's status", member=name, error=str(error))

    async def report(self, name: str, health: Health, facts: Facts) -> None:
        """Write what is new about a cluster, and tell of it when the judgement has changed."""
        obj = self._clusters.get(Key("", name))
        if obj is None:
            return
        old = obj.get("status") or {}
        status = cluster_status(old, health, facts, timestamp(self._runtime.now()))
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

    async def _look(self, member: Member, *, with_pods: bool) -> Facts:
        timeout = self._terms.timeout_seconds
        nodes = await look_at_nodes(member.client, timeout)
        topology = nodes if isinstance(nodes, Topology) else None
        demand = None
        if with_pods and topology is not None and topology.nodes:
            demand = await look_at_pods(member.client, _DEMAND_TIMEOUT_SECONDS)
        return Facts(
            topology=topology,
            demand=demand,
            version=await look_at_version(member.client, timeout),
            uid=await look_at_identity(member.client, timeout),
            denied=str(nodes) if isinstance(nodes, Forbidden) else "" if topology is not None else None,
        )

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
