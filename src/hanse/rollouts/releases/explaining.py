"""What a release waits for, in one sentence, from what anybody may read: pure."""

from __future__ import annotations

from hanse.api.shipper.kinds import CLUSTERS_ANNOTATION, PAUSED_ANNOTATION
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, annotations_of, dig, is_deleting
from hanse.rollouts.releases.status import BLOCKED, EXECUTED, SCHEDULED, WAITS_FOR

_PAUSED = "it is paused; `hanse rollout resume` lets it go on"
# In the order in which a step needs them.
_STAGES = (
    ("ContenderAchievedInstallation", "installation"),
    ("ContenderAchievedCapacity", "capacity"),
    ("ContenderAchievedTraffic", "traffic"),
    ("IncumbentAchievedTraffic", ""),
    ("IncumbentAchievedCapacity", ""),
)


def what_it_waits_for(
    release: Obj, installation: Obj | None = None, capacity: Obj | None = None, traffic: Obj | None = None
) -> str:
    """Say what a release waits for, "" where it waits for nothing; its targets tell of the clusters in their way."""
    if is_deleting(release):
        return _remembered(release) or "it is being deleted"
    conditions = dig(release, "status", "conditions", default=[])
    if told := _said_by(conditions, BLOCKED, "True"):
        return f"{told}; delete the block, or override it"
    if told := _said_by(conditions, SCHEDULED, "False") or _said_by(conditions, EXECUTED, "False"):
        return told
    failure = dig(release, "status", "progress", "failure", default={})
    if failure and not failure.get("overridden"):
        return f"{failure.get('message')}; a person decides"
    if not annotations_of(release).get(CLUSTERS_ANNOTATION):
        return "its clusters are yet to be chosen"
    if installation is None and find_condition(conditions, SCHEDULED) is None:
        return "its manifests are being rendered"
    step = _step(release, {"installation": installation, "capacity": capacity, "traffic": traffic})
    if annotations_of(release).get(PAUSED_ANNOTATION) == "true":
        return f"{_PAUSED} ({step})" if step else _PAUSED
    return step


def _remembered(release: Obj) -> str:
    return str(dig(release, "status", "progress", WAITS_FOR, default=""))


def _said_by(conditions: list[Obj], kind: str, status: str) -> str:
    """Return the message of a condition that has this status, or its reason where it has none."""
    found = find_condition(conditions, kind) or {}
    return str(found.get("message") or found.get("reason") or kind) if found.get("status") == status else ""


def _step(release: Obj, targets: dict[str, Obj | None]) -> str:
    """Say what the present step lacks: what the executor remembers of it, and which clusters say what of that."""
    stages = dig(release, "status", "strategy", "conditions", default=[])
    waiting = next((each for each in _STAGES if _said_by(stages, each[0], "False")), None)
    told = _remembered(release) or (_said_by(stages, waiting[0], "False") if waiting else "")
    target = targets.get(waiting[1]) if waiting else None
    detail = _said_by(dig(target, "status", "conditions", default=[]), "Ready", "False")
    return f"{told} ({detail})" if told and detail and detail not in told else told
