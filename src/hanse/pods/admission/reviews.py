"""Answering an AdmissionReview: from what an API server asks to what it is told."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from hanse.api.admiralty.names import TargetName
from hanse.kube.manifest import Obj
from hanse.kube.patches.json_patch import json_patch_between
from hanse.kube.schemas import schema_for
from hanse.kube.schemas.decoding import decode_errors
from hanse.pods.admission.mutation import admit, is_elected, stays_home
from hanse.pods.admission.refusals import Refusal
from hanse.pods.admission.requests import AdmissionRequest, request_in
from hanse.pods.admission.seals import Sealer
from hanse.pods.admission.whole_jobs import admit_job

API_VERSION = "admission.k8s.io/v1"
_ASKED_ABOUT = (("", "v1", "Pod"), ("batch", "v1", "Job"))


class BadReview(ValueError):
    """A body that is no AdmissionReview of v1."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What answers depend on beside the question: whose cluster it is, and where its pods may go.

    `controllers` are users who make pods and Jobs as Kubernetes' own controllers do.
    """

    source: str
    targets: Sequence[TargetName]
    sealer: Sealer
    controllers: frozenset[str] = frozenset()


def read_review(body: bytes) -> Obj:
    """Return the `request` of a review; raises BadReview."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadReview("the body must be JSON") from error
    if not isinstance(review, dict) or review.get("apiVersion") != API_VERSION:
        raise BadReview(f"the body must be an AdmissionReview of {API_VERSION}")
    request = review.get("request")
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str):
        raise BadReview("request: it must be there, with a uid")
    obj = request.get("object")
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata"), dict) or not isinstance(obj.get("spec"), dict):
        raise BadReview("request.object: it must be an object with metadata and a spec")
    if misfit := _misfit(request, obj):
        raise BadReview(f"request.object: {misfit}")
    return request


def _misfit(request: Obj, obj: Obj) -> str:
    """Say what no API server would send: everything that follows relies on the types of a Pod or a Job."""
    if not isinstance(request.get("namespace", ""), str) or not isinstance(request.get("userInfo", {}), dict):
        return "its request needs a namespace and a userInfo that are a text and an object"
    for group, version, kind in _ASKED_ABOUT:
        if obj.get("kind", "Pod") == kind:
            schema = schema_for(group, version, kind)
            return decode_errors(schema, obj).refusal if schema is not None else ""
    return f"it must be a Pod or a Job, not {obj.get('kind')!r}"


def answer_pod(asked: Obj, known: Knowledge) -> Obj:
    """Answer for a pod that is created."""
    pod, request = asked["object"], request_in(asked)
    verdict = admit(pod, request, known.targets, known.source, known.sealer, controllers=known.controllers)
    return _answer(asked, verdict, _warnings(pod, request, verdict, known.targets))


def answer_job(asked: Obj, known: Knowledge) -> Obj:
    """Answer for a Job that is created."""
    verdict = admit_job(asked["object"], request_in(asked), known.source, controllers=known.controllers)
    return _answer(asked, verdict, [])


def unavailable(asked: Obj, why: str) -> Obj:
    """Refuse for now: whoever asks is to try again."""
    return _review(asked, allowed=False, status={"code": 503, "reason": "ServiceUnavailable", "message": why})


def _warnings(
    pod: Obj, request: AdmissionRequest, verdict: Obj | Refusal | None, targets: Sequence[TargetName]
) -> list[str]:
    if isinstance(verdict, Refusal) or not is_elected(pod):
        return []
    home = stays_home(pod, request)
    if home:
        return [home]
    if not any(target.serves(request.namespace) for target in targets):
        return [f"it waits: there is no ClusterTarget, and no Target in namespace {request.namespace}"]
    return []


def _answer(asked: Obj, verdict: Obj | Refusal | None, warnings: list[str]) -> Obj:
    if isinstance(verdict, Refusal):
        return _review(asked, allowed=False, status={"code": 403, "reason": "Forbidden", "message": str(verdict)})
    more: Obj = {"warnings": warnings} if warnings else {}
    if verdict is not None:
        patch = orjson.dumps(json_patch_between(asked["object"], verdict))
        more |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    return _review(asked, allowed=True, **more)


def _review(asked: Obj, *, allowed: bool, **more: object) -> Obj:
    response = {"uid": asked["uid"], "allowed": allowed, **more}
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}
