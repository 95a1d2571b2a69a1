"""RuntimeClasses: how a pod's containers are run, what that costs, and where it can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hanse.apiserver import objects, status
from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import FieldProblem
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import PODS

if TYPE_CHECKING:
    from hanse.apiserver.core import Core

_BUCKET = "node.k8s.io/runtimeclasses"


def follow_class(core: Core, pod: Obj) -> None:
    """Give a pod what its RuntimeClass says of overhead and nodes; raises Forbidden where there is no such class."""
    spec = pod["spec"]
    named = spec.get("runtimeClassName")
    if not named:
        return
    record = core.storage.get(_BUCKET, named)
    if record is None:
        raise _rejected(pod, f'RuntimeClass "{named}" not found')
    chosen = objects.decode(record.value, "node.k8s.io/v1", "RuntimeClass")
    if overhead := dig(chosen, "overhead", "podFixed"):
        if spec.get("overhead") not in (None, {}, overhead):
            raise _rejected(pod, "Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        spec["overhead"] = overhead
    wanted = dig(chosen, "scheduling", "nodeSelector") or {}
    had = spec.get("nodeSelector") or {}
    if any(had.get(name, value) != value for name, value in wanted.items()):
        raise _rejected(pod, "conflict: pod's node selector and its RuntimeClass's differ")
    if wanted:
        spec["nodeSelector"] = {**had, **wanted}
    tolerations = spec.setdefault("tolerations", [])
    tolerations += [one for one in dig(chosen, "scheduling", "tolerations") or () if one not in tolerations]


def _rejected(pod: Obj, why: str) -> Exception:
    return status.forbidden(PODS, pod["metadata"].get("name") or "", f"pod rejected: {why}")


def _validate(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    problems = field_rules.named("handler", obj.get("handler"))
    if old is not None:
        problems += field_rules.unchanged(obj, old, "", "handler")
    return problems


RUNTIME_CLASS = Strategy(validate=_validate)
