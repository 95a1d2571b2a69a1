"""The first primary of a shard: when one may be chosen, who, and what to do where there is one already. Pure.

A primary is chosen once in the life of a shard, by one operator only. Afterwards vtorc looks after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hanse.api.planetscale.values import PoolType
from hanse.api.vitess_records.positions import Position
from hanse.api.vitess_records.topology import Tablet, TabletAlias, TabletType
from hanse.vitess.tablets.candidates import most_advanced
from hanse.vitess.topology.steps import Told


@dataclass(frozen=True, slots=True)
class Beginner:
    """A tablet that shall exist: its record if it registered itself, and what it answered when it was asked.

    `replicates` and `has_database` are None where it did not answer.
    """

    alias: TabletAlias
    pool: PoolType
    running: bool = False
    record: Tablet | None = None
    replicates: bool | None = None
    has_database: bool | None = None


@dataclass(frozen=True, slots=True)
class BeginningScene:
    """All that the choice of a first primary depends on; None is what nobody knows."""

    initialize: bool
    has_primary: bool | None
    uses_backups: bool
    has_initial_backup: bool | None
    beginners: tuple[Beginner, ...]
    records: tuple[Tablet, ...] = ()
    """The records of all tablets of the shard, in all cells."""
    positions: Mapping[TabletAlias, Position] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Initialise:
    """Empty the tablets of a shard that never had a primary, and make one of them the first."""

    alias: TabletAlias


@dataclass(frozen=True, slots=True)
class Promote:
    """Make a restored tablet the first primary, and have the others follow it."""

    alias: TabletAlias
    followers: tuple[TabletAlias, ...]


@dataclass(frozen=True, slots=True)
class AdoptPrimary:
    """A tablet is the primary already, and its shard does not say so: only write that."""

    alias: TabletAlias


@dataclass(frozen=True, slots=True)
class DeclareExternal:
    """A database that Vitess does not run is the primary; tell Vitess so."""

    alias: TabletAlias


Beginning = Initialise | Promote | AdoptPrimary | DeclareExternal | Told | None


def plan_beginning(scene: BeginningScene) -> Beginning:
    """Say what to do for a shard that has no primary; None where nothing is to be done here."""
    if not scene.initialize or scene.has_primary:
        return None
    if scene.has_primary is None:
        return _waiting("whether the shard has a primary is not known")
    external = [each for each in scene.beginners if each.pool is PoolType.EXTERNAL_MASTER]
    if external:
        ready = sorted(each.alias for each in external if each.running and each.record is not None)
        if ready:
            return DeclareExternal(ready[0])
        said = "no tablet of an externalmaster pool runs yet, so Vitess is not told of its database"
        return Told("ExternalPrimaryShardBlocked", said)
    return _from_backup(scene) if scene.uses_backups else _from_nothing(scene)


def _from_nothing(scene: BeginningScene) -> Beginning:
    """Without backups every tablet must be there and be empty: what it may hold would be lost."""
    for each in scene.beginners:
        if not each.running or each.record is None:
            return _waiting(f"tablet {each.alias} does not run yet")
        if each.record.type == TabletType.RESTORE:
            return _waiting(f"tablet {each.alias} is restoring")
        if each.replicates is None or each.has_database is None:
            return _waiting(f"tablet {each.alias} does not answer")
        if each.replicates:
            return _blocked(f"tablet {each.alias} replicates already")
        if each.has_database:
            return _blocked(
                f"tablet {each.alias} has a database already, and it is not known from where: choose the first primary "
                "yourself with vtctldclient PlannedReparentShard"
            )
    replicas = sorted(each.alias for each in scene.beginners if each.pool is PoolType.REPLICA)
    return Initialise(replicas[0]) if replicas else _blocked("the shard has no pool of type replica")


def _from_backup(scene: BeginningScene) -> Beginning:
    if scene.has_initial_backup is not True:
        return _waiting("there is no initial backup yet")
    primaries = sorted(str(each.alias) for each in scene.records if each.type == TabletType.PRIMARY)
    if len(primaries) > 1:
        return Told("InitShardFailed", f"{' and '.join(primaries)} both say that they are the primary; nothing is done")
    if primaries:
        return AdoptPrimary(TabletAlias.parse(primaries[0]))
    restored = _restored(scene)
    if not any(each.record is not None and each.record.type == TabletType.REPLICA for each in restored):
        return _waiting("no replica has been restored from the backup yet")
    able = [each.record for each in restored if each.record is not None and each.record.type == TabletType.REPLICA]
    chosen = most_advanced(sorted(able, key=lambda record: record.alias or TabletAlias()), scene.positions)
    alias = chosen.alias if chosen is not None and chosen.alias is not None else TabletAlias()
    return Promote(alias, tuple(sorted(each.alias for each in restored if each.alias != alias)))


def _restored(scene: BeginningScene) -> Sequence[Beginner]:
    return [each for each in scene.beginners if each.running and each.record is not None and each.has_database]


def _waiting(why: str) -> Told:
    return Told("InitShardWaiting", f"no first primary is chosen yet: {why}", warning=False)


def _blocked(why: str) -> Told:
    return Told("InitShardBlocked", f"no first primary can be chosen: {why}")
