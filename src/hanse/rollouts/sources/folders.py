"""Charts in the folder that an operator gave to the control plane: unpacked ones, and archives beside each other."""

from __future__ import annotations

from pathlib import Path

from hanse.kube.runtime import Runtime
from hanse.rollouts.environment import Chart
from hanse.rollouts.sources.charts import OpenChart, open_archive, open_tree
from hanse.rollouts.sources.choosing import choose, unresolved
from hanse.rollouts.sources.documents import read_mapping
from hanse.rollouts.sources.problem import SourceProblem
from hanse.rollouts.sources.settings import Limits
from hanse.rollouts.sources.trees import place_within, read_file, read_folder
from hanse.rollouts.sources.versions import parse_version


class FolderSource:
    """The charts in one folder below the operator's: `NAME/`, `NAME-VERSION.tgz`, or the folder itself; read anew."""

    def __init__(self, root: Path, within: str, *, runtime: Runtime, limits: Limits) -> None:
        self._root = root
        self._within = within
        self._runtime = runtime
        self._limits = limits
        self._where = f"file:///{within}"

    async def resolve(self, chart: Chart) -> str:
        """Return the highest version that the chart's range admits; raises SourceProblem."""
        return choose(chart, list(await self._runtime.in_thread(lambda: self._versions(chart.name))))

    async def fetch(self, chart: Chart, version: str) -> None:
        """Do nothing: a folder is read when the chart is opened."""

    async def open(self, chart: Chart, version: str) -> OpenChart:
        """Return one version of a chart; raises SourceProblem."""
        return await self._runtime.in_thread(lambda: self._open(chart, version))

    def _versions(self, name: str) -> dict[str, str]:
        """Return where each version of a chart is: a folder, or an archive."""
        folder = place_within(self._root, self._within, self._where)
        found: dict[str, str] = {}
        if folder.is_dir():
            for archive in sorted(folder.glob("*.tgz")):
                version = archive.name.removeprefix(f"{name}-").removesuffix(".tgz")
                if archive.name.startswith(f"{name}-") and parse_version(version) is not None:
                    found[version] = archive.name
        for place in (name, ""):
            if (folder / place / "Chart.yaml").is_file():
                facts = self._facts(place)
                if facts[0] == name:
                    found[facts[1]] = place
        return found

    def _facts(self, place: str) -> tuple[str, str]:
        path = "/".join(filter(None, (self._within, place, "Chart.yaml")))
        where = f"file:///{path}"
        facts = read_mapping(read_file(self._root, path, self._limits, where).decode(errors="replace"), where)
        return str(facts.get("name") or ""), str(facts.get("version") or "")

    def _open(self, chart: Chart, version: str) -> OpenChart:
        place = self._versions(chart.name).get(version)
        if place is None:
            raise unresolved(chart, "no chart version found")
        path = "/".join(filter(None, (self._within, place)))
        where = f"file:///{path}"
        if place.endswith(".tgz"):
            archive = read_file(self._root, path, self._limits, where)
            return open_archive(archive, self._limits, where)
        return open_tree(read_folder(self._root, path, self._limits, where), self._limits, where)


def no_folder(reason: str) -> SourceProblem:
    """Say that `file:///` means nothing here."""
    return SourceProblem(
        reason, "file:/// is off: the control plane was started without a folder for charts and manifests"
    )
