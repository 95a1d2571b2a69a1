"""What a server knew last, on its own disk: one that starts while the host is away answers from it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import orjson

from hanse.api.clusters import CLUSTERS
from hanse.api.federation import FEDERATION_NAME, FEDERATIONS
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.kube.log import Log
from hanse.kube.manifest import Obj, key_of, name_of
from hanse.kube.runtime import Runtime
from hanse.services.dns.book import Book

log = Log("hanse")


class Keeper:
    """A file with the objects that a zone was made from."""

    def __init__(self, path: Path, runtime: Runtime) -> None:
        self._path = path
        self._runtime = runtime

    async def write(self, objects: Iterable[Obj]) -> None:
        """Keep these in place of what was kept; a file is there whole or not at all."""
        written = orjson.dumps({"items": list(objects)})
        try:
            await self._runtime.in_thread(lambda: _replace(self._path, written))
        except OSError as error:
            log.warning("Could not keep what is known", file=str(self._path), error=str(error))

    def fill(self, book: Book) -> None:
        """Have a book know what was kept, and answer from it; nothing happens where there is nothing of use."""
        try:
            items = orjson.loads(self._path.read_bytes())["items"]
            found = [(str(item["kind"]), item) for item in items]
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("Passed over what was kept", file=str(self._path), error=str(error))
            return
        _take(book, found)
        if book.settings is not None:
            book.complete()
            log.info("Answering from what was kept", file=str(self._path), services=len(book.services))


def _take(book: Book, found: list[tuple[str, Obj]]) -> None:
    for kind, item in found:
        if kind == FEDERATIONS.kind and name_of(item) == FEDERATION_NAME:
            book.take_federation(item)
        elif kind == CLUSTERS.kind:
            book.take_cluster(name_of(item), item)
        elif kind == SERVICE_ADDRESSES.kind:
            book.take_service(key_of(item), item)


def _replace(path: Path, written: bytes) -> None:
    beside = path.with_name(f"{path.name}.new")
    with beside.open("wb") as file:
        file.write(written)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
