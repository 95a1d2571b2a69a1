"""Resources as whole thousandths: of a cluster, and of one replica."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hanse.kube.manifest import Obj, dig
from hanse.kube.quantities import parse_quantity

# What a pod may ask for as a whole, beside huge pages.
_OF_PODS = frozenset({"cpu", "memory"})


def thousandths(amounts: Mapping[str, object]) -> dict[str, int]:
    """Return quantities in whole thousandths; what cannot be read counts as none."""
    found = {}
    for name, text in amounts.items():
        try:
            found[name] = int(parse_quantity(str(text)) * 1000)
        except ValueError:
            found[name] = 0
    return found


def requests_of(pod_template: Any) -> dict[str, int]:
    """Return what one pod of a template asks of a node, the pod itself included, as the scheduler counts it.

    Containers run together, and with them the init containers that stay (those of restartPolicy Always). The others run
    one after the other before, beside those that stay and were started earlier: the greater of both counts. What the
    pod as a whole asks for stands for the sum of its containers; its overhead comes on top.
    """
    spec = dig(pod_template, "spec", default={})
    together: dict[str, int] = {}
    for container in _containers(spec, "containers"):
        _add(together, _requests(container))
    staying: dict[str, int] = {}
    before: dict[str, int] = {}
    for container in _containers(spec, "initContainers"):
        asked = _requests(container)
        if container.get("restartPolicy") == "Always":
            _add(together, asked)
            _add(staying, asked)
            _raise_to(before, staying)
        else:
            _add(asked, staying)
            _raise_to(before, asked)
    _raise_to(together, before)
    together |= _of_the_whole(spec, together)
    _add(together, thousandths(_amounts(dig(spec, "overhead"))))
    return {**together, "pods": 1000}


def times(requests: Mapping[str, int], count: int) -> dict[str, int]:
    """Return what so many replicas ask for together."""
    return {name: amount * count for name, amount in requests.items()}


def _of_the_whole(spec: Any, together: Mapping[str, int]) -> dict[str, int]:
    """Return what a pod asks for as a whole; of a limit alone nothing follows where containers ask for themselves."""
    limits = thousandths(_amounts(dig(spec, "resources", "limits")))
    asked = {name: amount for name, amount in limits.items() if name not in together}
    asked |= thousandths(_amounts(dig(spec, "resources", "requests")))
    return {name: amount for name, amount in asked.items() if name in _OF_PODS or name.startswith("hugepages-")}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)


def _amounts(found: Any) -> Obj:
    return found if isinstance(found, dict) else {}


def _containers(spec: Any, field: str) -> list[Obj]:
    found = dig(spec, field, default=[])
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _requests(container: Obj) -> dict[str, int]:
    limits, requests = (_amounts(dig(container, "resources", field)) for field in ("limits", "requests"))
    return thousandths({**limits, **requests})
