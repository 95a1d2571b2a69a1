"""A chart as its files say it: its name and version, and everything it is made of, unpacked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hanse.rollouts.sources.documents import read_mapping
from hanse.rollouts.sources.problem import CHART_ERROR, SourceProblem
from hanse.rollouts.sources.settings import Limits
from hanse.rollouts.sources.trees import Tree, below_top, unpack, unpack_charts


@dataclass(frozen=True, slots=True)
class OpenChart:
    """A chart's files, and what its Chart.yaml says of it."""

    name: str
    version: str
    tree: Tree


def open_archive(archive: bytes, limits: Limits, where: str) -> OpenChart:
    """Unpack a packed chart; raises SourceProblem."""
    return open_tree(below_top(unpack(archive, limits, where)), limits, where)


def open_tree(tree: Mapping[str, bytes], limits: Limits, where: str) -> OpenChart:
    """Read the files of a chart, with the charts that it brings along unpacked; raises SourceProblem."""
    if "Chart.yaml" not in tree:
        raise SourceProblem(CHART_ERROR, f"{where} is no chart: it has no Chart.yaml")
    facts = read_mapping(tree["Chart.yaml"].decode(errors="replace"), f"Chart.yaml of {where}")
    return OpenChart(str(facts.get("name") or ""), str(facts.get("version") or ""), unpack_charts(tree, limits, where))
