"""Questions to the server's authorizer: authorizer.group("apps").resource("deployments").check("create").allowed().

A question grows as a map. Who answers it differs from request to request, and is found through `answering`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hanse.kube.cel.library.function import Function, Opaque, opaque

Check = Callable[[dict[str, str]], tuple[bool, str]]

_check: ContextVar[Check | None] = ContextVar("authorizer_check", default=None)
_KIND = "authorizer"


@contextmanager
def answering(check: Check) -> Iterator[None]:
    """Let `check` answer the questions of the expressions evaluated within."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def question(**parts: str) -> Opaque:
    """Return a question with these parts, as the variables `authorizer` and `authorizer.requestResource` hold it."""
    return {_KIND: parts}


def _with(part: str) -> Function:
    def extended(value: Opaque, text: str) -> Opaque:
        return {_KIND: {**opaque(value, _KIND), part: text}}

    return Function(part, ("dyn", "string"), "dyn", extended)


def _service_account(value: Opaque, namespace: str, name: str) -> Opaque:
    return {_KIND: {**opaque(value, _KIND), "user": f"system:serviceaccount:{namespace}:{name}"}}


def _ask(value: Opaque, verb: str) -> Opaque:
    check = _check.get()
    if check is None:
        raise ValueError("no authorizer is configured")
    allowed, reason = check({**opaque(value, _KIND), "verb": verb})
    return {"decision": {"allowed": allowed, "reason": reason}}


def _told(part: str) -> Callable[[Any], Any]:
    return lambda value: opaque(value, "decision")[part]


FUNCTIONS = (
    *(_with(part) for part in ("path", "group", "resource", "subresource", "namespace", "name")),
    Function("serviceAccount", ("dyn", "string", "string"), "dyn", _service_account),
    Function("check", ("dyn", "string"), "dyn", _ask),
    Function("allowed", ("dyn",), "bool", _told("allowed")),
    Function("reason", ("dyn",), "string", _told("reason")),
    Function("errored", ("dyn",), "bool", lambda value: not opaque(value, "decision")),
    Function("error", ("dyn",), "string", lambda value: "" if opaque(value, "decision") else "no decision"),
)
