"""OpenAPI documents: what `kubectl explain`, `apply` and `diff` ask the server about its kinds."""

from __future__ import annotations

from hanse.apiserver.answers import Answer
from hanse.apiserver.registry import Registry
from hanse.kube.transport import Request


def answer(registry: Registry, path: str, request: Request) -> Answer | None:
    """Answer /openapi/v2, /openapi/v3 and a group's document; None for other paths."""
    return None
