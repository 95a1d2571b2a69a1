"""Volume claims: made once, and then only grown."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.kube.manifest import Obj, dig
from hanse.kube.quantities import parse_quantity
from hanse.vitess.operator.keeping import kept_with
from hanse.vitess.operator.shaping import object_of

RESIZED = "FileSystemResizePending"


def claim(name: str, labels: Mapping[str, str], template: Obj, live: Obj | None) -> Obj:
    """Return a claim as it shall be; of one that exists nothing but a larger size is applied."""
    if live is None:
        return object_of("v1", "PersistentVolumeClaim", name, labels, spec=template)
    wish = kept_with(live, labels, {})
    if not grows(live, template):
        return wish
    resources = {**(wish["spec"].get("resources") or {})}
    resources["requests"] = {**(resources.get("requests") or {}), "storage": wanted_size(template)}
    return {**wish, "spec": {**wish["spec"], "resources": resources}}


def wanted_size(template: Obj) -> str:
    """Return the size that a claim's template asks for."""
    return str(dig(template, "resources", "requests", "storage", default=""))


def asked_size(live: Obj) -> str:
    """Return the size that a claim asks for."""
    return wanted_size(live.get("spec") or {})


def grows(live: Obj, template: Obj) -> bool:
    """Tell whether a template asks for more than a claim has asked for so far."""
    return _compared(live, template) > 0


def shrinks(live: Obj, template: Obj) -> bool:
    """Tell whether a template asks for less, which no claim can be given."""
    return _compared(live, template) < 0


def _compared(live: Obj, template: Obj) -> int:
    have, want = asked_size(live), wanted_size(template)
    if not have or not want:
        return 0
    difference = parse_quantity(want) - parse_quantity(have)
    return (difference > 0) - (difference < 0)


def waits_for_restart(live: Obj) -> bool:
    """Tell whether a claim's volume has grown and its file system will when its pod is made anew."""
    conditions = dig(live, "status", "conditions", default=[])
    return any(each.get("type") == RESIZED and each.get("status") == "True" for each in conditions)
