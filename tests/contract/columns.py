"""Writes src/hanse/apiserver/tables/descriptions.json: what a real server says of each column of its tables.

python -m tests.contract.columns
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson

from hanse.apiserver.kinds import BUILTIN
from hanse.kube.resources import Resource
from tests.contract.judging import address_of
from tests.contract.playing import Played, play_all
from tests.contract.shape import JUDGE
from tests.contract.step import TABLE, Step, get
from tests.kubernetes.real import real_clusters

FILE = Path(__file__).parents[2] / "src" / "hanse" / "apiserver" / "tables" / "descriptions.json"
# The columns that every kind has in the same words.
_SHARED = ("Name", "Age", "Created At")


def _steps() -> list[Step]:
    return [
        get(f"{group}/{entry.kind}", Resource(group, version, entry.plural, entry.kind).path(), accept=TABLE)
        for (group, version), entries in BUILTIN.items()
        for entry in entries
        if "list" in entry.verbs and (group, version) != ("autoscaling", "v1")
    ]


def described(played: dict[str, Played]) -> dict[str, dict[str, str]]:
    """Return the descriptions by kind and column, with what kinds share under "*"."""
    table: dict[str, dict[str, str]] = {"*": {}}
    for kind, answer in played.items():
        told: dict[str, Any] = {one["name"]: one["description"] for one in answer.body["columnDefinitions"]}
        for name in _SHARED:
            if name in told:
                table["*"].setdefault(name, told[name])
        own = {name: text for name, text in told.items() if text != table["*"].get(name)}
        if own:
            table[kind] = own
    return table


def main() -> None:
    """Ask a real server and write the file."""
    with real_clusters({"columns": JUDGE}) as clusters:
        played = asyncio.run(play_all(address_of(clusters["columns"]), _steps()))
    FILE.write_bytes(orjson.dumps(described(played), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
