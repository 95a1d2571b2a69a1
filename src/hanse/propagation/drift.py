"""What somebody changed in a member: the rendered fields that are no longer as they were rendered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hanse.kube.manifest import Obj
from hanse.kube.schemas import Schema
from hanse.propagation.comparison import covers

_NAMED = 3


def drift_in_words(observed: Obj, rendered: Obj, schema: Schema | None) -> str:
    """Say in one sentence which fields differ and that they are left so."""
    fields = list(drifted_fields(observed, rendered, schema))
    shown = ", ".join(fields[:_NAMED])
    more = f" and {len(fields) - _NAMED} more" if len(fields) > _NAMED else ""
    return f"somebody changed {shown}{more} there; it is left so, as hanse.dev/drift asks"


def drifted_fields(observed: Any, rendered: Any, schema: Schema | None, path: str = "") -> Iterator[str]:
    """Yield the paths of the smallest fields that were rendered and are missing or different."""
    if covers(observed, rendered, schema):
        return
    if isinstance(rendered, dict) and isinstance(observed, dict):
        for name, value in rendered.items():
            inner = f"{path}.{name}" if path else name
            yield from drifted_fields(observed.get(name), value, schema and schema.child(name), inner)
        return
    if isinstance(rendered, list) and isinstance(observed, list) and schema is not None and schema.list_type == "map":
        entries = {schema.entry_key(item): item for item in observed}
        for item in rendered:
            key = schema.entry_key(item)
            yield from drifted_fields(entries.get(key), item, schema.items, f"{path}[{','.join(key)}]")
        return
    yield path
