"""ReplicaSets, ReplicationControllers, StatefulSets and DaemonSets: counts are sums over the members."""

from __future__ import annotations

from collections.abc import Iterable

from hanse.kube.manifest import Obj, dig
from hanse.propagation.report import Report
from hanse.propagation.statuses.conditions import dated, members_of, observed_generation, propagated

_REPLICAS = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
_STATEFUL = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
_DAEMONS = ("updatedNumberScheduled", "numberAvailable", "numberUnavailable")
_EVERY_DAEMON = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")


def replica_status(source: Obj, report: Report, now: str) -> Obj:
    """Return the status of a ReplicaSet or a ReplicationController."""
    members = members_of(report)
    return {
        "replicas": _sum(members, "replicas"),
        **_counts(members, _REPLICAS),
        **_common(source, report, now),
    }


def stateful_set_status(source: Obj, report: Report, now: str) -> Obj:
    """Return the status of a StatefulSet: its rollout is over when it is over in every member."""
    members = members_of(report)
    return {
        "replicas": _sum(members, "replicas"),
        **_counts(members, _STATEFUL),
        **_revisions(members),
        **_common(source, report, now),
    }


def daemon_set_status(source: Obj, report: Report, now: str) -> Obj:
    """Return the status of a DaemonSet: the nodes of every member counted together."""
    members = members_of(report)
    return {
        **{name: _sum(members, name) for name in _EVERY_DAEMON},
        **_counts(members, _DAEMONS),
        **_common(source, report, now),
    }


def _common(source: Obj, report: Report, now: str) -> Obj:
    generation = observed_generation(source, report)
    conditions = dated(dig(source, "status", "conditions", default=[]), [propagated(report)], now)
    return ({"observedGeneration": generation} if generation else {}) | {"conditions": conditions}


def _revisions(members: list[Obj]) -> Obj:
    """Return the revision that is rolled out and the one that is rolled out from; equal when every member is done."""
    updates = [revision for obj in members if (revision := dig(obj, "status", "updateRevision"))]
    if not updates:
        return {}
    behind = (
        dig(obj, "status", "currentRevision")
        for obj in members
        if dig(obj, "status", "currentRevision") != dig(obj, "status", "updateRevision")
    )
    return {"updateRevision": updates[0], "currentRevision": next(behind, None) or updates[0]}


def _counts(members: list[Obj], names: Iterable[str]) -> Obj:
    sums = {name: _sum(members, name) for name in names}
    return {name: count for name, count in sums.items() if count}


def _sum(members: list[Obj], name: str) -> int:
    return sum(int(dig(obj, "status", name, default=0)) for obj in members)
