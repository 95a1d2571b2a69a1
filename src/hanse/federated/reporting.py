"""What is told in a federated object's status: one condition, and a code for every cluster that has or shall have it.

The codes are KubeFed's; a cluster without one is in sync. Beyond KubeFed the condition carries a sentence. A status
that would say the same again is left as it is, times and all.
"""

from __future__ import annotations

from collections.abc import Iterator

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig
from hanse.placement.decision import Verdict
from hanse.propagation.intent import Problem
from hanse.propagation.rendering import rendered_digest
from hanse.propagation.report import Report, Row

PROPAGATION = "Propagation"
CHECK_CLUSTERS = "CheckClusters"


def reported_status(source: Obj, report: Report, now: str, *, remote: bool = False, reason: str = "") -> Obj:
    """Return the status that a report gives.

    With `remote` each cluster's own status is in it, where the kind has one. A `reason` says why the object is to be
    nowhere although it asks for clusters.
    """
    clusters = list(_clusters(report, remote=remote))
    if not reason and any(entry.get("status") for entry in clusters):
        reason = CHECK_CLUSTERS
    return _status(source, reason, report.missing, clusters, now)


def refused_status(source: Obj, problem: Problem, now: str) -> Obj:
    """Return the status of an object of which nothing could be made; nothing is known of its clusters then."""
    return _status(source, problem.reason, problem.message, [], now)


def _clusters(report: Report, *, remote: bool) -> Iterator[Obj]:
    for row in report.rows:
        verdict = report.decision.of(row.cluster)
        code = _code(row, verdict)
        if code is None:
            continue
        entry: Obj = {"name": row.cluster}
        if code:
            entry["status"] = code
            message = row.trouble or (verdict.reasons[-1] if verdict is not None and verdict.keep else "")
            if message:
                entry["message"] = message
        status = dig(row.observed or {}, "status") if remote and row.live else None
        if status is not None:
            entry["remoteStatus"] = status
        yield entry


def _code(row: Row, verdict: Verdict | None) -> str | None:
    """Return a cluster's code, None where there is nothing to be told of it."""
    if row.reason:
        return row.reason
    chosen = verdict is not None and verdict.chosen
    if verdict is not None and verdict.keep and not row.live:
        # It was asked for, and only cannot be asked itself.
        return "ClusterNotReady"
    if chosen and row.wanted is not None:
        return _synced(row, row.wanted)
    if row.observed is not None and row.live:
        return "" if verdict is not None and (chosen or verdict.keep) else "WaitingForRemoval"
    return "CreationTimedOut" if chosen else None


def _synced(row: Row, wanted: Obj) -> str:
    if row.observed is None:
        return "CreationTimedOut"
    return "" if row.shared or rendered_digest(row.observed) == rendered_digest(wanted) else "UpdateTimedOut"


def _status(source: Obj, reason: str, message: str, clusters: list[Obj], now: str) -> Obj:
    before: Obj = source.get("status") or {}
    told: Obj = {"type": PROPAGATION, "status": "False" if reason else "True"}
    if reason:
        told["reason"] = reason
    if message:
        told["message"] = message
    had = find_condition(before.get("conditions"), PROPAGATION) or {}
    generation = dig(source, "metadata", "generation", default=0)
    known = before.get("observedGeneration") == generation and _covers(had, told)
    if known and _cover(before.get("clusters") or [], clusters):
        return before
    turned = (had.get("status"), had.get("reason")) != (told["status"], told.get("reason"))
    since = now if turned else had.get("lastTransitionTime", now)
    status: Obj = {
        "observedGeneration": generation,
        "conditions": [{**told, "lastUpdateTime": now, "lastTransitionTime": since}],
    }
    return {**status, "clusters": clusters} if clusters else status


def _cover(before: list[Obj], now: list[Obj]) -> bool:
    return len(before) == len(now) and all(_covers(had, told) for had, told in zip(before, now, strict=True))


def _covers(had: Obj, told: Obj) -> bool:
    """Tell whether what was told says the same.

    KubeFed's own definitions drop the messages, and what is dropped would be written again for ever: a message that was
    not there before is no news by itself.
    """
    said = {name: value for name, value in had.items() if not name.startswith("last")}
    return said == {name: value for name, value in told.items() if name != "message" or "message" in said}
