"""Tables of custom kinds: their definition's printer columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from hanse.apiserver.jsonpath import JsonPath
from hanse.apiserver.tables.columns import Column, Printer, age, created
from hanse.apiserver.tables.descriptions import SHARED, descriptions
from hanse.kube.manifest import Obj, name_of


def printer_of(definition: Mapping[str, Any]) -> Printer:
    """Return how the objects of a CRD version are printed: name, then its columns, or the age where it has none."""
    listed = definition.get("additionalPrinterColumns") or []
    name = Column("Name", format="name", description=descriptions()[SHARED]["Name"])
    if not listed:
        age_column = Column("Age", "date", description=descriptions()[SHARED]["Age"])
        return Printer((name, age_column), lambda obj, now: [name_of(obj), created(obj, now)])
    paths = [(one["type"], JsonPath.parse(one["jsonPath"])) for one in listed]
    columns = (name, *(_column(one) for one in listed))
    return Printer(columns, lambda obj, now: [name_of(obj), *(_cell(kind, path, obj, now) for kind, path in paths)])


def _column(listed: Obj) -> Column:
    return Column(
        listed["name"],
        listed["type"],
        listed.get("format") or "",
        int(listed.get("priority") or 0),
        listed.get("description") or f"Custom resource definition column (in JSONPath format): {listed['jsonPath']}",
    )


def _cell(kind: str, path: JsonPath, obj: Obj, now: float) -> Any:
    values = path.find(obj)
    if not values:
        return None
    value = values[0]
    match kind:
        case "integer":
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        case "number":
            return value if isinstance(value, int | float) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return age(value, now) if value else None
    if len(values) > 1 or isinstance(value, list | dict):
        return _joined(values)
    return str(value).lower() if isinstance(value, bool) else ("" if value is None else str(value))


def _joined(values: list[Any]) -> str:
    return " ".join(one if isinstance(one, str) else orjson.dumps(one).decode() for one in values)
