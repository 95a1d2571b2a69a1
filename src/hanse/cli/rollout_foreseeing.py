"""Whether an Application out of a file becomes another release than the one that runs. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hanse.api.shipper.kinds import CHART_RAW_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.rollouts.applications.hashing import same_environment
from hanse.rollouts.environment import EnvironmentProblem, parse_environment

_RENDER = "`hanse rollout render -f FILE` shows what it is made of"


@dataclass(frozen=True, slots=True)
class ForeseenRelease:
    """What would become of an application: whether a release is made of it, in a sentence, or what is wrong with it."""

    note: str = ""
    is_new: bool = False
    trouble: str = ""


def foresee_release(now: Obj | None, then: Obj) -> ForeseenRelease:
    """Say what would become of an application, by its template as it is stored and as it would be."""
    template = dig(then, "spec", "template", default={})
    try:
        parse_environment(template)
    except EnvironmentProblem as problem:
        return ForeseenRelease(trouble=str(problem))
    if now is not None and same_environment(now["spec"]["template"], template):
        return ForeseenRelease("its template is unchanged and makes no new release")
    if now is not None and (found := _found_before(now, template)):
        asked = template["chart"]["version"]
        told = f"a new release if the newest chart version in {asked!r} is another than {found} by now; {_RENDER}"
        return ForeseenRelease(told, is_new=True)
    return ForeseenRelease(f"a new release; {_RENDER}", is_new=True)


def _found_before(application: Obj, template: Obj) -> str:
    """Return the chart version that was found for a template's range, "" where the template differs in more."""
    chart: dict[str, Any] = template.get("chart") or {}
    if not chart or annotations_of(application).get(CHART_RAW_ANNOTATION) != chart.get("version"):
        return ""
    found = str(dig(application, "spec", "template", "chart", "version", default=""))
    known = {**template, "chart": {**chart, "version": found}}
    return found if same_environment(application["spec"]["template"], known) else ""
