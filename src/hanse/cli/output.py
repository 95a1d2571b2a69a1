"""Printing: tables for people, JSON and YAML for programs, all from the same rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click
import orjson
import yaml

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("table", "wide", "json", "yaml", "name")
# What stands in a column of clusters for the federation's own API server.
FEDERATION = "(federation)"
_MARKS = {"ok": "green", "waiting": "yellow", "failed": "red"}


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
        echo(table(columns, rows, wide=output == "wide"))


def show_documents(manifests: Iterable[Any]) -> None:
    """Print manifests as one YAML stream that `kubectl apply -f -` takes."""
    # A definition has thousands of lines, for which the dumper in Python takes a second.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    for manifest in manifests:
        click.echo(f"---\n{yaml.dump(manifest, Dumper=dumper, sort_keys=False)}", nl=False)


def echo(text: str) -> None:
    """Print text that may have colours; they are left out of pipes and files, and where NO_COLOR is set."""
    click.echo(text, nl=False, color=False if os.environ.get("NO_COLOR") else None)


def marked(word: str) -> str:
    """Return the word for a state in its colour."""
    return click.style(word, fg=_MARKS.get(word))


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    *,
    wide: bool = False,
    widths: dict[str, int] | None = None,
) -> str:
    """Lay rows out in columns as kubectl does.

    Who prints a table in parts keeps `widths`, by title: no column becomes narrower from one part to the next.
    """
    shown = [index for index, column in enumerate(columns) if wide or not column.wide]
    lines = [[columns[index].title for index in shown], *([row[index] or "-" for index in shown] for row in rows)]
    known = {} if widths is None else widths
    for place, title in enumerate(lines[0]):
        known[title] = max(known.get(title, 0), *(_width(line[place]) for line in lines))
    laid = [known[title] for title in lines[0]]
    return "".join(
        "   ".join(cell + " " * (width - _width(cell)) for cell, width in zip(line, laid, strict=True)).rstrip() + "\n"
        for line in lines
    )


def _width(cell: str) -> int:
    """Return how many columns a cell takes on a screen."""
    return len(click.unstyle(cell))


def age(seconds: float) -> str:
    """Write a duration as kubectl does: 45s, 12m, 3h, 5d."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size * 2 or (unit != "m" and seconds >= size):
            return f"{int(seconds // size)}{unit}"
    return f"{max(0, int(seconds))}s"
