"""How much of each resource pods ask for and nodes have, counted as a scheduler counts: cpu in millicores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hanse.kube.manifest import Obj
from hanse.kube.quantities import resource_amount

Amounts = Mapping[str, int]
PODS = "pods"


def amounts_of(quantities: Mapping[str, str] | None) -> dict[str, int]:
    """Read a resource list."""
    return {name: resource_amount(name, text) for name, text in (quantities or {}).items()}


def total(parts: Iterable[Amounts]) -> dict[str, int]:
    """Return the sum of amounts."""
    found: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            found[name] = found.get(name, 0) + amount
    return found


def less(amounts: Amounts, taken: Amounts) -> dict[str, int]:
    """Return what is left of amounts."""
    return total((amounts, {name: -amount for name, amount in taken.items()}))


def pod_requests(spec: Obj) -> dict[str, int]:
    """Return what a pod asks for: its containers at once, or the most that starting them needs at one time.

    Init containers run one after the other beside the sidecars that were started before them; sidecars stay.
    """
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        asked = _container_requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = total((sidecars, asked))
            peak = _largest(peak, sidecars)
        else:
            peak = _largest(peak, total((sidecars, asked)))
    running = total((sidecars, *(_container_requests(container) for container in spec.get("containers") or ())))
    of_pod = amounts_of((spec.get("resources") or {}).get("requests"))
    return total(({**_largest(peak, running), **of_pod}, amounts_of(spec.get("overhead"))))


def _container_requests(container: Obj) -> dict[str, int]:
    resources = container.get("resources") or {}
    return amounts_of({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _largest(one: Amounts, other: Amounts) -> dict[str, int]:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}
