"""JSON patches: jsonpatch.escapeKey."""

from __future__ import annotations

from hanse.kube.cel.library.function import Function


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


FUNCTIONS = (Function("jsonpatch.escapeKey", ("string",), "string", _escape, member=False),)
