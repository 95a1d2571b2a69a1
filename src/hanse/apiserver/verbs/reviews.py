"""Questions that are asked by creating: who am I, what may I, whose token is this."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hanse.apiserver import status
from hanse.apiserver.answers import Answer, answer_plain
from hanse.apiserver.authorization import Attributes, authorize, rules_for
from hanse.apiserver.core import Call
from hanse.apiserver.identity import Identity
from hanse.apiserver.negotiation import accepted_form
from hanse.apiserver.schema_checks import check_shape
from hanse.apiserver.service_accounts import AUDIENCES, TokenRefused, common_audiences, identity_of_token
from hanse.apiserver.verbs.bodies import place, read_manifest
from hanse.apiserver.verbs.writing import own_fields
from hanse.kube.manifest import Obj, dig
from hanse.kube.runtime import timestamp


async def self_subject_review(call: Call) -> Answer:
    """Tell the caller who they are."""
    review = _read(call)
    metadata = {"creationTimestamp": timestamp(call.core.runtime.now())}
    told = {**review, "metadata": metadata, "status": {"userInfo": _user_info(call.identity)}}
    return answer_plain(call, told, 201)


async def token_review(call: Call) -> Answer:
    """Tell whose token something is."""
    review = _read(call)
    token = str(dig(review, "spec", "token", default=""))
    if not token:
        raise status.bad_request("token is required for TokenReview in authentication")
    audiences = dig(review, "spec", "audiences") or list(AUDIENCES)
    try:
        identity = call.core.tokens.get(token) or identity_of_token(call.core, token, audiences)
    except TokenRefused as refused:
        return _answer(call, review, {"user": {}, "error": f"[invalid bearer token, {refused}]"})
    if identity is None:
        return _answer(call, review, {"user": {}, "error": "invalid bearer token"})
    told = {"authenticated": True, "user": _user_info(identity)}
    return _answer(call, review, {**told, "audiences": common_audiences(call.core, token, audiences)})


async def self_access_review(call: Call) -> Answer:
    """Tell the caller whether they may do something."""
    review = _read(call)
    return _answer(call, review, _decided(call, call.identity, review))


async def access_review(call: Call) -> Answer:
    """Tell whether somebody may do something."""
    review = _read(call)
    place(call, review)
    spec = review.get("spec") or {}
    extra = {str(key).lower(): tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    somebody = Identity(str(spec.get("user") or ""), tuple(spec.get("groups") or ()), str(spec.get("uid") or ""), extra)
    return _answer(call, review, _decided(call, somebody, review))


async def rules_review(call: Call) -> Answer:
    """Tell the caller all they may do in a namespace."""
    review = _read(call)
    namespace = str(dig(review, "spec", "namespace", default=""))
    if not namespace:
        raise status.bad_request("no namespace on request")
    rules = [one for one, _ in rules_for(call.core, call.identity, namespace)]
    told = {
        "resourceRules": [_in_order(rule) for rule in rules if rule.get("resources")],
        "nonResourceRules": [_in_order(rule) for rule in rules if rule.get("nonResourceURLs")],
        "incomplete": False,
    }
    review = {"kind": review["kind"], "apiVersion": review["apiVersion"], "metadata": {}, "spec": {}, "status": told}
    return answer_plain(call, review, 201)


def _read(call: Call) -> Obj:
    accepted_form(call.request.headers.get("accept", ""), views=False)
    review = read_manifest(call)
    check_shape(call, review)
    return review


def _in_order(rule: Obj) -> Obj:
    names = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return {name: rule[name] for name in names if rule.get(name)}


def _answer(call: Call, review: Obj, told: Obj) -> Answer:
    kept = {name: value for name, value in review["metadata"].items() if name in ("name", "namespace")}
    metadata = own_fields(call, {**review, "metadata": kept}, None)["metadata"]
    return answer_plain(call, {**review, "metadata": metadata, "status": told}, 201)


def _user_info(identity: Identity) -> Obj:
    info: Obj = {"username": identity.user}
    if identity.uid:
        info["uid"] = identity.uid
    info["groups"] = list(identity.all_groups())
    if identity.extra:
        info["extra"] = {key: list(values) for key, values in identity.extra.items()}
    return info


def _decided(call: Call, identity: Identity, review: Obj) -> Obj:
    problems = _problems(call, review)
    if problems:
        raise status.invalid(call.served.resource.group, "", "", problems)
    path = dig(review, "spec", "nonResourceAttributes")
    if path is not None:
        attributes = Attributes(path.get("verb", ""), path=path.get("path", ""))
    else:
        asked = dig(review, "spec", "resourceAttributes")
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


def _problems(call: Call, review: Obj) -> list[status.FieldProblem]:
    spec = review.get("spec") or {}
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    problems = []
    if asked is not None and path is not None:
        told = "cannot be specified in combination with resourceAttributes"
        problems.append(status.invalid_value("spec.nonResourceAttributes", path, told))
    if asked is None and path is None:
        told = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        problems.append(status.invalid_value("spec.resourceAttributes", None, told))
    kind = call.served.resource.kind
    if kind != "SelfSubjectAccessReview" and not spec.get("user") and not spec.get("groups"):
        problems.append(status.invalid_value("spec.user", "", "at least one of user or group must be specified"))
    local = kind == "LocalSubjectAccessReview"
    allowed = ("managedFields", "namespace") if local else ("managedFields",)
    if any(name not in allowed for name in review["metadata"]):
        told = "must be empty except for namespace" if local else "must be empty"
        shown = own_fields(call, review, None)["metadata"]
        problems.append(status.invalid_value("metadata", shown, told))
    if local:
        problems += _local_problems(call.namespace, asked, path)
    return problems


def _local_problems(namespace: str, asked: Obj | None, path: Obj | None) -> list[status.FieldProblem]:
    problems = []
    if asked is not None and asked.get("namespace", "") != namespace:
        told = "must match metadata.namespace"
        problems.append(status.invalid_value("spec.resourceAttributes.namespace", asked.get("namespace", ""), told))
    if path is not None:
        problems.append(status.invalid_value("spec.nonResourceAttributes", path, "disallowed on this kind of request"))
    return problems


REVIEWS: dict[str, Callable[[Call], Awaitable[Answer]]] = {
    "SelfSubjectReview": self_subject_review,
    "TokenReview": token_review,
    "SelfSubjectAccessReview": self_access_review,
    "SubjectAccessReview": access_review,
    "LocalSubjectAccessReview": access_review,
    "SelfSubjectRulesReview": rules_review,
}
