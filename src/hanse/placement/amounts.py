"""Resources as whole thousandths: of a cluster, and of one replica."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hanse.kube.manifest import Obj, dig
from hanse.kube.quantities import parse_quantity


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
    """Return what one pod of a template asks of a node, the pod itself included.

    Containers run together, init containers one after the other before them: the greater of both counts.
    """
    spec = dig(pod_template, "spec", default={})
    together: dict[str, int] = {}
    for container in _containers(spec, "containers"):
        for name, amount in _requests(container).items():
            together[name] = together.get(name, 0) + amount
    for container in _containers(spec, "initContainers"):
        for name, amount in _requests(container).items():
            together[name] = max(together.get(name, 0), amount)
    return {**together, "pods": 1000}


def _containers(spec: Any, field: str) -> list[Obj]:
    found = dig(spec, field, default=[])
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _requests(container: Obj) -> dict[str, int]:
    limits = dig(container, "resources", "limits", default={})
    requests = dig(container, "resources", "requests", default={})
    return thousandths({**limits, **requests}) if isinstance(limits, dict) and isinstance(requests, dict) else {}
