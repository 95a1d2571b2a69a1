"""What every layer of the tree does alike: names and labels of the next one, and what is ready of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hanse.kube.manifest import Obj, dig, labels_of

Children = Mapping[str, Mapping[str, Obj]]


def inherited(parent: Obj, label: str, value: str) -> Obj:
    """Return the selector and the template of the next layer: those of its parent and one label more."""
    spec = parent["spec"]
    selector, labels = spec["selector"], template_labels(parent)
    return {
        "selector": {**selector, "matchLabels": {**selector.get("matchLabels", {}), label: value}},
        "template": {"metadata": {"labels": {**labels, label: value}}},
    }


def template_labels(parent: Obj) -> dict[str, str]:
    """Return the labels of everything below a parent."""
    labels: dict[str, str] = parent["spec"]["template"]["metadata"]["labels"]
    return labels


def selected(parent: Obj, label: str, value: str) -> dict[str, str]:
    """Return the labels by which pods below a parent are found."""
    labels: dict[str, str] = inherited(parent, label, value)["selector"]["matchLabels"]
    return labels


def of_kind(children: Children, kind: str) -> list[Obj]:
    """Return the children of a kind, in the order of their names."""
    return [children[kind][name] for name in sorted(children[kind])]


def with_label(objects: Iterable[Obj], label: str, value: str) -> list[Obj]:
    """Return the objects that carry a label."""
    return [each for each in objects if labels_of(each).get(label) == value]


def holds(obj: Obj, condition: str) -> bool:
    """Tell whether a condition of an object is true."""
    return any(
        each["type"] == condition and each["status"] == "True"
        for each in dig(obj, "status", "conditions", default=()) or ()
    )


def named(objects: Iterable[Obj]) -> list[str]:
    """Return what objects of a layer are called within their parent, sorted."""
    return sorted(each["spec"]["name"] for each in objects)


def ready_condition(missing: Iterable[str]) -> Obj:
    """Return the condition Ready: true where nothing is missing, and else what is."""
    waits = list(missing)
    if not waits:
        return {"type": "Ready", "status": "True", "reason": "AllReady", "message": "everything below is ready"}
    return {"type": "Ready", "status": "False", "reason": "Waiting", "message": f"waiting for {', '.join(waits)}"}


def absent(what: str, wanted: Iterable[str], ready: Iterable[str]) -> list[str]:
    """Say which of the wanted are not ready, and which that nobody wants are still there."""
    wanted, ready = sorted(wanted), sorted(ready)
    if wanted == ready:
        return []
    lacking = [name for name in wanted if name not in ready]
    return [f"{what} {name}" for name in lacking] or [f"{what} {name} to go" for name in ready if name not in wanted]


def post_update_child(_request: Obj) -> Obj:
    """Agree that a child has moved once its status checks hold.

    With such a hook a parent says Updated only when the last child is well, and not when it began to move: layers above
    would go on too early.
    """
    return {"ready": True}


def merged(under: Any, over: Any) -> Any:
    """Return a value laid over another: mappings field by field, anything else as a whole."""
    if not (isinstance(under, dict) and isinstance(over, dict)):
        return over
    return {**under, **{key: merged(under.get(key), value) for key, value in over.items()}}


def text_of(value: Any) -> str:
    """Return a value as its shortest JSON, of which a digest can be taken."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
