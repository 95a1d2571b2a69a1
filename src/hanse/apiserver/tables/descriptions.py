"""What columns say of themselves: a real server's sentences, which clients show as help."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import orjson

from hanse.apiserver.tables.columns import Column

SHARED = "*"


@cache
def descriptions() -> dict[str, dict[str, str]]:
    """Return the sentences by kind and column; those that all kinds share stand under `SHARED`."""
    table: dict[str, dict[str, str]] = orjson.loads(Path(__file__).with_name("descriptions.json").read_bytes())
    return table


@cache
def described(group: str, kind: str, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Return a kind's columns with their descriptions."""
    told = {**descriptions()[SHARED], **descriptions().get(f"{group}/{kind}", {})}
    return tuple(replace(one, description=told.get(one.name, one.description)) for one in columns)
