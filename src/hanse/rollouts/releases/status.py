"""What a Release's status says, and which events tell of its changes: pure."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.kube.conditions import condition, find_condition, merge_conditions
from hanse.kube.manifest import Obj, dig, key_of
from hanse.rollouts.blocks.standing import BLOCKED_EVENT, BLOCKED_REASON, Blocked
from hanse.rollouts.execution import Execution
from hanse.rollouts.releases.choosing import Unscheduled
from hanse.rollouts.releases.holding import HELD, holding

BLOCKED, SCHEDULED, EXECUTED, COMPLETE = "Blocked", "Scheduled", "StrategyExecuted", "Complete"
WAITS_FOR = "waitsFor"


@dataclass(frozen=True, slots=True)
class Findings:
    """What a look at a release brought; what is None was not looked at, and stays as it was."""

    blocked: Blocked | None = None
    scheduled: Unscheduled | bool | None = None
    execution: Execution | None = None
    # Why its strategy cannot be executed, where the executor was not even asked.
    problem: tuple[str, str] | None = None
    progress: Obj | None = None
    waits_for: str = ""


def next_status(release: Obj, findings: Findings, now: str) -> Obj:
    """Return the whole status of a release; equal to the old one when there is nothing new to say."""
    status = dict(release.get("status") or {})
    progress = _progress(status.get("progress") or {}, findings)
    status["conditions"] = _merged(release, findings, progress, now)
    execution = findings.execution
    if execution is not None:
        if execution.strategy_status is not None:
            status["strategy"] = execution.strategy_status
        if execution.achieved is not None:
            status["achievedStep"] = {"step": execution.achieved.step, "name": execution.achieved.name}
    status.pop("progress", None)
    return {**status, "progress": progress} if progress else status


def means_the_same(old: Obj, new: Obj) -> bool:
    """Tell whether two statuses differ in nothing but words."""
    return _unworded(old) == _unworded(new)


@dataclass(frozen=True, slots=True)
class Happening:
    """An event to be told of a release."""

    reason: str
    message: str
    warning: bool = False


def happenings(release: Obj, status: Obj) -> list[Happening]:
    """Return what is to be told of a release whose status becomes another."""
    old = release.get("status") or {}
    return [*_steps(old, status), *_states(release, old, status), *_changes(old, status)]


def _merged(release: Obj, findings: Findings, progress: Obj, now: str) -> list[Obj]:
    """Return all conditions in order of type, with Held only while the release stands still."""
    old: list[Obj] = dig(release, "status", "conditions", default=[])
    held = holding(release, progress, _sentence(findings, old))
    kept = old if held is not None else [entry for entry in old if entry["type"] != HELD]
    told = _conditions(findings) + ([] if held is None else [held])
    return sorted(merge_conditions(kept, told, now), key=lambda entry: str(entry["type"]))


def _sentence(findings: Findings, old: list[Obj]) -> str:
    """Return what a release waits for; where nobody looked, what it stood still for goes on as long as it is true."""
    if findings.execution is not None:
        return "" if findings.execution.problem else findings.execution.waits_for
    return findings.waits_for or str((find_condition(old, HELD) or {}).get("message") or "")


def _conditions(findings: Findings) -> list[Obj]:
    if findings.blocked is not None:
        return [condition(BLOCKED, True, BLOCKED_REASON, findings.blocked.message)]
    told = [condition(BLOCKED, False, "")]
    if isinstance(findings.scheduled, Unscheduled):
        told.append(condition(SCHEDULED, False, findings.scheduled.reason, findings.scheduled.message))
    elif findings.scheduled:
        told.append(condition(SCHEDULED, True, ""))
    execution = findings.execution
    problem = findings.problem or (execution.problem if execution is not None else None)
    if problem is not None:
        told.append(condition(EXECUTED, False, *problem))
    elif execution is not None:
        told.append(condition(EXECUTED, True, ""))
    if execution is not None and execution.complete:
        told.append(condition(COMPLETE, True, ""))
    return told


def _progress(old: Obj, findings: Findings) -> Obj:
    execution = findings.execution
    known = findings.progress if execution is None else execution.progress
    waits_for = findings.waits_for if execution is None else execution.waits_for
    if known is None:
        known = old
    kept = {name: value for name, value in known.items() if name != WAITS_FOR}
    return {**kept, WAITS_FOR: waits_for} if waits_for else kept


def _unworded(status: Obj) -> Obj:
    strategy = status.get("strategy") or {}
    progress = {name: value for name, value in (status.get("progress") or {}).items() if name != WAITS_FOR}
    bare = {**strategy, "conditions": _without_messages(strategy.get("conditions"))}
    return {
        **status,
        "conditions": _without_messages(status.get("conditions")),
        "strategy": bare,
        "progress": progress,
    }


def _without_messages(conditions: list[Obj] | None) -> list[Obj]:
    return [{name: value for name, value in entry.items() if name != "message"} for entry in conditions or ()]


def _steps(old: Obj, new: Obj) -> list[Happening]:
    step = dig(new, "achievedStep", "step")
    if step is None or step == dig(old, "achievedStep", "step"):
        return []
    return [Happening("StrategyApplied", f"step [{step}] finished")]


def _states(release: Obj, old: Obj, new: Obj) -> list[Happening]:
    before, after = dig(old, "strategy", "state", default={}), dig(new, "strategy", "state", default={})
    turned = [f'"{name}" to "{value}"' for name, value in sorted(after.items()) if value != before.get(name, "Unknown")]
    if not turned:
        return []
    told = f'Release "{key_of(release)}" had its state transitioned: {", ".join(turned)}'
    return [Happening("ReleaseStateTransitioned", told)]


def _changes(old: Obj, new: Obj) -> list[Happening]:
    """Return one event for all conditions that changed, and one of its own for a block that stands in the way."""
    told, changed, bad = [], [], False
    for entry in new.get("conditions") or ():
        if entry["type"] == HELD:
            # What failed has an event of its own, and who pauses a release knows.
            continue
        before = find_condition(old.get("conditions"), entry["type"])
        is_block = entry["type"] == BLOCKED
        if _verdict(before) == _verdict(entry) or (is_block and before is None and entry["status"] == "False"):
            continue
        if is_block and entry["status"] == "True":
            told.append(Happening(BLOCKED_EVENT, entry["message"], warning=True))
            continue
        bad |= not is_block and entry["status"] == "False"
        changed.append(f"[{'' if before is None else _brief(before)}] -> [{_brief(entry)}]")
    return [*told, Happening("ReleaseConditionChanged", ", ".join(changed), warning=bad)] if changed else told


def _verdict(entry: Obj | None) -> tuple[object, object] | None:
    return None if entry is None else (entry.get("status"), entry.get("reason") or "")


def _brief(entry: Obj) -> str:
    parts = (entry["type"], entry["status"], entry.get("reason"), entry.get("message"))
    return " ".join(str(part) for part in parts if part)
