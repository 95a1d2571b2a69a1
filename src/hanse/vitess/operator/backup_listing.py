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
    """A backup in a location; its manifest is None until it is complete."""

    keyspace: str
    shard: str
    name: str
    manifest: Mapping[str, Any] | None = field(default=None)


def list_folder(root: Path) -> list[StoredBackup]:
    """Return what Vitess has stored below a folder: keyspace/shard/name, and a manifest once all is there."""
    return [
        StoredBackup(path.parts[-3], path.parts[-2], path.name, _manifest(path / _MANIFEST))
        for path in sorted(each for each in root.glob("*/*/*") if each.is_dir())
    ]


def _manifest(path: Path) -> Mapping[str, Any] | None:
    try:
        read = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return read if isinstance(read, dict) else None


def mirrored(
    cluster: str, location: str, stored: Iterable[StoredBackup], shards: frozenset[tuple[str, str]]
) -> list[Obj]:
    """Return the VitessBackups of the shards that there are, the newest first; a name that says nothing is left out."""
    found = [each for each in stored if (each.keyspace, each.shard) in shards and _NAME.fullmatch(each.name)]
    newest = sorted(found, key=lambda each: each.name, reverse=True)[:MOST_BACKUPS]
    return [_mirror(cluster, location, each) for each in newest]


def _mirror(cluster: str, location: str, stored: StoredBackup) -> Obj:
    said = _NAME.fullmatch(stored.name)
    alias = parse_alias(said["alias"]) if said else None
    if said is None or alias is None:
        raise ValueError(f"{stored.name} is not what Vitess calls a backup")
    started = datetime.strptime(f"{said['day']}.{said['time']}", "%Y-%m-%d.%H%M%S").replace(tzinfo=UTC)
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
        "complete": stored.manifest is not None,
        "storageDirectory": f"{stored.keyspace}/{stored.shard}",
        "storageName": stored.name,
    }
    manifest = stored.manifest or {}
    for field_name, key in (("engine", "BackupMethod"), ("position", "Position"), ("finishedTime", "FinishedTime")):
        if isinstance(manifest.get(key), str):
            status[field_name] = manifest[key]
    return object_of(VITESS_BACKUPS.api_version, VITESS_BACKUPS.kind, name, labels, spec={}, status=status)
