"""Where Hanse leaves something else than KubeFed, for reasons that docs/decisions/0011-kubefed-quirks.md gives."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from tests.kubernetes.kubefed.examples import Obj


@dataclass(frozen=True, slots=True)
class Departure:
    """A field of what an example leaves, and why it is not the same."""

    example: str
    path: tuple[str | int, ...]
    why: str

    def of(self, left: Obj) -> Any:
        """Return what was left in the field, None where nothing was."""
        value: Any = left
        for name in self.path:
            try:
                value = value[name]
            except (KeyError, IndexError):
                return None
        return value


def _member(cluster: str, *path: str | int) -> tuple[str | int, ...]:
    return ("members", cluster, *path)


_SAMPLE = "Deployment test-namespace/test-deployment"
_NAMESPACE = "FederatedNamespace adoption/adoption"
_CONTAINER = ("spec", "template", "spec", "containers", 0)

DEPARTURES = (
    *(
        Departure("adoption", _member(cluster, *path), why)
        for cluster in ("cluster1", "cluster2")
        for path, why in (
            (("ConfigMap adoption/taken-over", "data", "b"), f"what {cluster} had beside the template stays"),
            (("Namespace adoption",), f"a namespace that {cluster} had is used and not owned"),
        )
    ),
    Departure("adoption", ("versions", _NAMESPACE, "clusters"), "a namespace that is not owned has no version"),
    Departure(
        "template",
        _member("cluster2", "Secret template/secret", "data"),
        "an override of null gives a key no value, not an empty one",
    ),
    Departure(
        "project-sample",
        _member("cluster1", _SAMPLE, *_CONTAINER, "imagePullPolicy"),
        "a default that a cluster once added stays when the image changes",
    ),
)


def agreed(left: Obj) -> Obj:
    """Return what an example left without the fields in which Hanse departs."""
    kept = copy.deepcopy(left)
    for departure in DEPARTURES:
        parent = Departure("", departure.path[:-1], "").of(kept)
        if isinstance(parent, dict):
            parent.pop(departure.path[-1], None)
    return kept
