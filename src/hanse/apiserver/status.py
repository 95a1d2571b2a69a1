"""Refusals as a kube-apiserver words them: every error answer is a Status made here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from hanse.kube.errors import ApiError, error_from_status
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field that breaks a rule: where, the cause's reason, and the sentence after the path."""

    field: str
    reason: str
    message: str


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return orjson.dumps(value).decode()
    if isinstance(value, bool):
        return "true" if value else "false"
    return orjson.dumps(value).decode()


def invalid_value(field: str, value: Any, detail: str) -> FieldProblem:
    """Tell that a value is not allowed."""
    return FieldProblem(field, "FieldValueInvalid", f"Invalid value: {_shown(value)}: {detail}")


def required_value(field: str, detail: str = "") -> FieldProblem:
    """Tell that a value is missing."""
    return FieldProblem(field, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value")


def unsupported_value(field: str, value: Any, allowed: Sequence[str]) -> FieldProblem:
    """Tell that a value is none of those allowed."""
    listed = ", ".join(f'"{one}"' for one in allowed)
    return FieldProblem(
        field, "FieldValueNotSupported", f"Unsupported value: {_shown(value)}: supported values: {listed}"
    )


def forbidden_value(field: str, detail: str) -> FieldProblem:
    """Tell that a field may not be set or changed."""
    return FieldProblem(field, "FieldValueForbidden", f"Forbidden: {detail}")


def duplicate_value(field: str, value: Any) -> FieldProblem:
    """Tell that a value occurs twice where it must be unique."""
    return FieldProblem(field, "FieldValueDuplicate", f"Duplicate value: {_shown(value)}")


def failure(code: int, reason: str, message: str, details: Obj | None = None) -> ApiError:
    """Return an error that answers with a Status of this code and reason."""
    status: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    if reason:
        status["reason"] = reason
    if details is not None:
        status["details"] = details
    status["code"] = code
    return error_from_status(code, status)


def _details(name: str, group: str, kind: str, **more: Any) -> Obj:
    parts = {"name": name, "group": group, "kind": kind, **more}
    return {key: value for key, value in parts.items() if value}


def not_found(resource: Resource, name: str) -> ApiError:
    """There is no object of that name."""
    return failure(
        404,
        "NotFound",
        f'{resource.group_resource} "{name}" not found',
        _details(name, resource.group, resource.plural),
    )


def no_such_resource() -> ApiError:
    """There is no such kind at a path that a group does serve."""
    return failure(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: Resource, name: str, *, leaving: bool = False) -> ApiError:
    """An object of that name is there, though perhaps about to leave."""
    return failure(
        409,
        "AlreadyExists",
        f'{"object is being deleted: " if leaving else ""}{resource.group_resource} "{name}" already exists',
        _details(name, resource.group, resource.plural),
    )


def conflict(resource: Resource, name: str, why: str) -> ApiError:
    """The object is not as the writer believes."""
    return failure(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {resource.group_resource} "{name}": {why}',
        _details(name, resource.group, resource.plural),
    )


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def forbidden(resource: Resource, name: str, why: str, causes: list[Obj] | None = None) -> ApiError:
    """The request is understood and refused."""
    subject = f'{resource.group_resource} "{name}"' if name else resource.group_resource
    return failure(
        403,
        "Forbidden",
        f"{subject} is forbidden: {why}",
        _details(name, resource.group, resource.plural, causes=causes),
    )


def invalid(group: str, kind: str, name: str, problems: Sequence[FieldProblem]) -> ApiError:
    """The object breaks its kind's rules."""
    sentences = list(dict.fromkeys(f"{problem.field}: {problem.message}" for problem in problems))
    told = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    qualified = f"{kind}.{group}" if group else kind
    causes = [{"reason": one.reason, "message": one.message, "field": one.field} for one in problems]
    return failure(
        422, "Invalid", f'{qualified} "{name}" is invalid: {told}', _details(name, group, kind, causes=causes)
    )


def bad_request(message: str) -> ApiError:
    """The request cannot be understood."""
    return failure(400, "BadRequest", message)


def method_not_allowed() -> ApiError:
    """The path exists and has no such verb."""
    return failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def expired(message: str) -> ApiError:
    """The history or continue token asked for is gone."""
    return failure(410, "Expired", message)


def unauthorized() -> ApiError:
    """Nobody knows who is asking."""
    return failure(401, "Unauthorized", "Unauthorized")


def unsupported_patch_type() -> ApiError:
    """The body is none of the kinds of patch that this path knows."""
    return failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    """The body's content type is none that this path reads."""
    return failure(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted),
    )


def not_acceptable(available: Sequence[str]) -> ApiError:
    """The answer cannot be given in any form that was asked for."""
    told = "406: Not Acceptable\n\nAvailable representations: " + ", ".join(available)
    return failure(406, "NotAcceptable", told, {})


def too_large(limit: int) -> ApiError:
    """The body passes the size limit."""
    return failure(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def internal(message: str) -> ApiError:
    """The server failed."""
    details = {"causes": [{"message": message}]}
    return failure(500, "InternalError", f"Internal error occurred: {message}", details)


def status_body(error: ApiError) -> bytes:
    """Encode an error's Status as an answer's body."""
    return orjson.dumps(error.status)


def success(details: Obj) -> Obj:
    """Return the Status that answers a completed deletion."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
