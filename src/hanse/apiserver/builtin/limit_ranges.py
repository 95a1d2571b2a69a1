"""What LimitRanges do to new pods of their namespace: complete containers, and refuse what is out of range."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING

from hanse.apiserver import objects, status
from hanse.kube.manifest import Obj, dig
from hanse.kube.quantities import parse_quantity
from hanse.kube.resources import PODS

if TYPE_CHECKING:
    from hanse.apiserver.core import Core

_BUCKET = "core/limitranges"
_ANNOTATION = "kubernetes.io/limit-ranger"


def keep_limits(core: Core, pod: Obj) -> None:
    """Complete a pod with the defaults of its namespace's LimitRanges; raises Forbidden where it breaks one."""
    ranges = [
        objects.decode(record.value, "v1", "LimitRange")
        for record in core.storage.scan(_BUCKET, f"{pod['metadata']['namespace']}/")
    ]
    if not ranges:
        return
    items = [item for one in ranges for item in dig(one, "spec", "limits", default=None) or ()]
    _complete(pod, [item for item in items if item.get("type") == "Container"])
    problems = [problem for item in items for problem in _problems(item, pod)]
    if problems:
        told = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise status.forbidden(PODS, pod["metadata"].get("name") or "", told)


def _complete(pod: Obj, items: list[Obj]) -> None:
    told = []
    for sort, field in (("container", "containers"), ("init container", "initContainers")):
        for container in pod["spec"].get(field) or ():
            for kind, given in (("request", "defaultRequest"), ("limit", "default")):
                if added := _fill(container, f"{kind}s", items, given):
                    told.append(f"{', '.join(added)} {kind} for {sort} {container.get('name')}")
    if told:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(told)}"


def _fill(container: Obj, kind: str, items: list[Obj], given: str) -> list[str]:
    """Set what a container does not say itself; returns the names of what was set."""
    resources = container.get("resources") or {}
    amounts = dict(resources.get(kind) or {})
    added = []
    for item in items:
        for name, amount in (item.get(given) or {}).items():
            if name not in amounts:
                amounts[name] = amount
                added.append(name)
    if added:
        container["resources"] = {**resources, kind: amounts}
    return sorted(added)


def _problems(item: Obj, pod: Obj) -> list[str]:
    sort = item.get("type")
    containers = [*(pod["spec"].get("containers") or ()), *(pod["spec"].get("initContainers") or ())]
    if sort == "Container":
        return [told for one in containers for told in _out_of_range(item, *_amounts_of([one]))]
    if sort == "Pod":
        return _out_of_range(item, *_amounts_of(pod["spec"].get("containers") or ()))
    return []


def _amounts_of(containers: Iterable[Obj]) -> tuple[dict[str, Decimal], dict[str, Decimal]]:
    requests: dict[str, Decimal] = {}
    limits: dict[str, Decimal] = {}
    for container in containers:
        for kind, sums in (("requests", requests), ("limits", limits)):
            for name, amount in (dig(container, "resources", kind) or {}).items():
                sums[name] = sums.get(name, Decimal(0)) + parse_quantity(amount)
    return requests, limits


def _out_of_range(item: Obj, requests: dict[str, Decimal], limits: dict[str, Decimal]) -> list[str]:
    """Return upstream's sentences about amounts below the least and above the most."""
    problems, sort = [], item["type"]
    for name, least in (item.get("min") or {}).items():
        for kind, amounts in (("request", requests), ("limit", limits)):
            if kind == "request" and name not in amounts:
                problems.append(f"minimum {name} usage per {sort} is {least}.  No request is specified")
            elif name in amounts and amounts[name] < parse_quantity(least):
                problems.append(f"minimum {name} usage per {sort} is {least}, but {kind} is {_shown(amounts[name])}")
    for name, most in (item.get("max") or {}).items():
        for kind, amounts in (("limit", limits), ("request", requests)):
            if kind == "limit" and name not in amounts:
                problems.append(f"maximum {name} usage per {sort} is {most}.  No limit is specified")
            elif name in amounts and amounts[name] > parse_quantity(most):
                problems.append(f"maximum {name} usage per {sort} is {most}, but {kind} is {_shown(amounts[name])}")
    for name, ratio in (item.get("maxLimitRequestRatio") or {}).items():
        problems += _ratio_problem(sort, name, ratio, requests.get(name), limits.get(name))
    return problems


def _ratio_problem(sort: str, name: str, ratio: str, request: Decimal | None, limit: Decimal | None) -> list[str]:
    told = f"{name} max limit to request ratio per {sort} is {ratio}, but "
    if not request:
        return [f"{told}no request is specified or request is 0"]
    if not limit:
        return [f"{told}no limit is specified or limit is 0"]
    if limit / request > parse_quantity(ratio):
        return [f"{told}provided ratio is {float(limit / request):f}"]
    return []


def _shown(amount: Decimal) -> str:
    return str(int(amount)) if amount == int(amount) else f"{int(amount * 1000)}m"
