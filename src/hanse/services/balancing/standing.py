"""How a balancer stands: what it was told and what it counts, side by side, for those who look.

What it was told lies beside it in `lines.json`, since HAProxy knows addresses and not clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from hanse.services.balancing.lines import Drawn

_FILE = "lines.json"


@dataclass(frozen=True, slots=True)
class Standing:
    """One address behind one entrance."""

    service: str
    listen: int
    mode: str
    hosts: tuple[str, ...]
    cluster: str
    address: str
    port: int
    weight: int
    # As the balancer sees it: Up, Down, Drained, or Unknown where it does not run.
    state: str
    # How many connections it has now, and how many it has had.
    connections: int
    total: int


def keep_drawn(folder: Path, drawn: Drawn) -> None:
    """Write down what a balancer was told."""
    lines = [{**asdict(line), "name": line.name, "service": str(line.service)} for line in drawn.lines]
    troubles = [{"service": str(trouble.service), "why": trouble.why} for trouble in drawn.troubles]
    partial = folder / f".{_FILE}.partial"
    partial.write_bytes(orjson.dumps({"lines": lines, "troubles": troubles}, option=orjson.OPT_INDENT_2))
    partial.replace(folder / _FILE)


def kept_drawn(folder: Path) -> dict[str, Any] | None:
    """Read what a balancer was told; None where it never was."""
    try:
        document: dict[str, Any] = orjson.loads((folder / _FILE).read_bytes())
    except FileNotFoundError:
        return None
    return document


def standings(document: Mapping[str, Any], counted: Iterable[Mapping[str, str]] | None) -> list[Standing]:
    """Put together what a balancer was told and what it counts."""
    rows = {(row["pxname"], row["addr"]): row for row in counted or () if row.get("addr")}
    return [
        _standing(line, target, rows.get((line["name"], _joined(target)), {}), unknown=counted is None)
        for line in document["lines"]
        for target in line["targets"]
    ]


def _standing(line: Mapping[str, Any], target: Mapping[str, Any], row: Mapping[str, str], *, unknown: bool) -> Standing:
    return Standing(
        service=line["service"],
        listen=line["listen"],
        mode=line["mode"],
        hosts=tuple(line["hosts"]),
        cluster=target["cluster"],
        address=target["address"],
        port=target["port"],
        weight=target["weight"],
        state="Unknown" if unknown else _state(row.get("status", ""), target["weight"]),
        connections=int(row.get("scur") or 0),
        total=int(row.get("stot") or 0),
    )


def _state(status: str, weight: int) -> str:
    if status.startswith("DOWN") or not status:
        return "Down"
    return "Drained" if not weight else "Up"


def _joined(target: Mapping[str, Any]) -> str:
    address = f"[{target['address']}]" if ":" in target["address"] else target["address"]
    return f"{address}:{target['port']}"
