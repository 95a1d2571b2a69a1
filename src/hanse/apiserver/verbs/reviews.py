"""Questions that are asked by creating: who am I, what may I, whose token is this, give me a token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from hanse.apiserver import status
from hanse.apiserver.answers import Answer, answer_plain
from hanse.apiserver.authorization import Attributes, authorize, rules_for
from hanse.apiserver.core import Call
from hanse.apiserver.identity import Identity
from hanse.apiserver.negotiation import read_body
from hanse.apiserver.schema_checks import check_shape
from hanse.apiserver.verbs.bodies import read_manifest
from hanse.apiserver.verbs.writing import own_fields
from hanse.kube.manifest import Obj, dig
from hanse.kube.runtime import timestamp

_DEFAULT_TOKEN_SECONDS = 3600


async def self_subject_review(call: Call) -> Answer:
    """Tell the caller who they are."""
    review = _read(call)
    metadata = {"creationTimestamp": timestamp(call.core.runtime.now())}
    told = {**review, "metadata": metadata, "status": {"userInfo": _user_info(call.identity)}}
    return answer_plain(call, told, 201)


async def token_review(call: Call) -> Answer:
    """Tell whose token something is."""
    review = _read(call)
    identity = call.core.tokens.get(str(dig(review, "spec", "token", default="")))
    if identity is None:
        return _answer(call, review, {"user": {}, "error": "invalid bearer token"})
    return _answer(call, review, {"authenticated": True, "user": _user_info(identity)})


async def self_access_review(call: Call) -> Answer:
    """Tell the caller whether they may do something."""
    review = _read(call)
    return _answer(call, review, _decided(call, call.identity, review))


async def access_review(call: Call) -> Answer:
    """Tell whether somebody may do something."""
    review = _read(call)
    spec = review.get("spec") or {}
    if not spec.get("user") and not spec.get("groups"):
        problem = status.required_value("spec.user", "at least one of user or group must be specified")
        resource = call.served.resource
        raise status.invalid(resource.group, resource.kind, "", [problem])
    somebody = Identity(str(spec.get("user") or ""), tuple(spec.get("groups") or ()))
    return _answer(call, review, _decided(call, somebody, review))


async def rules_review(call: Call) -> Answer:
    """Tell the caller all they may do in a namespace."""
    review = _read(call)
    namespace = str(dig(review, "spec", "namespace", default=""))
    if not namespace:
        raise status.bad_request("no namespace on request")
    everything = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}]
    rules = (
        everything if call.identity.is_master else [one for one, _ in rules_for(call.core, call.identity, namespace)]
    )
    told = {
        "resourceRules": [rule for rule in rules if rule.get("resources")],
        "nonResourceRules": [rule for rule in rules if rule.get("nonResourceURLs")],
        "incomplete": False,
    }
    return _answer(call, review, told)


async def token_request(call: Call) -> Answer:
    """Issue a bearer token for a service account."""
    wanted = _token_request(call)
    if call.core.record(call.served, call.namespace, call.path.name) is None:
        raise status.not_found(call.served.resource, call.path.name)
    seconds = dig(wanted, "spec", "expirationSeconds", default=_DEFAULT_TOKEN_SECONDS)
    if not isinstance(seconds, int):
        raise status.bad_request("spec.expirationSeconds must be an integer")
    token = call.core.runtime.secret()
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{call.namespace}")
    call.core.tokens[token] = Identity(f"system:serviceaccount:{call.namespace}:{call.path.name}", groups)
    expires = timestamp(call.core.runtime.now() + seconds)
    told = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": call.path.name, "namespace": call.namespace},
        "spec": {**dig(wanted, "spec", default={}), "expirationSeconds": seconds},
        "status": {"token": token, "expirationTimestamp": expires},
    }
    return answer_plain(call, told, 201)


def _read(call: Call) -> Obj:
    review = read_manifest(call)
    check_shape(call, review)
    return review


def _token_request(call: Call) -> Obj:
    body: Any = read_body(call.request.body, call.request.headers)
    if not isinstance(body, dict):
        raise status.bad_request("the token request is not an object")
    return body


def _answer(call: Call, review: Obj, told: Obj) -> Answer:
    kept = {name: value for name, value in review["metadata"].items() if name in ("name", "namespace")}
    metadata = own_fields(call, {**review, "metadata": kept}, None)["metadata"]
    return answer_plain(call, {**review, "metadata": metadata, "status": told}, 201)


def _user_info(identity: Identity) -> Obj:
    info: Obj = {"username": identity.user, "groups": list(identity.all_groups())}
    if identity.uid:
        info["uid"] = identity.uid
    return info


def _decided(call: Call, identity: Identity, review: Obj) -> Obj:
    asked = dig(review, "spec", "resourceAttributes")
    path = dig(review, "spec", "nonResourceAttributes")
    if (asked is None) == (path is None):
        problem = status.invalid_value(
            "spec.resourceAttributes",
            asked,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )
        raise status.invalid(call.served.resource.group, "", "", [problem])
    if path is not None:
        attributes = Attributes(path.get("verb", ""), path=path.get("path", ""))
    else:
        attributes = Attributes(
            asked.get("verb", ""),
            asked.get("group", ""),
            asked.get("resource", ""),
            asked.get("subresource", ""),
            asked.get("namespace", ""),
            asked.get("name", ""),
        )
    decision = authorize(call.core, identity, attributes)
    told: Obj = {"allowed": decision.allowed}
    if decision.reason:
        told["reason"] = decision.reason
    return told


REVIEWS: dict[str, Callable[[Call], Awaitable[Answer]]] = {
    "SelfSubjectReview": self_subject_review,
    "TokenReview": token_review,
    "SelfSubjectAccessReview": self_access_review,
    "SubjectAccessReview": access_review,
    "LocalSubjectAccessReview": access_review,
    "SelfSubjectRulesReview": rules_review,
}
