"""Tables: what `kubectl get` prints, made by the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hanse.apiserver.tables import cluster_kinds, custom, rare_kinds, workload_kinds
from hanse.apiserver.tables.columns import CREATED, Column, Printer
from hanse.apiserver.tables.descriptions import described
from hanse.kube.manifest import Obj

if TYPE_CHECKING:
    from hanse.apiserver.registry import Served

_PRINTERS: dict[tuple[str, str], Printer] = {
    **workload_kinds.PRINTERS,
    **cluster_kinds.PRINTERS,
    **rare_kinds.PRINTERS,
}


def table_for(served: Served, listed: Sequence[Obj], include: str, now: float) -> Obj:
    """Return a Table of objects; `include` says what of each object its row carries."""
    printer = printer_for(served)
    rows = [_row(printer, obj, include, now) for obj in listed]
    metadata = {}
    if len(listed) == 1:
        metadata["resourceVersion"] = listed[0]["metadata"].get("resourceVersion", "")
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in _columns(served, printer)],
        "rows": rows,
    }


def _columns(served: Served, printer: Printer) -> tuple[Column, ...]:
    if served.custom:
        return printer.columns
    return described(served.resource.group, served.resource.kind, printer.columns)


def printer_for(served: Served) -> Printer:
    """Return how a kind is printed."""
    if served.custom:
        return custom.printer_of(served.definition)
    return _PRINTERS.get((served.resource.group, served.resource.kind), CREATED)


def _row(printer: Printer, obj: Obj, include: str, now: float) -> Obj:
    row: Obj = {"cells": printer.cells(obj, now)}
    if printer.conditions is not None:
        conditions = printer.conditions(obj)
        if conditions:
            row["conditions"] = conditions
    if include == "Object":
        row["object"] = obj
    elif include == "Metadata":
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": obj["metadata"],
        }
    else:
        row["object"] = None
    return row
