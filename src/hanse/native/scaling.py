"""What the workload that an autoscaler scales has to know of it, and which workload that was before.

The autoscaler's own annotation names the workload that was told. Pointed at another, it is the former one that has to
hear that nobody scales it any more.
"""

from __future__ import annotations

from hanse.api.names import AUTOSCALED_ANNOTATION, SCALES_ANNOTATION
from hanse.api.plain_kinds import AUTOSCALERS
from hanse.kube.manifest import Key, Obj, annotations_of, dig, key_of, namespace_of
from hanse.kube.resources import DEPLOYMENTS, REPLICASETS
from hanse.native.dividing import autoscaled_clusters
from hanse.propagation.door import Mark
from hanse.propagation.intent import Ref
from hanse.propagation.report import Report

_SCALABLE = (DEPLOYMENTS, REPLICASETS)


def scaling_mark(autoscaler: Obj, report: Report | None) -> Mark | None:
    """Say what workloads have to know of an autoscaler; without a report, that it is going."""
    target, former = _target(autoscaler), _former(autoscaler)
    if target is None:
        return Mark(former, AUTOSCALED_ANNOTATION, None) if former is not None else None
    clusters = [row.cluster for row in report.rows if row.wanted is not None] if report is not None else []
    text = autoscaled_clusters(clusters) if clusters else None
    before: list[Mark] = []
    if former is not None and former != target:
        before.append(Mark(former, AUTOSCALED_ANNOTATION, None))
    if text is not None:
        # Noted first: whatever happens in between, who was told can be found.
        before.append(Mark(Ref(AUTOSCALERS, key_of(autoscaler)), SCALES_ANNOTATION, _named(target)))
    return Mark(target, AUTOSCALED_ANNOTATION, text, tuple(before))


def _target(autoscaler: Obj) -> Ref | None:
    target = dig(autoscaler, "spec", "scaleTargetRef", default={})
    resource = next((each for each in _SCALABLE if each.kind == target.get("kind")), None)
    if resource is None or not target.get("name"):
        return None
    return Ref(resource, Key(namespace_of(autoscaler), target["name"]))


def _former(autoscaler: Obj) -> Ref | None:
    noted = annotations_of(autoscaler).get(SCALES_ANNOTATION, "")
    refs = (Ref(each, Key(namespace_of(autoscaler), noted.partition("/")[2])) for each in _SCALABLE)
    return next((ref for ref in refs if noted == _named(ref)), None)


def _named(ref: Ref) -> str:
    return f"{ref.resource.group_resource}/{ref.key.name}"
