"""Charts that are fetched: whatever keeps them, what comes back is an archive that is unpacked here."""

from __future__ import annotations

import asyncio
from typing import Protocol

from hanse.kube.runtime import Runtime
from hanse.rollouts.environment import Chart
from hanse.rollouts.sources.charts import OpenChart, open_archive
from hanse.rollouts.sources.settings import Limits


class Archives(Protocol):
    """A repository or registry: finds versions, and gives archives."""

    async def resolve(self, chart: Chart) -> str:
        """Return the version that is meant; raises SourceProblem."""

    async def archive(self, chart: Chart, version: str) -> bytes:
        """Return a packed chart; raises SourceProblem."""


class RemoteCharts:
    """Opens the charts of one repository or registry."""

    def __init__(self, archives: Archives, runtime: Runtime, limits: Limits) -> None:
        self._archives = archives
        self._runtime = runtime
        self._limits = limits
        self._fetching: dict[tuple[str, str], asyncio.Lock] = {}

    async def resolve(self, chart: Chart) -> str:
        """Return the version that is meant; raises SourceProblem."""
        return await self._archives.resolve(chart)

    async def fetch(self, chart: Chart, version: str) -> None:
        """Have a version in the cache; many who want the same one at once fetch it once. Raises SourceProblem."""
        async with self._fetching.setdefault((chart.name, version), asyncio.Lock()):
            await self._archives.archive(chart, version)

    async def open(self, chart: Chart, version: str) -> OpenChart:
        """Return a version of a chart, from the cache or from afar; raises SourceProblem."""
        archive = await self._archives.archive(chart, version)
        where = f"chart {chart.name}-{version}"
        return await self._runtime.in_thread(lambda: open_archive(archive, self._limits, where))
