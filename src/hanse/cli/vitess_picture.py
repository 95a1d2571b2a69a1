"""A federated Vitess drawn as cells by shards: who leads each, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.cli.output import Column, marked, table
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig, name_of, namespace_of
from hanse.vitess.federated.plan import stored_plan
from hanse.vitess.federated.reading import Shard, all_shards
from hanse.vitess.identity import parse_alias

PRIMARY, TABLET, NOTHING = "*", "o", "."


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells as rows, shards as columns; every place has as many marks as tablets, a star for the primary."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


def grid_of(source: Obj) -> Grid:
    """Draw what is asked for, with the primaries that topology names."""
    plan, shards = stored_plan(source), _shards(source)
    homes = dict(plan.homes) if plan is not None else {}
    told = dig(source, "status", "federation", "shards", default={})
    cells = list(homes) or [str(cell.get("name")) for cell in dig(source, "spec", "cells", default=())]
    rows = []
    for cell in sorted(cells, key=lambda name: (homes.get(name, ""), name)):
        available = dig(source, "status", "cells", cell, "gatewayAvailable", default="Unknown")
        marks = [_place(cell, shard, str(dig(told, str(shard.id), "primary", default=""))) for shard in shards]
        rows.append((homes.get(cell, ""), cell, *marks, available))
    columns = (Column("CLUSTER"), Column("CELL"), *(Column(str(shard.id)) for shard in shards), Column("GATEWAYS"))
    return Grid(columns, tuple(rows))


def _shards(source: Obj) -> list[Shard]:
    try:
        return all_shards(source.get("spec") or {})
    except (ValueError, TypeError, AttributeError):
        # What cannot be divided is told by the conditions.
        return []


def _place(cell: str, shard: Shard, primary: str) -> str:
    parsed = parse_alias(primary)
    leads = parsed is not None and parsed[0] == cell
    tablets = [identity.alias for identity in shard.identities() if identity.cell == cell]
    others = TABLET * (len(tablets) - (1 if primary in tablets else 0))
    return (PRIMARY if leads else "") + others or NOTHING


def picture(source: Obj, *, wide: bool = False) -> str:
    """Return the picture as text, with what is missing below."""
    grid = grid_of(source)
    lines = [f"{namespace_of(source)}/{name_of(source)}: {_standing(source)}\n\n"]
    lines.append(table(grid.columns, grid.rows))
    lines.append(f"\n{PRIMARY} primary   {TABLET} tablet   {NOTHING} none\n")
    notes = dig(source, "status", "federation", "notes", default=())
    lines += [f"- {note}\n" for note in notes]
    if wide:
        lines.append("\n" + table(SHARD_COLUMNS, shard_rows(source)))
        lines.append("\n" + table(MEMBER_COLUMNS, member_rows(source)))
    return "".join(lines)


SHARD_COLUMNS = (Column("SHARD"), Column("PRIMARY"), Column("CLUSTER"), Column("BEGUN BY"))
MEMBER_COLUMNS = (Column("CLUSTER"), Column("CELLS"), Column("STATE"), Column("WAITS FOR"))


def shard_rows(source: Obj) -> list[tuple[str, ...]]:
    """Return who leads each shard."""
    told = dig(source, "status", "federation", "shards", default={})
    return [
        (name, str(each.get("primary", "")), str(each.get("member", "")), str(each.get("initializer", "")))
        for name, each in told.items()
    ]


def member_rows(source: Obj) -> list[tuple[str, ...]]:
    """Return how each member stands."""
    members = dig(source, "status", "federation", "members", default={})
    return [
        (name, ",".join(each.get("cells") or ()), _state(each), str(each.get("message", "")))
        for name, each in members.items()
    ]


def _state(member: Obj) -> str:
    if not member.get("reachable"):
        return marked("failed")
    return marked("ok" if member.get("ready") else "waiting")


def _standing(source: Obj) -> str:
    """Say in one sentence how it stands; what is refused comes before what is not ready."""
    conditions = dig(source, "status", "conditions", default=[])
    for kind, bad in (("Accepted", "False"), ("Degraded", "True"), ("Ready", "False"), ("Ready", "Unknown")):
        found = find_condition(conditions, kind)
        if found is not None and found.get("status") == bad:
            word = {"Accepted": "refused", "Degraded": "degraded"}.get(kind, "not ready")
            return f"{word}: {found.get('message') or found.get('reason')}"
    return "ready" if find_condition(conditions, "Ready") else "not looked at yet"


def document(source: Obj) -> Obj:
    """Return the picture for programs."""
    return {
        "name": name_of(source),
        "namespace": namespace_of(source),
        "standing": _standing(source),
        "cells": dig(source, "status", "cells", default={}),
        "shards": dig(source, "status", "federation", "shards", default={}),
        "members": dig(source, "status", "federation", "members", default={}),
        "notes": list(dig(source, "status", "federation", "notes", default=())),
    }
