"""Every source of manifests behind one interface: finds which one an environment means, and has it rendered."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from hanse.kube.client import Client
from hanse.kube.manifest import Obj
from hanse.rollouts.environment import Chart, Environment, Files
from hanse.rollouts.sources.addresses import Address, chart_address, location_address, parse_mirrors
from hanse.rollouts.sources.cache import ChartCache
from hanse.rollouts.sources.charts import OpenChart
from hanse.rollouts.sources.configmaps import ConfigMapSource
from hanse.rollouts.sources.documents import read_documents
from hanse.rollouts.sources.downloads import Downloads
from hanse.rollouts.sources.folders import FolderSource, no_folder
from hanse.rollouts.sources.helm import Helm
from hanse.rollouts.sources.kustomize import Kustomize
from hanse.rollouts.sources.ordering import install_order
from hanse.rollouts.sources.problem import BROKEN_CHART_SPEC, CHART_ERROR, CHART_REPO_INTERNAL, SourceProblem
from hanse.rollouts.sources.registry import Registry
from hanse.rollouts.sources.remote import RemoteCharts
from hanse.rollouts.sources.repository import Repository
from hanse.rollouts.sources.settings import SourceSettings
from hanse.rollouts.sources.trees import Tree, read_folder, safe_path, subtree

_SUFFIXES = (".yaml", ".yml", ".json")
# Repositories whose index is kept in memory; of others the disk has it.
_MOST_REPOSITORIES = 200


class ChartSource(Protocol):
    """Where charts are: finds versions, and opens them."""

    async def resolve(self, chart: Chart) -> str:
        """Return the version that is meant; raises SourceProblem."""

    async def fetch(self, chart: Chart, version: str) -> None:
        """Have a version that was resolved at hand, however long that takes; raises SourceProblem."""

    async def open(self, chart: Chart, version: str) -> OpenChart:
        """Return a version that was fetched; raises SourceProblem."""


class ManifestSources:
    """The sources of manifests of one control plane. An async context manager: leaving it closes what it opened."""

    def __init__(self, host: Client, settings: SourceSettings) -> None:
        self._host = host
        self._settings = settings
        self._limits = settings.limits
        named = os.environ.get("HANSE_CHART_MIRRORS", "")
        self._mirrors = parse_mirrors(named) if settings.mirrors is None else settings.mirrors
        self._runtime = host.runtime
        self._downloads = Downloads(settings.limits)
        self._remote: dict[str, RemoteCharts] = {}
        self._cache: ChartCache | None = None
        self._temporary = ""
        self._opening = asyncio.Lock()
        self._rendering = asyncio.Semaphore(settings.limits.parallel_renders)
        self._helm = Helm(settings, self._runtime)
        self._kustomize = Kustomize(settings, self._runtime)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection; what was kept only for this process goes."""
        await self._downloads.close()
        if self._temporary:
            folder, self._temporary, self._cache = self._temporary, "", None
            await self._runtime.in_thread(lambda: shutil.rmtree(folder, ignore_errors=True))

    async def resolve(self, environment: Environment, namespace: str) -> str:
        """Return the chart version that is meant, "" for what has no versions; raises SourceProblem."""
        chart = environment.chart
        if chart is None:
            return ""
        try:
            return await (await self._chart_source(chart, namespace)).resolve(chart)
        except SourceProblem as problem:
            raise problem.of(chart.repo_url) from problem

    async def render(self, environment: Environment, *, release: str, namespace: str) -> list[Obj]:
        """Return the manifests in the order in which Helm installs them; raises SourceProblem."""
        chart, files = environment.chart, environment.files
        address = chart.repo_url if chart is not None else files.location if files is not None else ""
        try:
            if chart is not None:
                return await self._render_chart(chart, environment.values, release, namespace)
            if files is None:
                raise SourceProblem(BROKEN_CHART_SPEC, "the environment has neither a chart nor a source")
            if environment.values:
                raise SourceProblem(BROKEN_CHART_SPEC, "values are for charts only; leave them empty beside a source")
            return await self._read_files(files, namespace)
        except SourceProblem as problem:
            raise problem.of(address) from problem

    async def _render_chart(self, chart: Chart, values: Obj, release: str, namespace: str) -> list[Obj]:
        source = await self._chart_source(chart, namespace)
        version = await source.resolve(chart)
        # Not within the bound: a repository that hangs must not keep others from rendering.
        await source.fetch(chart, version)
        async with self._rendering:
            opened = await source.open(chart, version)
            return await self._helm.render(
                opened.tree, values, chart=f"chart {chart.name}-{version}", release=release, namespace=namespace
            )

    async def _read_files(self, files: Files, namespace: str) -> list[Obj]:
        path = safe_path(files.path or ".")
        if path is None:
            raise SourceProblem(BROKEN_CHART_SPEC, f"source.{files.kind}.path: {files.path!r} leads out of its source")
        where = f"{files.location}{f'/{path}' if files.path else ''}"
        address = location_address(files.location, f"source.{files.kind}.location")
        within = "" if str(path) == "." else str(path)
        if files.kind == "manifests":
            tree = await self._tree(address, namespace)
            return await self._runtime.in_thread(lambda: _plain(subtree(tree, within), where))
        async with self._rendering:
            return await self._kustomize.build(await self._tree(address, namespace), within, where)

    async def _tree(self, address: Address, namespace: str) -> Tree:
        if address.scheme == "configmap":
            return await ConfigMapSource(self._host, namespace, address.rest, self._limits).files()
        folder = self._settings.folder
        if folder is None:
            raise no_folder(BROKEN_CHART_SPEC)
        where = f"file:///{address.rest}"
        return await self._runtime.in_thread(lambda: read_folder(folder, address.rest, self._limits, where))

    async def _chart_source(self, chart: Chart, namespace: str) -> ChartSource:
        address = chart_address(chart, self._mirrors)
        if address.scheme == "configmap":
            return ConfigMapSource(self._host, namespace, address.rest, self._limits)
        if address.scheme == "file":
            if self._settings.folder is None:
                raise no_folder(CHART_REPO_INTERNAL)
            return FolderSource(self._settings.folder, address.rest, runtime=self._runtime, limits=self._limits)
        return await self._remote_source(chart, address)

    async def _remote_source(self, chart: Chart, address: Address) -> ChartSource:
        cache = await self._opened_cache()
        if address.scheme == "oci":
            place = f"{address.rest}/{chart.name}"
            return self._remembered(
                f"oci://{place}",
                lambda: Registry(
                    place, downloads=self._downloads, cache=cache, runtime=self._runtime, limits=self._limits
                ),
            )
        return self._remembered(
            address.rest,
            lambda: Repository(
                address.rest, downloads=self._downloads, cache=cache, runtime=self._runtime, limits=self._limits
            ),
        )

    def _remembered(self, key: str, make: Callable[[], Repository | Registry]) -> RemoteCharts:
        # The last used is last; the first goes.
        found = self._remote.pop(key, None) or RemoteCharts(make(), self._runtime, self._limits)
        self._remote[key] = found
        while len(self._remote) > _MOST_REPOSITORIES:
            del self._remote[next(iter(self._remote))]
        return found

    async def _opened_cache(self) -> ChartCache:
        async with self._opening:
            if self._cache is None:
                folder = self._settings.cache_dir
                if folder is None:
                    self._temporary = await self._runtime.in_thread(lambda: tempfile.mkdtemp(prefix="hanse-charts-"))
                    folder = Path(self._temporary)
                self._cache = ChartCache(folder, self._limits.cache_bytes)
            return self._cache


def _plain(tree: Mapping[str, bytes], where: str) -> list[Obj]:
    manifests: list[Obj] = []
    for name in sorted(tree):
        if name.endswith(_SUFFIXES) and not name.rpartition("/")[2].startswith("."):
            manifests += read_documents(tree[name].decode(errors="replace"), f"{name} of {where}")
    if not manifests:
        raise SourceProblem(CHART_ERROR, f"{where} has no manifest; files that end in {', '.join(_SUFFIXES)} are read")
    return install_order(manifests)
