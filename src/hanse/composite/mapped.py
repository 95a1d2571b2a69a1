"""What is known of a map without asking anybody: how each input is called, and how much there is of everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hanse.composite.children import Observed
from hanse.kube.manifest import Obj, dig, name_of, namespace_of
from hanse.kube.resources import Resource


def map_key(kind: Resource, given: Obj) -> str:
    """Return how an input is called among all inputs of a parent."""
    place = f"{namespace_of(given)}/" if namespace_of(given) else ""
    return f"{kind.group_resource}/{place}{name_of(given)}"


def counted(inputs: Observed, outputs: Observed) -> Obj:
    """Return the status of a parent: how many inputs and outputs there are, and of how many each condition holds."""
    return {
        "inputs": {kind.plural: {"total": len(objects)} for kind, objects in inputs.items()},
        "outputs": {kind.plural: {"total": len(objects), **_true(objects)} for kind, objects in outputs.items()},
    }


def _true(objects: Sequence[Obj]) -> Counter[str]:
    listed = (dig(obj, "status", "conditions", default=()) for obj in objects)
    return Counter(each["type"] for conditions in listed for each in conditions if each.get("status") == "True")
