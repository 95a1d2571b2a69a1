"""AdmissionReview v1: the question to a webhook, and what its answer must look like."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

import orjson

from hanse.apiserver.admission.attributes import Attributes, admission_request
from hanse.kube.manifest import Obj

_API_VERSION = "admission.k8s.io/v1"


class BadReview(Exception):
    """An answer that cannot be acted on."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a webhook said."""

    allowed: bool
    status: Obj = field(default_factory=dict)
    patch: bytes = b""
    patch_type: str = ""
    warnings: tuple[str, ...] = ()


def review_of(attributes: Attributes, asked: Attributes, uid: str) -> bytes:
    """Write the question."""
    request = admission_request(attributes, asked, uid)
    for name in ("subResource", "requestSubResource", "namespace", "name"):
        if not request[name]:
            del request[name]
    user = request["userInfo"]
    request["userInfo"] = {name: value for name, value in user.items() if value}
    request |= {"object": attributes.object, "oldObject": attributes.old}
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": _API_VERSION, "request": request})


def read_verdict(body: bytes, uid: str, *, mutating: bool) -> Verdict:
    """Read the answer; raises BadReview with upstream's sentence."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError:
        shown = body[:64].decode(errors="replace")
        raise BadReview(f"couldn't get version/kind; json parse error: invalid character in {shown!r}") from None
    if not isinstance(review, dict):
        raise BadReview(
            "couldn't get version/kind; json parse error: json: cannot unmarshal into Go value of type struct"
        )
    response = review.get("response")
    if not isinstance(response, dict):
        raise BadReview("webhook response was absent")
    if response.get("uid") != uid:
        raise BadReview(f'expected response.uid="{uid}", got "{response.get("uid") or ""}"')
    found = (review.get("apiVersion") or "", review.get("kind") or "")
    if found != (_API_VERSION, "AdmissionReview"):
        raise BadReview(f"expected webhook response of {_API_VERSION}, Kind=AdmissionReview, got {_told(*found)}")
    patch, kind = _patch(response, mutating=mutating)
    told = response.get("warnings")
    warnings = tuple(str(one) for one in told) if isinstance(told, list) else ()
    status = response.get("status")
    return Verdict(response.get("allowed") is True, status if isinstance(status, dict) else {}, patch, kind, warnings)


def _told(api_version: str, kind: str) -> str:
    return f"{api_version if '/' in api_version else f'/{api_version}'}, Kind={kind}"


def _patch(response: Obj, *, mutating: bool) -> tuple[bytes, str]:
    encoded, kind = response.get("patch"), response.get("patchType")
    if not mutating:
        if encoded:
            raise BadReview("validating webhook may not return response.patch")
        if kind is not None:
            raise BadReview("validating webhook may not return response.patchType")
        return b"", ""
    if encoded and kind is None:
        raise BadReview("webhook returned response.patch but not response.patchType")
    if not encoded and kind is not None:
        raise BadReview("webhook returned response.patchType but not response.patch")
    return _decoded(encoded) if encoded else b"", str(kind or "")


def _decoded(encoded: Any) -> bytes:
    try:
        return base64.b64decode(str(encoded), validate=True)
    except binascii.Error:
        raise BadReview("illegal base64 data at input byte 0") from None
