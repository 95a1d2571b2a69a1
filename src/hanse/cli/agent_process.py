"""The agent put together: one member, one host, and the Lease that says which process speaks for the member."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.api.health_reports import checker_lease, cluster_checker
from hanse.api.works import agent_namespace
from hanse.clusters.health import HealthTerms
from hanse.clusters.member import Member
from hanse.clusters.member_transport import MemberTransport
from hanse.clusters.pulse import AGENT_TERMS, agent_lease
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, Forbidden
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.leases import Fenced, Leadership
from hanse.kube.log import Log
from hanse.kube.resources import LEASES
from hanse.kube.transport import Transport, Unreachable
from hanse.propagation.agent import Agent
from hanse.services.health.checker import Checker
from hanse.services.health.prober import Prober

log = Log("hanse")

_AGAIN_SECONDS = 5.0
_FORBIDDEN_SECONDS = 60.0


async def serve(
    host: Client,
    name: str,
    member_at: Endpoint,
    *,
    connect: Callable[[Endpoint], Transport],
    identity: str,
    health: HealthTerms | None = None,
    prober: Prober | None = None,
) -> None:
    """Wait for the member's Lease and do its work until the Lease is lost.

    With a `prober` the addresses of the federation's services are probed from here, as far as the host asks for it.
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
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(Agent(fenced, member, transport, session, health).run())
                if prober is not None:
                    tasks.create_task(probe_for_federation(fenced, name, prober))
        finally:
            await member.client.close()

    log.info("Waiting to do the work of a cluster", member=name, host=host.address, session=session)
    await leadership.lead(work)
    log.warning("Lost the work of a cluster", member=name, host=host.address, session=session)


async def probe_for_federation(host: Client, name: str, prober: Prober) -> None:
    """Probe for the federation from here until cancelled.

    An account from before there were checkers may not tell what it finds; it waits for the right to.
    """
    checker, namespace = cluster_checker(name), agent_namespace(name)
    lease = checker_lease(checker, namespace)
    while True:
        try:
            await host.find(LEASES, lease.name, lease.namespace)
        except Forbidden:
            log.warning("May not tell the health of services; `hanse join --pull` gives the right", member=name)
            await host.runtime.sleep(_FORBIDDEN_SECONDS)
        except (ApiError, Unreachable):
            await host.runtime.sleep(_AGAIN_SECONDS)
        else:
            break
    await Checker(host, checker, prober, namespace=namespace).run()
