"""`hanse dns records`: every record of the federation's services, as its servers have them now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from hanse.cli.connection import host_endpoint, host_options
from hanse.cli.dns_book import read_book
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.output import Column, output_option, show
from hanse.cli.running import run
from hanse.kube.manifest import Key
from hanse.services.dns.book import Book
from hanse.services.records import RecordSet

_COLUMNS = (
    Column("NAME"),
    Column("TTL"),
    Column("TYPE"),
    Column("VALUE"),
    Column("CLUSTER"),
    Column("INSIDE", wide=True),
    Column("WEIGHT", wide=True),
    Column("SERVICE", wide=True),
)


@click.command("records")
@click.option("--service", "wanted", default="", metavar="NAMESPACE/NAME", help="Only the records of this Service.")
@host_options
@output_option()
def command(wanted: str, data_dir: Path | None, kubeconfig: Path | None, context: str, output: str) -> None:
    """List the records of the federation's services.

    INSIDE is what clients in the same cluster get in place of the value.
    """
    key = _key(wanted)
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        book = run(lambda: read_book(endpoint))
    if key is not None and key not in book.services:
        raise Failure(f"the federation has no service {key}")
    found = list(_records(book, key))
    rows = [row for service, records in found for row in _rows(service, records)]
    show(output, _COLUMNS, rows, {"items": [_document(*each) for each in found]}, _names(found))


def _key(text: str) -> Key | None:
    if not text:
        return None
    namespace, slash, name = text.partition("/")
    if not slash or not namespace or not name or "/" in name:
        raise Misuse(f"--service: {text!r} must be NAMESPACE/NAME")
    return Key(namespace, name)


def _records(book: Book, wanted: Key | None) -> Iterator[tuple[Key, RecordSet]]:
    for key in sorted(book.services):
        if wanted is None or key == wanted:
            for records in book.records(book.services[key]):
                yield key, records


def _rows(service: Key, records: RecordSet) -> Iterator[list[str]]:
    for datum in records.data:
        shown = [records.name, str(records.ttl), records.type, datum.value, datum.cluster]
        yield [*shown, datum.inside, str(datum.weight), str(service)]


def _document(service: Key, records: RecordSet) -> dict[str, Any]:
    return {
        "name": records.name,
        "type": records.type,
        "ttlSeconds": records.ttl,
        "service": str(service),
        "values": [
            {"value": datum.value, "cluster": datum.cluster, "inside": datum.inside, "weight": datum.weight}
            for datum in records.data
        ],
    }


def _names(found: list[tuple[Key, RecordSet]]) -> list[str]:
    return list(dict.fromkeys(records.name for _, records in found))
