"""The Job that a target gets: what its owner wrote, for the target's own Job controller."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hanse.api.admiralty.keys import PARENT_NAME, PARENT_NAMESPACE, PREFIX
from hanse.api.names import PREFIX as HANSE_PREFIX
from hanse.kube.manifest import Obj, annotations_of, dig, labels_of, name_of, namespace_of
from hanse.pods.placeholder.template import delegate_spec, parent_labels

# By these a Job knows its own pods; every API server adds its own.
_GENERATED = frozenset(
    {"batch.kubernetes.io/controller-uid", "controller-uid", "batch.kubernetes.io/job-name", "job-name"}
)
_OWN = (PREFIX, "pods.hanse.dev/", HANSE_PREFIX, "kubectl.kubernetes.io/last-applied-configuration")
# Who runs the Job is for the source to say, and when it is forgotten: the copy goes with it.
_OF_THE_SOURCE = ("managedBy", "ttlSecondsAfterFinished")


def copy_of(source: str, job: Obj) -> Obj:
    """Return the Job as its target gets it, whichever that is; it keeps its name, by which its pods find each other."""
    spec = _without(job.get("spec") or {}, _OF_THE_SOURCE)
    if not spec.get("manualSelector"):
        spec = _without(spec, ("selector", "manualSelector"))
    spec["template"] = _template(spec.get("template") or {}, manual=bool(spec.get("manualSelector")))
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name_of(job),
            "namespace": namespace_of(job),
            "labels": {**_without(labels_of(job), _GENERATED), **parent_labels(source, job)},
            "annotations": {**_shown(job), PARENT_NAMESPACE: namespace_of(job), PARENT_NAME: name_of(job)},
        },
        "spec": _without_nulls(spec),
    }


def pod_of(job: Obj) -> Obj:
    """Return one pod of a Job as far as it says where it may go; the annotations of the Job itself count for it."""
    template = dig(job, "spec", "template", default={})
    annotations = {**annotations_of(job), **_annotations(template)}
    return {
        "kind": "Pod",
        "metadata": {"namespace": namespace_of(job), "annotations": annotations},
        "spec": template.get("spec") or {},
    }


def parallelism_of(job: Obj) -> int:
    """Return how many pods a Job runs at a time: no more than it has to complete."""
    parallelism = int(dig(job, "spec", "parallelism", default=1))
    completions = dig(job, "spec", "completions")
    return parallelism if completions is None else min(parallelism, int(completions))


def _template(template: Obj, *, manual: bool) -> Obj:
    metadata = template.get("metadata") or {}
    labels = metadata.get("labels") or {}
    kept = {
        "labels": labels if manual else _without(labels, _GENERATED),
        "annotations": {name: text for name, text in _annotations(template).items() if not name.startswith(_OWN)},
    }
    spec = delegate_spec({"metadata": metadata, "spec": template.get("spec") or {}})
    return {"metadata": {name: value for name, value in kept.items() if value}, "spec": spec}


def _annotations(template: Obj) -> dict[str, str]:
    return dig(template, "metadata", "annotations") or {}


def _shown(job: Obj) -> dict[str, str]:
    return {name: text for name, text in annotations_of(job).items() if not name.startswith(_OWN)}


def _without(fields: Obj, names: Collection[str]) -> Obj:
    return {name: value for name, value in fields.items() if name not in names}


def _without_nulls(value: Any) -> Any:
    """Drop fields that are null: they say nothing, and an apply would claim them."""
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
