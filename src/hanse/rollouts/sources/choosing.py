"""Which of the versions that a source has an application means. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.rollouts.environment import Chart
from hanse.rollouts.sources.addresses import described
from hanse.rollouts.sources.problem import BROKEN_CHART_SPEC, CHART_FETCH_FAILURE, SourceProblem
from hanse.rollouts.sources.versions import RangeProblem, VersionRange, highest, parse_range


def choose(chart: Chart, versions: Sequence[str]) -> str:
    """Return the highest version that the chart's range admits; raises SourceProblem where there is none."""
    wanted = wanted_range(chart)
    if not versions:
        raise unresolved(chart, "no chart name found")
    chosen = highest(versions, wanted)
    if chosen is None:
        raise unresolved(chart, "no chart version found")
    return chosen


def wanted_range(chart: Chart) -> VersionRange:
    """Read the range of an application's chart; raises SourceProblem."""
    try:
        return parse_range(chart.version)
    except RangeProblem as error:
        raise SourceProblem(BROKEN_CHART_SPEC, f"broken shipper chart spec {_bracket(chart)}: {error}") from error


def unresolved(chart: Chart, why: str) -> SourceProblem:
    """Say that no version was found; a repository may get one any time."""
    return SourceProblem(
        CHART_FETCH_FAILURE, f"failed to resolve chart version {_bracket(chart)}: {why}", transient=True
    )


def _bracket(chart: Chart) -> str:
    return described(chart).removeprefix("chart ")
