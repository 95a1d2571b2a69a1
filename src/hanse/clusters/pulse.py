"""What is heard of a cluster that fetches its work: the Lease that its agent renews, and what the agent tells.

Nobody's clock is compared with another's: a Lease that changes while it is watched is a sign of life, and silence
counts from the last one. While the host itself cannot be heard, nothing is known, and nobody is called silent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.api.works import AGENTS, agent_namespace
from hanse.clusters.health import Probe, Symptom
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.leases import LeaseTerms
from hanse.kube.manifest import Key, Obj, dig
from hanse.kube.resources import LEASES

# An agent renews its Lease so often that three silent probes of the registry still fit into its terms.
AGENT_TERMS = LeaseTerms(duration_seconds=8.0, renew_deadline_seconds=5.0, retry_seconds=1.5)
_SILENCE_SECONDS = 3.0


def agent_lease(cluster: str) -> Key:
    """Return the Lease that a cluster's agent holds."""
    return Key(agent_namespace(cluster), cluster)


class Pulse:
    """Listens to one cluster's agent."""

    def __init__(self, host: Client, cluster: str) -> None:
        self._cluster = cluster
        self._runtime = host.runtime
        named = f"metadata.name={cluster}"
        self._leases = Cache(host, LEASES, namespace=agent_namespace(cluster), fields=named)
        self._agents = Cache(host, AGENTS, namespace=agent_namespace(cluster), fields=named)
        self._listeners: list[Callable[[], None]] = []
        self._session = ""
        self._heard_at = 0.0
        self._leases.subscribe(self._lease_changed)
        self._leases.on_connected(self._host_heard)
        self._agents.subscribe(self._agent_changed)

    async def run(self) -> None:
        """Listen until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._leases.run())
            tasks.create_task(self._agents.run())

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the agent has something new to say, or another one has taken its place."""
        self._listeners.append(listener)

    @property
    def agent(self) -> Obj | None:
        """The Agent object as last seen, None where there is none or nothing was seen yet."""
        return self._agents.get(agent_lease(self._cluster)) if self._agents.synced else None

    @property
    def known(self) -> bool:
        """Whether it is known what the host has of the agent."""
        return self._agents.synced

    @property
    def told(self) -> Obj:
        """What the agent last told, "session" and all; empty unless that agent was heard since we listen."""
        status: Obj = dig(self.agent, "status", default={})
        return status if self._session and status.get("session") == self._session else {}

    def probe(self) -> Probe | None:
        """Tell whether the agent was heard of late; None where that cannot be known."""
        if not self._leases.connected or not self._agents.connected:
            return None
        silent_for = self._runtime.monotonic() - self._heard_at
        if self._session and silent_for < _SILENCE_SECONDS:
            return Probe(answered=True, healthy=True, symptom=Symptom.READY)
        why = f"its agent has not been heard of for {round(silent_for)} s; see whether `hanse agent` runs there"
        return Probe(answered=False, healthy=False, why=why, symptom=Symptom.NOT_RESPONDING, seconds=silent_for)

    def _lease_changed(self, change: Change) -> None:
        if change.old is None:
            # When it was last renewed is not known; its next renewal will tell.
            return
        self._heard_at = self._runtime.monotonic()
        session = dig(change.new, "spec", "holderIdentity", default="")
        if session != self._session:
            self._session = session
            self._tell()

    def _host_heard(self, heard: bool) -> None:
        if heard:
            self._heard_at = self._runtime.monotonic()

    def _agent_changed(self, _change: Change) -> None:
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
