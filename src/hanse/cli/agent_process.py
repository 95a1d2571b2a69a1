"""The agent put together: one member, one host, and the Lease that says which process speaks for the member."""

from __future__ import annotations

from collections.abc import Callable

from hanse.clusters.health import HealthTerms
from hanse.clusters.member import Member
from hanse.clusters.member_transport import MemberTransport
from hanse.clusters.pulse import AGENT_TERMS, agent_lease
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.leases import Fenced, Leadership
from hanse.kube.log import Log
from hanse.kube.transport import Transport
from hanse.propagation.agent import Agent

log = Log("hanse")


async def serve(
    host: Client,
    name: str,
    member_at: Endpoint,
    *,
    connect: Callable[[Endpoint], Transport],
    identity: str,
    health: HealthTerms | None = None,
) -> None:
    """Wait for the member's Lease and do its work until the Lease is lost.

    No write leaves this process, to the host or into the member, once another agent may have taken over.
    """
    # Whoever comes back after a loss is somebody new: what was told before counts no longer.
    session = f"{identity}_{host.runtime.name_suffix()}"
    leadership = Leadership(host, agent_lease(name), session, AGENT_TERMS)

    async def work() -> None:
        log.info("Doing the work of a cluster", member=name, host=host.address, session=session)
        transport = MemberTransport(lambda endpoint: Fenced(connect(endpoint), leadership), [member_at])
        member = Member(name, Client(transport, host.runtime))
        fenced = Client(Fenced(host.transport, leadership), host.runtime)
        try:
            await Agent(fenced, member, transport, session, health).run()
        finally:
            await member.client.close()

    log.info("Waiting to do the work of a cluster", member=name, host=host.address, session=session)
    await leadership.lead(work)
    log.warning("Lost the work of a cluster", member=name, host=host.address, session=session)
