"""Demands on the shape of a manifest, before anything is read out of it or written into it."""

from __future__ import annotations

from typing import Any

from hanse.kube.manifest import Obj
from hanse.rollouts.sources.problem import CHART_ERROR, SourceProblem


def demand_shape(obj: Obj) -> None:
    """Raise SourceProblem where a manifest has no name, or labels or annotations that are no mappings."""
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        raise SourceProblem(
            CHART_ERROR,
            f"a manifest of kind {obj.get('kind')} has no metadata.name; every object of a release needs a fixed name",
        )
    for field in ("labels", "annotations"):
        written = metadata.get(field)
        if written is not None and not isinstance(written, dict):
            raise SourceProblem(
                CHART_ERROR, f'{obj.get("kind")} "{name}": metadata.{field} is not a mapping of names to texts'
            )


def mapping_in(parent: Obj, field: str, *, of: str) -> dict[str, Any]:
    """Return the mapping in a field, put there where it is missing; `of` names the object, for the sentence."""
    if parent.get(field) is None:
        parent[field] = {}
    found = parent[field]
    if not isinstance(found, dict):
        raise SourceProblem(CHART_ERROR, f"{of}: {field} is not a mapping")
    return found
