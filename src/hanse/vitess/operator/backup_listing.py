"""The backups that a location holds, as VitessBackups; what Vitess calls them says when and by whom they were made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from hanse.api.planetscale.kinds import (
    BACKUP_LOCATION_LABEL,
    CLUSTER_LABEL,
    KEYSPACE_LABEL,
    SHARD_LABEL,
    VITESS_BACKUPS,
)
from hanse.kube.manifest import Obj
from hanse.kube.runtime import timestamp
from hanse.vitess.identity import parse_alias
from hanse.vitess.key_ranges import parse_shard_name
from hanse.vitess.naming import backup_name
from hanse.vitess.operator.shaping import object_of

# Beyond so many nobody reads on; the oldest are left out, and that is said.
MOST_BACKUPS = 10_000
_NAME = re.compile(r"(?P<day>\d{4}-\d{2}-\d{2})\.(?P<time>\d{6})\.(?P<alias>.+-\d{10})")
_MANIFEST = "MANIFEST"


@dataclass(frozen=True, slots=True)
class StoredBackup:
    """A backup in a location; `complete` is None where nobody knows, and `said` is what its manifest says.

    Vitess writes the manifest last: what has one is complete.
    """

    keyspace: str
    shard: str
    name: str
    complete: bool | None = None
    said: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a location holds, as VitessBackups, the newest first; what of it is none, and how many are too many."""

    backups: tuple[Obj, ...] = ()
    invalid: tuple[str, ...] = ()
    left_out: int = 0


def list_folder(root: Path) -> list[StoredBackup]:
    """Return what Vitess has stored below a folder: keyspace/shard/name, and a manifest once all is there.

    Raises OSError where any of it cannot be read: who cannot read a folder does not know that it is empty.
    """
    if not root.parent.is_dir():
        raise FileNotFoundError(f"{root.parent} is not there: the volume of the location is not mounted")
    if not root.exists():
        return []
    return [
        _stored(keyspace.name, shard.name, backup)
        for keyspace in _folders(root)
        for shard in _folders(keyspace)
        for backup in _folders(shard)
    ]


def _folders(path: Path) -> list[Path]:
    return sorted(each for each in path.iterdir() if each.is_dir())


def _stored(keyspace: str, shard: str, path: Path) -> StoredBackup:
    try:
        read = orjson.loads((path / _MANIFEST).read_bytes())
    except (FileNotFoundError, ValueError):
        return StoredBackup(keyspace, shard, path.name, complete=False)
    complete = isinstance(read, dict)
    return StoredBackup(keyspace, shard, path.name, complete, read if complete else {})


def inventory(
    cluster: str, location: str, stored: Iterable[StoredBackup], shards: frozenset[tuple[str, str]]
) -> Inventory:
    """Return the VitessBackups of the shards that there are; a name that says nothing is left out, and told."""
    found = [each for each in stored if (each.keyspace, each.shard) in shards]
    newest = sorted(found, key=lambda each: each.name, reverse=True)
    mirrors = [(each, _mirror(cluster, location, each)) for each in newest]
    valid = tuple(mirror for _, mirror in mirrors if mirror is not None)
    invalid = tuple(f"{each.keyspace}/{each.shard}/{each.name}" for each, mirror in mirrors if mirror is None)
    return Inventory(valid[:MOST_BACKUPS], invalid, max(len(valid) - MOST_BACKUPS, 0))


def _mirror(cluster: str, location: str, stored: StoredBackup) -> Obj | None:
    told = _NAME.fullmatch(stored.name)
    alias = parse_alias(told["alias"]) if told else None
    if told is None or alias is None:
        return None
    try:
        started = datetime.strptime(f"{told['day']}.{told['time']}", "%Y-%m-%d.%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    key_range = parse_shard_name(stored.shard)
    safe = key_range.safe_name if key_range is not None else stored.shard
    name = backup_name(cluster, location, stored.keyspace, safe, started.strftime("%Y%m%d-%H%M%S"), alias[1])
    labels = {
        CLUSTER_LABEL: cluster,
        KEYSPACE_LABEL: stored.keyspace,
        SHARD_LABEL: safe,
        BACKUP_LOCATION_LABEL: location,
    }
    status: Obj = {
        "startTime": timestamp(started.timestamp()),
        "storageDirectory": f"{stored.keyspace}/{stored.shard}",
        "storageName": stored.name,
    }
    if stored.complete is not None:
        status["complete"] = stored.complete
    for field_name, key in (("engine", "BackupMethod"), ("position", "Position"), ("finishedTime", "FinishedTime")):
        if isinstance(stored.said.get(key), str):
            status[field_name] = stored.said[key]
    return object_of(VITESS_BACKUPS.api_version, VITESS_BACKUPS.kind, name, labels, spec={}, status=status)
