"""How far a reshard of a keyspace is: the workflow, the conditions that tell of it, and how much was copied. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from hanse.vitess.topology.steps import Told

# Up to so much behind, traffic may be switched.
_IN_SYNC_SECONDS = 10
UNKNOWN_PROGRESS = -1
_ALMOST = 99
_DONE = 100


class StreamState(StrEnum):
    """What a stream of a workflow is doing, as Vitess writes it."""

    COPYING = "Copying"
    RUNNING = "Running"
    STOPPED = "Stopped"
    ERROR = "Error"


@dataclass(frozen=True, slots=True)
class Workflow:
    """A reshard as Vitess shows it; rows are None where they could not be counted."""

    name: str
    source_shards: tuple[str, ...]
    target_shards: tuple[str, ...]
    states: tuple[str, ...]
    lag_seconds: int = 0
    source_rows: int | None = None
    target_rows: int | None = None


@dataclass(frozen=True, slots=True)
class ReshardingReport:
    """What a VitessKeyspace tells; conditions are status and reason, the status None where nobody knows."""

    active: tuple[bool | None, str]
    in_sync: tuple[bool | None, str]
    status: dict[str, object] = field(default_factory=dict)
    told: tuple[Told, ...] = ()


def report_resharding(workflows: Sequence[Workflow] | None) -> ReshardingReport:
    """Say how far a reshard is; None where Vitess could not be asked."""
    if workflows is None:
        return ReshardingReport((None, "WorkflowsUnknown"), (None, "WorkflowsUnknown"))
    if not workflows:
        return ReshardingReport((False, "NoActiveReshardingWorkflows"), (False, "NoActiveReshardingWorkflows"))
    if len(workflows) > 1:
        names = ", ".join(sorted(each.name for each in workflows))
        reason = "MultipleActiveReshardingWorkflows"
        told = Told(reason, f"{names} reshard this keyspace at the same time; finish or cancel all but one")
        return ReshardingReport((None, reason), (None, reason), told=(told,))
    return _report(workflows[0])


def _report(workflow: Workflow) -> ReshardingReport:
    state = _state(workflow)
    progress = copy_progress(state, workflow.source_rows, workflow.target_rows)
    status: dict[str, object] = {
        "workflow": workflow.name,
        "state": state,
        "sourceShards": list(workflow.source_shards),
        "targetShards": list(workflow.target_shards),
        "copyProgress": progress,
    }
    told: tuple[Told, ...] = ()
    if progress == UNKNOWN_PROGRESS:
        told = (Told("CopyProgressUnknown", f"how much {workflow.name} has copied could not be counted"),)
    return ReshardingReport((True, "ReshardingInProgress"), _in_sync(workflow, state), status, told)


def _in_sync(workflow: Workflow, state: str) -> tuple[bool | None, str]:
    if state == StreamState.ERROR:
        return False, "WorkflowError"
    if state != StreamState.RUNNING:
        return False, "NotRunning"
    return (True, "InSync") if workflow.lag_seconds < _IN_SYNC_SECONDS else (False, "Lagging")


def _state(workflow: Workflow) -> str:
    """Return the state of the whole: any error, else any copy, else what all streams say, else Unknown."""
    found = set(workflow.states)
    for decisive in (StreamState.ERROR, StreamState.COPYING):
        if decisive in found:
            return decisive
    return found.pop() if len(found) == 1 else "Unknown"


def copy_progress(state: str, source_rows: int | None, target_rows: int | None) -> int:
    """Return how many percent were copied: never all while it copies, all once it runs, −1 where nobody knows."""
    if state == StreamState.RUNNING:
        return _DONE
    if state != StreamState.COPYING or source_rows is None or target_rows is None:
        return UNKNOWN_PROGRESS
    if source_rows == 0:
        return _ALMOST
    return min(_ALMOST, target_rows * 100 // source_rows)
