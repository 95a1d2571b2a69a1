"""Answers that need a word of explanation: who was refused and why, and servers that are not Kubernetes at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from hanse.kube.auth.certificates import day, expiry
from hanse.kube.auth.credentials import Credential
from hanse.kube.auth.endpoint import Endpoint

# How an API server's authorizer begins to say what a user may not do; quotas and webhooks refuse in other words.
_NOT_ALLOWED = re.compile(r'User "([^"]*)" cannot ')
_HTTPS_DEMANDED = b"Client sent an HTTP request to an HTTPS server"


def not_kubernetes(status: int, headers: Mapping[str, str], body: bytes, endpoint: Endpoint) -> str:
    """Say why an answer cannot come from an API server; "" where it can.

    A login page or a load balancer must never be taken for an API server that says "not found".
    """
    server = endpoint.origin.cluster_field("server")
    if 300 <= status < 400 and status != 304:
        where = headers.get("location", "")[:200]
        return f"it redirects to {where or 'nowhere'}, which no API server does; check {server}"
    if headers.get("content-type", "").startswith("text/html"):
        return f"it answers with a web page (HTTP {status}), not as an API server does; check {server}"
    if status == 400 and body.startswith(_HTTPS_DEMANDED):
        return f"it speaks TLS only; write https:// in {server}"
    return ""


def explained(status: int, body: bytes, endpoint: Endpoint, shown: Credential, now: float) -> bytes:
    """Return the Status of a refusal with a message that says what was refused and what to do."""
    if status not in (401, 403):
        return body
    given = _status(body)
    message = str(given.get("message") or "")
    if status == 401:
        message = _unauthorized(endpoint, shown, now)
    elif user := _NOT_ALLOWED.search(message):
        message = f"{message}; {_grant(user[1], endpoint.server, shown)}"
    else:
        return body
    return orjson.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "reason": "Unauthorized" if status == 401 else "Forbidden",
            **given,
            "message": message,
            "code": status,
        }
    )


def _unauthorized(endpoint: Endpoint, shown: Credential, now: float) -> str:
    ends = expiry(shown.certificate) if shown.certificate and not shown.authorization else None
    if ends is not None and ends <= now:
        return f"{endpoint.server} does not accept {shown.what}, which expired on {day(ends)}; renew it (Unauthorized)"
    return f"{endpoint.server} does not accept {shown.what}; {shown.remedy} (Unauthorized)"


def _grant(user: str, address: str, shown: Credential) -> str:
    if user == "system:anonymous":
        return f"{address} does not accept {shown.what}; {shown.remedy}"
    return f"bind a role that allows it to this user on {address}"


def _status(body: bytes) -> dict[str, Any]:
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return status if isinstance(status, dict) else {}
