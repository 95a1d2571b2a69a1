"""What an API server's refusal becomes.

ApiError                any answer of 400 or above
├── BadRequest          400
├── Unauthorized        401
├── Forbidden           403
├── NotFound            404
├── Conflict            409 Conflict
├── AlreadyExists       409 AlreadyExists
├── Gone                410: the resourceVersion or continue token has expired
├── Invalid             422
├── TooManyRequests     429 that outlasted the retries
└── ServerError         5xx

`Unreachable` (no answer at all) lives beside the transports.
"""

from __future__ import annotations

from typing import Any

import orjson


class ApiError(Exception):
    """An answer of 400 or above, with what the server's Status said."""

    def __init__(self, code: int, reason: str, message: str, status: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.status = status or {}


class BadRequest(ApiError):
    """The server could not understand the request."""


class Unauthorized(ApiError):
    """The server does not know who is asking."""


class Forbidden(ApiError):
    """The server knows who is asking and refuses."""


class NotFound(ApiError):
    """There is no such object or no such kind."""


class Conflict(ApiError):
    """Somebody else changed the object first, or owns the field."""


class AlreadyExists(ApiError):
    """An object of that name is there already."""


class Gone(ApiError):
    """The version asked for is no longer kept; list again."""


class Invalid(ApiError):
    """The object breaks its kind's rules."""


class TooManyRequests(ApiError):
    """The server asks for patience."""


class ServerError(ApiError):
    """The server failed."""


_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def error_from_status(code: int, status: dict[str, Any]) -> ApiError:
    """Turn a Status object into the error class that callers distinguish."""
    reason = str(status.get("reason") or "")
    message = str(status.get("message") or f"HTTP {code} {reason}".strip())
    if reason == "AlreadyExists":
        kind: type[ApiError] = AlreadyExists
    elif code >= 500:
        kind = ServerError
    else:
        kind = _BY_CODE.get(code, ApiError)
    return kind(code, reason, message, status)


def error_from_body(code: int, body: bytes) -> ApiError:
    """Turn an answer's body, a Status or anything else, into an error."""
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        status = None
    if not isinstance(status, dict):
        text = body[:200].decode(errors="replace").strip()
        status = {"message": f"HTTP {code}: {text}" if text else f"HTTP {code} without a message"}
    return error_from_status(code, status)
