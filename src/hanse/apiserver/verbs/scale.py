"""scale: the number of replicas of any kind that has one, as an autoscaling/v1 Scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hanse.apiserver import status
from hanse.apiserver.answers import Answer, answer_plain
from hanse.apiserver.core import Call
from hanse.apiserver.verbs.bodies import read_part
from hanse.apiserver.verbs.patch import patch_function, patch_type
from hanse.apiserver.verbs.writing import change_object
from hanse.kube.manifest import Obj, dig
from hanse.kube.selectors import LabelSelector


async def get_scale(call: Call) -> Answer:
    """Answer with an object's scale."""
    obj = call.core.read(call.served, call.namespace, call.path.name)
    if obj is None:
        raise status.not_found(call.served.resource, call.path.name)
    return answer_plain(call, scale_of(call, obj))


async def update_scale(call: Call) -> Answer:
    """Set the number of replicas by a whole Scale."""
    wanted = read_part(call, "autoscaling", "v1", "Scale")
    return await _write(call, lambda _: wanted)


async def patch_scale(call: Call) -> Answer:
    """Set the number of replicas by a patch of the Scale."""
    return await _write(call, patch_function(call, patch_type(call)))


async def _write(call: Call, change: Callable[[Obj], Obj]) -> Answer:
    def scaled(live: Obj) -> Obj:
        scale = change(scale_of(call, live))
        replicas = dig(scale, "spec", "replicas", default=0)
        if not isinstance(replicas, int) or replicas < 0:
            problem = status.invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
            raise status.invalid("autoscaling", "Scale", call.path.name, [problem])
        version = dig(scale, "metadata", "resourceVersion")
        if version:
            live["metadata"]["resourceVersion"] = version
        set_replicas(call, live, replicas)
        return live

    changed = await change_object(call, scaled, subresource="scale")
    return answer_plain(call, scale_of(call, changed))


def set_replicas(call: Call, obj: Obj, replicas: int) -> None:
    """Write a number of replicas to where the kind keeps it."""
    _set(obj, _paths(call)[0], replicas)


def scale_of(call: Call, obj: Obj) -> Obj:
    """Return the Scale view of an object."""
    spec_path, status_path, selector_path = _paths(call)
    metadata = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    scale: Obj = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {},
        "status": {"replicas": dig(obj, *status_path, default=0)},
    }
    replicas = dig(obj, *spec_path)
    if replicas:
        scale["spec"]["replicas"] = replicas
    selector = _selector_text(dig(obj, *selector_path) if selector_path else None)
    if selector:
        scale["status"]["selector"] = selector
    return scale


def _selector_text(selector: Any) -> str:
    if isinstance(selector, str):
        return selector
    if not isinstance(selector, dict):
        return ""
    if "matchLabels" in selector or "matchExpressions" in selector:
        return str(LabelSelector.from_object(selector))
    return str(LabelSelector.from_labels(selector))


def _paths(call: Call) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    scale = dig(dict(call.served.definition), "subresources", "scale")
    if scale is None:
        return ("spec", "replicas"), ("status", "replicas"), ("spec", "selector")
    return (
        _steps(scale["specReplicasPath"]),
        _steps(scale["statusReplicasPath"]),
        _steps(scale.get("labelSelectorPath") or ""),
    )


def _steps(path: str) -> tuple[str, ...]:
    return tuple(step for step in path.split(".") if step)


def _set(obj: Obj, path: tuple[str, ...], value: int) -> None:
    for step in path[:-1]:
        obj = obj.setdefault(step, {})
    obj[path[-1]] = value
