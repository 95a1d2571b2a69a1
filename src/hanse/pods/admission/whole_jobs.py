"""Jobs that run whole in another cluster: stamped with their author, as pods are."""

from __future__ import annotations

from collections.abc import Collection

from hanse.api.admiralty.keys import JOB_MANAGER
from hanse.api.namespaces import is_system
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.pods.admission.authors import author_annotations
from hanse.pods.admission.refusals import Refusal
from hanse.pods.admission.requests import CREATE, AdmissionRequest
from hanse.pods.admission.reserved import forgery
from hanse.pods.admission.values import bad_value


def admit_job(
    job: Obj, request: AdmissionRequest, source: str, *, controllers: Collection[str] = ()
) -> Obj | Refusal | None:
    """Return a Job with its author, or why it is not let in; None leaves it as it is.

    `controllers` are users who make Jobs as Kubernetes' own controllers do, in nobody's name but that of its pods.
    """
    if request.operation != CREATE or dig(job, "spec", "managedBy") != JOB_MANAGER:
        return None
    if is_system(request.namespace):
        return Refusal("spec.managedBy", f"Jobs of namespace {request.namespace} never run elsewhere; leave it out")
    template = dig(job, "spec", "template", default={})
    refusal = (
        forgery(job)
        or bad_value(annotations_of(job))
        or bad_value(dig(template, "metadata", "annotations", default={}), "spec.template.")
    )
    if refusal is not None:
        return refusal
    stamped = author_annotations(request, source, template.get("spec") or {}, controllers)
    annotations = {**annotations_of(job), **stamped}
    if annotations == annotations_of(job):
        return None
    return {**job, "metadata": {**job["metadata"], "annotations": annotations}}
