"""`hanse dns trace`: what a client somewhere is told about a name, each step of it, and who is left out and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from hanse.cli.connection import host_endpoint, host_options
from hanse.cli.dns_book import read_book
from hanse.cli.failures import Misuse, one_sentence
from hanse.cli.output import Column, echo, output_option, show, table
from hanse.cli.running import run
from hanse.services.dns.tracing import Step, Trace, place_to_ask_from, trace
from hanse.services.geography.vantage import NOWHERE

_COLUMNS = (
    Column("STEP"),
    Column("NAME"),
    Column("OF"),
    Column("TYPE"),
    Column("ANSWER"),
    Column("CLUSTER"),
    Column("WHY"),
    Column("TTL", wide=True),
)


@click.command("trace")
@click.argument("name")
@click.option(
    "--from",
    "place",
    default="",
    metavar="PLACE",
    help="Where the client is: cluster/NAME, region/REGION, zone/REGION/ZONE or subnet/CIDR (default: unknown).",
)
@host_options
@output_option()
def command(name: str, place: str, data_dir: Path | None, kubeconfig: Path | None, context: str, output: str) -> None:
    """Say what a client is told about NAME now, step by step, and why.

    NAME may be any name of a service: the hostname in its status, or one of its levels.
    """
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        book = run(lambda: read_book(endpoint))
    try:
        vantage = place_to_ask_from(place, book) if place else NOWHERE
    except ValueError as error:
        raise Misuse(f"--from: {error}") from error
    traced = trace(book, name, vantage)
    rows = list(_rows(traced))
    if output in ("table", "wide"):
        click.echo(f"asked from {traced.vantage}")
        if rows:
            echo(table(_COLUMNS, rows, wide=output == "wide"))
        click.echo(traced.outcome)
    else:
        show(output, _COLUMNS, rows, _document(traced), [told.value for told in _last(traced)])


def _rows(traced: Trace) -> Iterator[list[str]]:
    for number, step in enumerate(traced.steps, 1):
        for told in step.answer:
            start = [str(number), step.name, step.level, step.type]
            yield [*start, told.value, told.cluster, told.why, str(step.ttl)]
        for left in step.left_out:
            yield [str(number), step.name, step.level, "left out", left.address, left.cluster, left.why, ""]


def _last(traced: Trace) -> Iterator[Any]:
    for step in traced.steps:
        if step.name == traced.steps[-1].name:
            yield from step.answer


def _document(traced: Trace) -> dict[str, Any]:
    return {
        "name": traced.name,
        "from": str(traced.vantage),
        "service": traced.service,
        "outcome": traced.outcome,
        "steps": [_step(step) for step in traced.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "name": step.name,
        "of": step.level,
        "type": step.type,
        "ttlSeconds": step.ttl,
        "answer": [{"value": told.value, "cluster": told.cluster, "why": told.why} for told in step.answer],
        "leftOut": [{"cluster": left.cluster, "address": left.address, "why": left.why} for left in step.left_out],
    }
