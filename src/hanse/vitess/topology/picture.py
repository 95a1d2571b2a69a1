"""All of a topology at one glance, read with one request for each lockserver, for decisions to be made on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from hanse.api.vitess_records.topology import (
    CellInfo,
    CellsAlias,
    Keyspace,
    Shard,
    ShardReplication,
    SrvKeyspace,
    Tablet,
    TabletAlias,
)
from hanse.api.vitess_records.wire import Message
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology, decoded
from hanse.vitess.topology.paths import GLOBAL, Place
from hanse.vitess.topology.store import TopologyError, Version, Versioned

M = TypeVar("M", bound=Message)

# Less than whoever reads all of it waits: what the global lockserver says is not lost with a cell.
_CELL_SECONDS = 3.0

ShardName = tuple[str, str]
"""A keyspace and a shard of it."""


@dataclass(frozen=True, slots=True)
class CellPicture:
    """What the lockserver of one cell holds."""

    tablets: Mapping[TabletAlias, Versioned[Tablet]] = field(default_factory=dict)
    srv_keyspaces: Mapping[str, SrvKeyspace] = field(default_factory=dict)
    replication: Mapping[ShardName, ShardReplication] = field(default_factory=dict)

    def tablets_of(self, keyspace: str, shard: str | None = None) -> dict[TabletAlias, Versioned[Tablet]]:
        """Return the tablets of a keyspace, or of one shard of it."""
        return {
            alias: tablet
            for alias, tablet in self.tablets.items()
            if tablet.value.keyspace == keyspace and shard in (None, tablet.value.shard)
        }


@dataclass(frozen=True, slots=True)
class TopologyPicture:
    """What the global lockserver holds, and those of the cells that answered; of `silent` cells nothing is known."""

    cells: Mapping[str, CellInfo] = field(default_factory=dict)
    aliases: Mapping[str, CellsAlias] = field(default_factory=dict)
    keyspaces: Mapping[str, Versioned[Keyspace]] = field(default_factory=dict)
    shards: Mapping[ShardName, Versioned[Shard]] = field(default_factory=dict)
    vschemas: frozenset[str] = frozenset()
    local: Mapping[str, CellPicture] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    # Which writing of each drain token was there.
    tokens: Mapping[ShardName, Version] = field(default_factory=dict)

    def keyspace_names(self) -> frozenset[str]:
        """Return the keyspaces of which anything is there, were it only shards that somebody left behind."""
        return frozenset(self.keyspaces) | {keyspace for keyspace, _ in self.shards} | self.vschemas

    def shard_names(self, keyspace: str) -> frozenset[str]:
        """Return the shards of a keyspace."""
        return frozenset(shard for name, shard in self.shards if name == keyspace)

    def tablets_of(self, keyspace: str, shard: str | None = None) -> dict[TabletAlias, Versioned[Tablet]]:
        """Return the tablets of a keyspace, or of one shard of it, in the cells that answered."""
        found: dict[TabletAlias, Versioned[Tablet]] = {}
        for cell in self.local.values():
            found |= cell.tablets_of(keyspace, shard)
        return found

    def serving_cells(self, keyspace: str, shard: str) -> frozenset[str]:
        """Return the cells whose vtgates are led to a shard."""
        return frozenset(
            name
            for name, cell in self.local.items()
            if keyspace in cell.srv_keyspaces and shard in cell.srv_keyspaces[keyspace].shards()
        )


async def read_picture(
    topology: Topology, cells: Iterable[str] | None = None, known_silent: Mapping[str, str] | None = None
) -> TopologyPicture:
    """Read the global records and those of cells, all that are registered where none are named.

    Cells that were silent a moment ago need not be asked again: nothing is known of them.
    Raises Unreachable where the global lockserver does not answer: then nothing at all is known.
    """
    files = await (await topology.store(GLOBAL)).read_all("")
    infos: dict[str, CellInfo] = {}
    aliases: dict[str, CellsAlias] = {}
    keyspaces: dict[str, Versioned[Keyspace]] = {}
    shards: dict[ShardName, Versioned[Shard]] = {}
    vschemas: set[str] = set()
    tokens: dict[ShardName, Version] = {}
    for path, file in files.items():
        match path.split("/"):
            case ["cells", cell, "CellInfo"]:
                infos[cell] = decoded(paths.cell_info(cell), file.value)
            case ["cells_aliases", alias, "CellsAlias"]:
                aliases[alias] = decoded(paths.cells_alias(alias), file.value)
            case ["keyspaces", keyspace, "Keyspace"]:
                keyspaces[keyspace] = _versioned(paths.keyspace(keyspace), file)
            case ["keyspaces", keyspace, "VSchema"]:
                vschemas.add(keyspace)
            case ["keyspaces", keyspace, "shards", shard, "Shard"]:
                shards[keyspace, shard] = _versioned(paths.shard(keyspace, shard), file)
            case ["hanse", "drains", keyspace, shard, "Token"]:
                tokens[keyspace, shard] = file.version
    wanted = sorted(infos if cells is None else set(cells) & set(infos))
    skipped = known_silent or {}
    answers = await asyncio.gather(*(_read_cell(topology, cell, infos[cell], skipped.get(cell)) for cell in wanted))
    local = {cell: answer for cell, answer in zip(wanted, answers, strict=True) if isinstance(answer, CellPicture)}
    silent = {cell: answer for cell, answer in zip(wanted, answers, strict=True) if isinstance(answer, str)}
    return TopologyPicture(infos, aliases, keyspaces, shards, frozenset(vschemas), local, silent, tokens)


async def _read_cell(topology: Topology, cell: str, info: CellInfo, known_silent: str | None) -> CellPicture | str:
    """Return what a cell holds, or why that is not known; one that is silent does not keep the others waiting."""
    if known_silent is not None:
        return known_silent
    try:
        async with asyncio.timeout(_CELL_SECONDS):
            files = await topology.cell_store(info).read_all("")
        return _cell_picture(cell, files)
    except TimeoutError:
        return f"the lockserver at {info.server_address} did not answer in {_CELL_SECONDS:g} s"
    except (TopologyError, ValueError) as error:
        return str(error)


def _cell_picture(cell: str, files: Mapping[str, Versioned[bytes]]) -> CellPicture:
    tablets: dict[TabletAlias, Versioned[Tablet]] = {}
    srv_keyspaces: dict[str, SrvKeyspace] = {}
    replication: dict[ShardName, ShardReplication] = {}
    for path, file in files.items():
        match path.split("/"):
            case ["tablets", name, "Tablet"]:
                alias = TabletAlias.parse(name)
                tablets[alias] = _versioned(paths.tablet(alias), file)
            case ["keyspaces", keyspace, "SrvKeyspace"]:
                srv_keyspaces[keyspace] = decoded(paths.srv_keyspace(cell, keyspace), file.value)
            case ["keyspaces", keyspace, "shards", shard, "ShardReplication"]:
                place = paths.shard_replication(cell, keyspace, shard)
                replication[keyspace, shard] = decoded(place, file.value)
    return CellPicture(tablets, srv_keyspaces, replication)


def _versioned(place: Place[M], file: Versioned[bytes]) -> Versioned[M]:
    return Versioned(decoded(place, file.value), file.version)
