"""Printing: tables for people, JSON and YAML for programs, all from the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click
import orjson
import yaml

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("table", "wide", "json", "yaml", "name")


@dataclass(frozen=True, slots=True)
class Column:
    """One column; a wide one is shown only with `-o wide`."""

    title: str
    wide: bool = False


def output_option() -> Callable[[F], F]:
    """Return the `-o` option that every command with output has."""
    return click.option(
        "-o", "--output", "output", type=click.Choice(FORMATS), default="table", help="How to print the answer."
    )


def show(output: str, columns: Sequence[Column], rows: Sequence[Sequence[str]], document: Any, names: Any = ()) -> None:
    """Print rows as a table, or the document that they were made from."""
    if output == "json":
        click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
    elif output == "yaml":
        click.echo(yaml.safe_dump(document, sort_keys=False), nl=False)
    elif output == "name":
        for name in names:
            click.echo(name)
    else:
        click.echo(table(columns, rows, wide=output == "wide"), nl=False)


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, wide: bool = False) -> str:
    """Lay rows out in columns as kubectl does."""
    shown = [index for index, column in enumerate(columns) if wide or not column.wide]
    lines = [[columns[index].title for index in shown], *([row[index] or "-" for index in shown] for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(shown))]
    return "".join(
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in lines
    )


def age(seconds: float) -> str:
    """Write a duration as kubectl does: 45s, 12m, 3h, 5d."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size * 2 or (unit != "m" and seconds >= size):
            return f"{int(seconds // size)}{unit}"
    return f"{max(0, int(seconds))}s"
