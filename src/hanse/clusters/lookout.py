"""Looking after one member: probe it for ever, judge, and look at what it has now and then.

Whoever looks says what is to be done with what was found; looking may take long where there is much to see, so it
never keeps a probe waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from hanse.clusters.health import Health, HealthTerms, judge
from hanse.clusters.member import Member
from hanse.clusters.member_transport import MemberTransport
from hanse.clusters.probing import look_at_identity, look_at_nodes, look_at_pods, look_at_version, probe_member
from hanse.clusters.status import Facts
from hanse.clusters.topology import Topology
from hanse.kube.errors import Forbidden
from hanse.kube.runtime import Runtime

_FACTS_SECONDS = 30.0
# Adding up what pods ask for costs a list of all of them, which is worth it now and then.
_DEMAND_SECONDS = 60.0
_DEMAND_TIMEOUT_SECONDS = 20.0
_SHORTEST_PAUSE_SECONDS = 0.1

Tell = Callable[[Health, Facts], Awaitable[None]]


class Lookout:
    """Knows how one member is, and tells it after every look."""

    def __init__(
        self, member: Member, transport: MemberTransport, terms: HealthTerms, health: Health, tell: Tell
    ) -> None:
        """`health` is the judgement that stood before; it is where this one begins."""
        self._member = member
        self._transport = transport
        self._runtime = member.client.runtime
        self._terms = terms
        self._health = health
        self._tell = tell
        self._answering = False
        self._looked = False

    async def run(self) -> None:
        """Look until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_probing())
            tasks.create_task(self._keep_looking())

    async def _keep_probing(self) -> None:
        terms = self._terms
        while True:
            started = self._runtime.monotonic()
            found = await probe_member(self._transport, self._runtime, terms.timeout_seconds)
            now = self._runtime.monotonic()
            self._health = judge(self._health, replace(found, seconds=now - started), now, terms)
            facts = Facts()
            if found.healthy and not self._looked:
                # What is ready for the first time is told with where it is: placement asks for both.
                self._looked = True
                facts = await self._look(with_pods=False)
            self._answering = found.healthy
            await self._tell(self._health, facts)
            # From start to start: probes that hang follow each other closely, or three of them would take too long.
            period = jittered(terms.period_seconds, terms, self._runtime)
            await self._runtime.sleep(max(_SHORTEST_PAUSE_SECONDS, started + period - self._runtime.monotonic()))

    async def _keep_looking(self) -> None:
        pause, demand_due = self._terms.period_seconds, 0.0
        while True:
            await self._runtime.sleep(jittered(pause, self._terms, self._runtime))
            if not self._answering:
                continue
            now = self._runtime.monotonic()
            facts = await self._look(with_pods=now >= demand_due)
            settled = facts.denied or (facts.topology is not None and facts.topology.nodes > 0)
            pause = _FACTS_SECONDS if settled else self._terms.period_seconds
            demand_due = now + _DEMAND_SECONDS if facts.demand is not None else demand_due
            await self._tell(self._health, facts)

    async def _look(self, *, with_pods: bool) -> Facts:
        client, timeout = self._member.client, self._terms.timeout_seconds
        nodes = await look_at_nodes(client, timeout)
        topology = nodes if isinstance(nodes, Topology) else None
        demand = None
        if with_pods and topology is not None and topology.nodes:
            demand = await look_at_pods(client, _DEMAND_TIMEOUT_SECONDS)
        return Facts(
            topology=topology,
            demand=demand,
            version=await look_at_version(client, timeout),
            uid=await look_at_identity(client, timeout),
            denied=str(nodes) if isinstance(nodes, Forbidden) else "" if topology is not None else None,
        )


def jittered(seconds: float, terms: HealthTerms, runtime: Runtime) -> float:
    """Spread what would otherwise happen to all members at once."""
    return seconds * runtime.uniform(1 - terms.jitter, 1 + terms.jitter)
