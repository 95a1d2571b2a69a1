"""What the leader does for services of many clusters, put together: names, health, other DNS servers, entrances."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from hanse.api.health_reports import HOST_CHECKER
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.propagation.viewing import View
from hanse.services.controller import ServiceController
from hanse.services.health.assigner import Assigner
from hanse.services.health.checker import Checker
from hanse.services.health.prober import Prober
from hanse.services.health.view import HealthView
from hanse.services.hostnames import Resolve
from hanse.services.ingress.following import EntranceFollowing
from hanse.services.ingress.uid_keeping import IngressUids
from hanse.services.mcs.controller import MultiClusterServices
from hanse.services.providers.publisher import PublisherTerms, ZonePublisher


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of the world outside of Kubernetes services have to do with.

    Without a `prober` nobody looks after their addresses. `resolve` finds the addresses of load balancers that have
    names, without it this machine does. `leads` says whether this process may still write to other DNS servers.
    """

    prober: Prober | None = None
    resolve: Resolve | None = None
    leads: Callable[[], bool] = lambda: True


class ServiceParts:
    """All that makes one service of those in many clusters."""

    def __init__(self, host: Client, registry: Registry, view: View, surroundings: Surroundings) -> None:
        self._host = host
        self._prober = surroundings.prober
        self._health = HealthView(host, offline=registry.is_offline) if self._prober is not None else None
        self._services = ServiceController(host, registry, view, health=self._health, resolve=surroundings.resolve)
        self._zones = ZonePublisher(host, PublisherTerms(leads=surroundings.leads))
        self._ingress_uids = IngressUids(host, registry)
        self._entrances = EntranceFollowing(host, registry, view)
        MultiClusterServices(host, registry).attach()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._services.run())
            tasks.create_task(self._zones.run())
            tasks.create_task(self._ingress_uids.run())
            tasks.create_task(self._entrances.run())
            if self._health is not None and self._prober is not None:
                tasks.create_task(self._look_after_health(self._health, self._prober))

    async def _look_after_health(self, view: HealthView, prober: Prober) -> None:
        """Have the addresses of services probed, from here among others, once there are any."""
        await self._services.needed.wait()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(view.run())
            tasks.create_task(Assigner(self._host, view).run())
            tasks.create_task(Checker(self._host, HOST_CHECKER, prober).run())
