"""What becomes of the copies when a federated object is deleted: its annotations say."""

from __future__ import annotations

from typing import Any

import orjson

from hanse.api.kubefed.forms import Form
from hanse.api.names import DELETION_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, finalizers_of
from hanse.propagation.door import Farewell
from hanse.propagation.intent import Problem
from hanse.propagation.removal import Removal

_POLICIES = ("Orphan", "Background", "Foreground")


def farewell_of(source: Obj, form: Form) -> Farewell | Problem:
    """Read how an object wants to go; options that cannot be read keep it, and say so."""
    annotations = annotations_of(source)
    orphan = (
        annotations.get(form.orphan_annotation) == "true"
        or annotations.get(DELETION_ANNOTATION) == "orphan"
        or "orphan" in finalizers_of(source)
    )
    name = f"{form.prefix}/deleteoption"
    text = annotations.get(name)
    if orphan or text is None:
        return Farewell(orphan)
    options = _options(text)
    if isinstance(options, str):
        return Problem(
            "InvalidDeleteOptions", f"annotation {name} {options}; correct it, or nothing is deleted in any cluster"
        )
    return Farewell(removal=options)


def _options(text: str) -> Removal | str:
    """Return the options that are the copies' as well, or what is wrong with them."""
    try:
        document: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return 'must be JSON such as {"propagationPolicy":"Orphan"}'
    if not isinstance(document, dict):
        return 'must be a JSON object such as {"propagationPolicy":"Orphan"}'
    policy = document.get("propagationPolicy", "Background")
    if policy not in _POLICIES:
        return f"must have one of {', '.join(_POLICIES)} as propagationPolicy, not {policy!r}"
    seconds = document.get("gracePeriodSeconds")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int) or seconds < 0):
        return f"must have a whole number as gracePeriodSeconds, not {seconds!r}"
    return Removal(policy, seconds)
