"""What is written down beside federated objects: preferences are told what they decided, and KubeFed's own records.

PropagatedVersions and FederatedServiceStatuses are kept where somebody configured a KubeFed; nothing else reads them.
"""

from __future__ import annotations

from collections.abc import Iterator

from hanse.federated.knowledge import Knowledge
from hanse.federated.types import ServedType
from hanse.federated.versions import federated_service_status, propagated_version
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.manifest import Obj, dig, key_of
from hanse.kube.resources import SERVICES
from hanse.propagation.records import Record
from hanse.propagation.rendering import rendered_digest
from hanse.propagation.report import Report

SCHEDULED = "Scheduled"


def records_of(source: Obj, report: Report, served: ServedType, known: Knowledge, now: str) -> Iterator[Record]:
    """Yield what a report has to be written down in, beside the object's own status."""
    found = known.preference(served, key_of(source))
    if found is not None:
        resource, preference = found
        status = preference_status(preference, report, now)
        if status != preference.get("status"):
            yield Record(resource, {**preference, "status": status}, create=False)
    settings = known.settings_of(served.form)
    if settings is None or not served.has_status:
        return
    copies = [
        (row.cluster, row.observed)
        for row in report.rows
        if row.wanted is not None
        and row.observed is not None
        and rendered_digest(row.observed) == rendered_digest(row.wanted)
    ]
    yield Record(*propagated_version(source, served.form, served.target, copies))
    if served.target == SERVICES and served.collects_status and not settings.collects_status:
        ready = [(row.cluster, row.observed) for row in report.rows if row.live]
        yield Record(*federated_service_status(source, served.form, ready))


def preference_status(preference: Obj, report: Report, now: str) -> Obj:
    """Return the status of a preference: how many replicas each cluster gets by it, and what is missing."""
    before: Obj = preference.get("status") or {}
    told = report.trouble
    scheduled = condition(SCHEDULED, not report.decision.unplaced and bool(report.decision.chosen()), "", told)
    scheduled["reason"] = "Divided" if scheduled["status"] == "True" else "NoRoom"
    status: Obj = {
        "observedGeneration": dig(preference, "metadata", "generation", default=0),
        "clusters": dict(sorted(report.decision.replicas.items())),
        "conditions": merge_conditions(before.get("conditions"), [scheduled], now),
    }
    return {**status, "message": told} if told else status
