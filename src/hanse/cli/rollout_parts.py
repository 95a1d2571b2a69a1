"""What the leader does for applications and their releases, put together."""

from __future__ import annotations

import asyncio

from hanse.clusters.access import Access
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.propagation.viewing import View
from hanse.rollouts.applications import ApplicationController
from hanse.rollouts.blocks import BlockController
from hanse.rollouts.releases import ReleaseController
from hanse.rollouts.shelf import Shelf
from hanse.rollouts.sources import Sources
from hanse.rollouts.targets import TargetController
from hanse.rollouts.weights import WeightsController


class RolloutParts:
    """All that rolls applications out."""

    def __init__(self, host: Client, registry: Registry, view: View, access: Access, sources: Sources) -> None:
        self._shelf = Shelf(host)
        self._applications = ApplicationController(host, self._shelf, sources)
        self._blocks = BlockController(host, self._shelf)
        self._releases = ReleaseController(host, self._shelf, registry, sources, access)
        self._targets = TargetController(host, self._shelf, registry, view)
        self._weights = WeightsController(host, self._shelf)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._shelf.run())
            await self._shelf.wait_synced()
            tasks.create_task(self._applications.run())
            tasks.create_task(self._blocks.run())
            tasks.create_task(self._releases.run())
            tasks.create_task(self._targets.run())
            tasks.create_task(self._weights.run())
