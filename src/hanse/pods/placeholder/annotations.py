"""Which annotations of a running pod its placeholder shows: pure.

Tools tell by them what came of a pod. What the placeholder had of itself stays: a note on it says which ones came from
the pod, and only these change with it and go with it. What Kubernetes' own components read in a pod is never taken from
another cluster, and all of it has to fit into what the placeholder has left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hanse.api.admiralty.keys import PREFIX, SHOWN
from hanse.api.names import PREFIX as HANSE_PREFIX
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.kube.selectors import qualified_name_problems

# What an API server takes of all annotations of an object together, and what of that is left to others.
_TOTAL_BYTES = 256 * 1024
_SPARED_BYTES = 16 * 1024
_BETWEEN_US = (PREFIX, "pods.hanse.dev/", HANSE_PREFIX)
_KUBERNETES = ("kubernetes.io", "k8s.io")


@dataclass(frozen=True, slots=True)
class Shown:
    """How the annotations of a placeholder are to change, and those of its pod for which it has no room."""

    patch: dict[str, str | None]
    left_out: tuple[str, ...] = ()


def annotations_shown(placeholder: Obj, chaperon: Obj) -> Shown:
    """Return how a placeholder comes to show the annotations that its pod got in its cluster."""
    own, before = annotations_of(placeholder), shown_before(placeholder)
    others = {name: text for name, text in own.items() if name not in before and name != SHOWN}
    found = {name: text for name, text in _told(chaperon).items() if name not in others}
    fitting = _fitting(found, _TOTAL_BYTES - _SPARED_BYTES - _size(others))
    note = {SHOWN: ",".join(sorted(fitting))} if fitting else {}
    wanted = {**fitting, **note}
    patch: dict[str, str | None] = {name: text for name, text in wanted.items() if own.get(name) != text}
    patch |= {name: None for name in (*before, SHOWN) if name in own and name not in wanted}
    return Shown(patch, tuple(sorted(found.keys() - fitting.keys())))


def shown_before(placeholder: Obj) -> list[str]:
    """Return the annotations of a placeholder that were taken from its pod, and are not what its owner asks for."""
    noted = annotations_of(placeholder).get(SHOWN, "")
    return [name for name in noted.split(",") if name and _may_be_shown(name)]


def _told(chaperon: Obj) -> dict[str, str]:
    found: Any = dig(chaperon, "status", "podAnnotations")
    entries = found.items() if isinstance(found, dict) else ()
    return {name: text for name, text in entries if isinstance(text, str) and _may_be_shown(name)}


def _may_be_shown(name: str) -> bool:
    domain = name.rpartition("/")[0].lower()
    kubernetes = any(domain == each or domain.endswith(f".{each}") for each in _KUBERNETES)
    return not kubernetes and not name.startswith(_BETWEEN_US) and not qualified_name_problems(name.lower())


def _fitting(found: dict[str, str], room: int) -> dict[str, str]:
    """Return as many annotations as there is room for, the small ones first; each is also noted by its name."""
    kept: dict[str, str] = {}
    room -= _size({SHOWN: ""})
    for name, text in sorted(found.items(), key=lambda each: (_size(dict([each])), each[0])):
        room -= _size({name: text}) + len(name) + 1
        if room < 0:
            break
        kept[name] = text
    return kept


def _size(annotations: dict[str, str]) -> int:
    return sum(len(name.encode()) + len(text.encode()) for name, text in annotations.items())
