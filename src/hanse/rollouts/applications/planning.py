"""What an application's controller does next: decided from the application, its releases and the rollout blocks.

Pure. A plan is carried out in this order: the release is created, the application is written, its status, and then
releases that are no longer kept go. Whoever dies in between finds the same plan again, less what was done: a release
has the same name each time, and its generation is remembered in the application only once it exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hanse.api.shipper.kinds import (
    CHART_NAME_ANNOTATION,
    CHART_RAW_ANNOTATION,
    CHART_RESOLVED_ANNOTATION,
    HIGHEST_GENERATION_ANNOTATION,
    OVERRIDE_ANNOTATION,
)
from hanse.kube.conditions import condition, find_condition, merge_conditions
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting, key_of, name_of
from hanse.kube.runtime import parse_timestamp
from hanse.rollouts.applications.hashing import same_environment
from hanse.rollouts.applications.releases import (
    belongs,
    current,
    history_problem,
    incumbent_of,
    next_release,
    superfluous,
    turns_back,
    was_completed,
)
from hanse.rollouts.blocks.standing import BLOCKED_REASON, overrides_of, standing
from hanse.rollouts.environment import Environment, EnvironmentProblem, parse_environment
from hanse.rollouts.shelf import generation_of, whole_number

ABORTING, BLOCKED, RELEASE_SYNCED = "Aborting", "Blocked", "ReleaseSynced"
ROLLING_OUT, VALID_HISTORY = "RollingOut", "ValidHistory"
CREATE_FAILED, LEAVING = "CreateReleaseFailed", "ReleaseLeaving"
_LIMIT, _LEAST, _MOST = 20, 1, 1000
# How long a name is waited for: what a cluster that is away keeps of a release may stay for days.
_NAME_SECONDS = 30.0
_CHART_ANNOTATIONS = (CHART_NAME_ANNOTATION, CHART_RESOLVED_ANNOTATION, CHART_RAW_ANNOTATION)


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a chart's version was found to be, or in one sentence why it was not."""

    version: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written: the application as it shall be, its status, a release to create and those to delete."""

    application: Obj
    status: Obj
    release: Obj | None = None
    doomed: tuple[Obj, ...] = ()
    # The release to whose state the application returns, where the one after it was deleted.
    returns_to: str = ""
    # After how many seconds time alone changes the plan.
    look_again: float | None = None


@dataclass(frozen=True, slots=True)
class _Draft:
    """A plan in the making: the application so far, and what is to be said of it."""

    application: Obj
    now: str
    releases: tuple[Obj, ...]
    remains: Mapping[str, str]
    said: tuple[Obj, ...] = field(default=())

    def saying(self, *conditions: Obj) -> _Draft:
        return replace(self, said=(*self.said, *conditions))

    def plan(self, shown: Sequence[Obj] | None = None) -> Plan:
        before = dig(self.application, "status", "conditions")
        status = {"conditions": sorted(merge_conditions(before, list(self.said), self.now), key=_type)}
        history = [name_of(release) for release in (current(self.releases) if shown is None else shown)]
        return Plan(self.application, {**status, "history": history} if history else status)


def unresolved(application: Obj) -> Environment | None:
    """Return the environment whose chart version is yet to be found, None where there is nothing to find."""
    chart = dig(application, "spec", "template", "chart")
    said = annotations_of(application)
    known = said.get(CHART_NAME_ANNOTATION), said.get(CHART_RESOLVED_ANNOTATION)
    if not chart or known == (chart.get("name"), chart.get("version")):
        return None
    try:
        return parse_environment(application["spec"]["template"])
    except EnvironmentProblem:
        return None


def plan(
    application: Obj,
    releases: Sequence[Obj],
    blocks: Iterable[Key],
    resolution: Resolution | None,
    now: str,
    remains: Mapping[str, str] | None = None,
) -> Plan:
    """Decide what to do about an application.

    `releases` are the oldest first, `blocks` the keys of all rollout blocks, and `resolution` is what came of asking
    for what `unresolved` returned. `remains` are names of releases that are gone and of which something is left in
    clusters, each with the time since when that is to go ("" where nobody has said so yet).
    """
    own = tuple(each for each in releases if belongs(each, application))
    draft = _Draft(_tidied(application), now, own, remains or {})
    if blocked := standing(application, blocks):
        # What it asks for is left as it is: admission lets nobody change that now.
        untouched = replace(draft, application={**draft.application, "spec": application["spec"]})
        said = condition(BLOCKED, True, BLOCKED_REASON, blocked.message)
        return _wrapped_up(untouched.saying(said), current(draft.releases))
    draft = draft.saying(condition(BLOCKED, False, ""))
    try:
        parse_environment(application["spec"]["template"])
    except EnvironmentProblem as problem:
        return draft.saying(condition(ROLLING_OUT, False, "InvalidTemplate", str(problem))).plan()
    if resolution is not None and resolution.problem:
        failed = condition(ROLLING_OUT, False, "ChartVersionResolutionFailed", resolution.problem)
        return draft.saying(failed).plan()
    return _history_kept(replace(draft, application=_resolved(draft.application, resolution)))


def not_created(planned: Plan, message: str, now: str) -> Obj:
    """Return the status to write where the release of a plan could not be created."""
    failed = [condition(kind, False, CREATE_FAILED, message) for kind in (RELEASE_SYNCED, ROLLING_OUT)]
    before = [entry for entry in planned.status["conditions"] if entry["type"] not in (RELEASE_SYNCED, ROLLING_OUT)]
    kept = dig(planned.application, "status", "conditions", default=[])
    stood = [entry for entry in kept if entry["type"] in (RELEASE_SYNCED, ROLLING_OUT)]
    history = [name for name in planned.status.get("history", ()) if name != _release_name(planned)]
    conditions = sorted(merge_conditions(before + stood, failed, now), key=_type)
    return {"conditions": conditions, **({"history": history} if history else {})}


def _history_kept(draft: _Draft) -> Plan:
    active = current(draft.releases)
    if problem := history_problem(active):
        return draft.saying(condition(VALID_HISTORY, False, "BrokenReleaseGeneration", problem)).plan()
    highest = _highest(draft.application)
    if highest is None:
        broken = "BrokenApplicationObservedGeneration"
        return draft.saying(condition(VALID_HISTORY, False, broken, _unreadable(draft.application))).plan()
    if not active:
        return _released(draft, highest)
    contender = active[-1]
    generation = generation_of(contender) or 0
    if generation < highest:
        return _returned(draft, active, generation)
    if same_environment(draft.application["spec"]["template"], contender["spec"]["environment"]):
        return _settled(draft, active, generation)
    return _released(draft, generation)


def _released(draft: _Draft, highest: int) -> Plan:
    """Have a release made of the template, once its name is free; one that is not for long makes way for the next."""
    waits = _waits(draft)
    taken = {name_of(each) for each in current(draft.releases)} | {name for name in waits if waits[name] <= 0}
    made = next_release(draft.application, draft.releases, highest, taken)
    name = name_of(made)
    if name in waits:
        what = f'what clusters have of Release "{name}"' if name in draft.remains else f'Release "{name}"'
        synced = condition(RELEASE_SYNCED, False, LEAVING, f"{what} of the same template has yet to go")
        waiting = _wrapped_up(draft, current(draft.releases), synced)
        return replace(waiting, look_again=min(waits[name], _NAME_SECONDS))
    replaced = current(draft.releases)[-1:]
    settled = _settled(draft, [*current(draft.releases), made], generation_of(made) or 0)
    # One that is still on its way back shall not be the one that everybody returns to.
    going_back = tuple(each for each in replaced if turns_back(each) and each not in settled.doomed)
    return replace(settled, release=made, doomed=settled.doomed + going_back)


def _waits(draft: _Draft) -> dict[str, float]:
    """Return the names that are taken, and for how many seconds more each is worth waiting for."""
    synced = find_condition(dig(draft.application, "status", "conditions"), RELEASE_SYNCED) or {}
    asked = synced.get("lastTransitionTime") if synced.get("reason") == LEAVING else None
    going = {name_of(each): each["metadata"]["deletionTimestamp"] for each in draft.releases if is_deleting(each)}
    since = {name: told or asked or draft.now for name, told in {**going, **draft.remains}.items()}
    now = parse_timestamp(draft.now)
    return {name: parse_timestamp(told) + _NAME_SECONDS - now for name, told in since.items()}


def _returned(draft: _Draft, active: Sequence[Obj], generation: int) -> Plan:
    """Go back to the latest release that is left, after a newer one was deleted."""
    contender = active[-1]
    environment = contender["spec"]["environment"]
    application = {**draft.application, "spec": {**draft.application["spec"], "template": environment}}
    chart = environment.get("chart")
    if chart:
        known = {CHART_NAME_ANNOTATION: chart.get("name"), CHART_RESOLVED_ANNOTATION: chart.get("version")}
        application = _annotated(application, known)
    else:
        application = _annotated(application, dict.fromkeys(_CHART_ANNOTATIONS))
    name = name_of(contender)
    said = (
        condition(ABORTING, True, "", f'abort in progress, returning state to release "{name}"'),
        condition(ROLLING_OUT, True, ""),
    )
    planned = replace(draft, application=_remembering(application, generation)).saying(*said).plan(active)
    return replace(planned, doomed=_doomed(application, active), returns_to=name)


def _settled(draft: _Draft, active: Sequence[Obj], generation: int) -> Plan:
    """Remember what there is, and let go of what is no longer kept."""
    remembered = replace(draft, application=_remembering(draft.application, generation))
    return replace(_wrapped_up(remembered, active), doomed=_doomed(draft.application, active))


def _wrapped_up(draft: _Draft, active: Sequence[Obj], synced: Obj | None = None) -> Plan:
    said = (
        condition(ABORTING, False, ""),
        condition(VALID_HISTORY, True, ""),
        synced or condition(RELEASE_SYNCED, True, ""),
        _rolling_out(draft.application, active),
    )
    return draft.saying(*said).plan(active)


def _rolling_out(application: Obj, active: Sequence[Obj]) -> Obj:
    if not active:
        return condition(ROLLING_OUT, None, "", f'no contender release found for application "{name_of(application)}"')
    contender, incumbent = active[-1], incumbent_of(active)
    name = name_of(contender)
    if was_completed(contender):
        return condition(ROLLING_OUT, False, "", f'Release "{name}" is active')
    if incumbent is not None:
        return condition(ROLLING_OUT, True, "", f'Transitioning from "{name_of(incumbent)}" to "{name}"')
    return condition(ROLLING_OUT, True, "", f'Rolling out initial release "{name}"')


def _tidied(application: Obj) -> Obj:
    """Write what the application says in the form that it is kept in."""
    tidied = application
    if OVERRIDE_ANNOTATION in annotations_of(application):
        tidied = _annotated(application, {OVERRIDE_ANNOTATION: ",".join(overrides_of(application)) or None})
    return {**tidied, "spec": {**tidied["spec"], "revisionHistoryLimit": _limit(application)}}


def _limit(application: Obj) -> int:
    said = application["spec"].get("revisionHistoryLimit")
    return _LIMIT if said is None else min(max(int(said), _LEAST), _MOST)


def _doomed(application: Obj, active: Sequence[Obj]) -> tuple[Obj, ...]:
    return tuple(superfluous(active, _limit(application)))


def _resolved(application: Obj, resolution: Resolution | None) -> Obj:
    template = application["spec"]["template"]
    chart = template.get("chart")
    if not chart:
        return _annotated(application, dict.fromkeys(_CHART_ANNOTATIONS))
    if resolution is None:
        return application
    version = resolution.version or chart["version"]
    known = {
        CHART_NAME_ANNOTATION: chart["name"],
        CHART_RESOLVED_ANNOTATION: version,
        CHART_RAW_ANNOTATION: chart["version"],
    }
    resolved = {**template, "chart": {**chart, "version": version}}
    return _annotated({**application, "spec": {**application["spec"], "template": resolved}}, known)


def _highest(application: Obj) -> int | None:
    """Return the highest generation that the application remembers, -1 before the first, None where it is no number."""
    text = annotations_of(application).get(HIGHEST_GENERATION_ANNOTATION)
    if text is None:
        return -1
    return whole_number(text)


def _unreadable(application: Obj) -> str:
    said = annotations_of(application).get(HIGHEST_GENERATION_ANNOTATION)
    return (
        f'Application "{key_of(application)}": the annotation {HIGHEST_GENERATION_ANNOTATION} is "{said}", '
        "which is no number; take it away"
    )


def _remembering(application: Obj, generation: int) -> Obj:
    return _annotated(application, {HIGHEST_GENERATION_ANNOTATION: str(generation)})


def _annotated(application: Obj, annotations: dict[str, str | None]) -> Obj:
    """Return the application with these annotations; those that are None are taken away."""
    kept = {name: said for name, said in annotations_of(application).items() if name not in annotations}
    kept |= {name: said for name, said in annotations.items() if said is not None}
    metadata = {name: said for name, said in application["metadata"].items() if name != "annotations"}
    return {**application, "metadata": {**metadata, **({"annotations": kept} if kept else {})}}


def _release_name(planned: Plan) -> str:
    return "" if planned.release is None else name_of(planned.release)


def _type(entry: Obj) -> str:
    return str(entry["type"])
