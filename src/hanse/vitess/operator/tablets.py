"""The tablets of a shard as values: which there shall be, where, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hanse.api.planetscale.kinds import (
    CELL_LABEL,
    CLUSTER_LABEL,
    COMPONENT_LABEL,
    KEYSPACE_LABEL,
    POOL_NAME_LABEL,
    SHARD_LABEL,
    TABLET_INDEX_LABEL,
    TABLET_TYPE_LABEL,
    TABLET_UID_LABEL,
)
from hanse.api.planetscale.values import Pool
from hanse.kube.manifest import Obj, labels_of
from hanse.vitess.identity import TabletIdentity, tablet_alias
from hanse.vitess.key_ranges import KeyRange
from hanse.vitess.naming import tablet_name

VTTABLET = "vttablet"


@dataclass(frozen=True, slots=True)
class ShardPlace:
    """Which shard of which cluster."""

    cluster: str
    keyspace: str
    key_range: KeyRange

    @property
    def labels(self) -> dict[str, str]:
        """The labels of everything that belongs to the shard."""
        return {
            CLUSTER_LABEL: self.cluster,
            KEYSPACE_LABEL: self.keyspace,
            SHARD_LABEL: self.key_range.safe_name,
        }


@dataclass(frozen=True, slots=True)
class Tablet:
    """A tablet that shall exist."""

    place: ShardPlace
    pool: Pool
    index: int

    @property
    def identity(self) -> TabletIdentity:
        """Who it is."""
        place, pool = self.place, self.pool
        return TabletIdentity(
            pool.cell, place.keyspace, str(place.key_range), pool.type, self.index, pool.identity_name
        )

    @property
    def alias(self) -> str:
        """By what Vitess knows it."""
        return self.identity.alias

    @property
    def name(self) -> str:
        """What its Pod and its claim are called."""
        return tablet_name(self.place.cluster, self.alias)

    @property
    def pool_labels(self) -> dict[str, str]:
        """The labels of all tablets of its pool."""
        labels = {
            COMPONENT_LABEL: VTTABLET,
            **self.place.labels,
            CELL_LABEL: self.pool.cell,
            TABLET_TYPE_LABEL: str(self.pool.type),
        }
        return {**labels, POOL_NAME_LABEL: self.pool.identity_name} if self.pool.identity_name else labels

    @property
    def labels(self) -> dict[str, str]:
        """The labels of its Pod and its claim."""
        own = {TABLET_UID_LABEL: self.identity.uid_text, TABLET_INDEX_LABEL: str(self.index)}
        return {**self.pool_labels, **own}


def tablets_of(place: ShardPlace, pools: Iterable[Pool]) -> list[Tablet]:
    """Return the tablets that shall exist, in the order of the pools."""
    return [Tablet(place, pool, index) for pool in pools for index in range(1, pool.replicas + 1)]


def alias_of(pod: Obj) -> str:
    """Return the alias of the tablet that a Pod or claim belongs to; "" where it is no tablet's."""
    labels = labels_of(pod)
    cell, uid = labels.get(CELL_LABEL, ""), labels.get(TABLET_UID_LABEL, "")
    return tablet_alias(cell, int(uid)) if cell and uid.isdigit() else ""
