"""What a member has of a VitessCluster beside the object itself: its cells, keyspaces, shards and tablets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from hanse.api.planetscale.kinds import (
    CELL_LABEL,
    CLUSTER_LABEL,
    COMPONENT_LABEL,
    DRAIN_FINISHED_ANNOTATION,
    DRAIN_STARTED_ANNOTATION,
    KEYSPACE_LABEL,
    SHARD_LABEL,
    TABLET_TYPE_LABEL,
    TABLET_UID_LABEL,
    VITESS_CELLS,
    VITESS_KEYSPACES,
    VITESS_SHARDS,
)
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj, annotations_of, dig, is_deleting, labels_of
from hanse.kube.resources import PODS, Resource
from hanse.kube.runtime import parse_timestamp
from hanse.kube.transport import Unreachable
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.identity import UID_DIGITS

TABLET = "vttablet"
# So long the other members wait for one that is slow to say what it has.
_PATIENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class MemberParts:
    """The objects below a member's VitessCluster, as listed a moment ago."""

    cells: tuple[Obj, ...] = ()
    keyspaces: tuple[Obj, ...] = ()
    shards: tuple[Obj, ...] = ()
    tablets: tuple[Obj, ...] = ()

    @property
    def idle_cells(self) -> frozenset[str]:
        """The cells that say that nothing uses them."""
        return frozenset(_name(each) for each in self.cells if _is_idle(each))

    @property
    def idle_keyspaces(self) -> frozenset[str]:
        """The keyspaces that say that they have no tablets."""
        return frozenset(_name(each) for each in self.keyspaces if _is_idle(each))

    @property
    def cell_names(self) -> frozenset[str]:
        """Every cell of which there is an object."""
        return frozenset(map(_name, self.cells))

    @property
    def keyspace_names(self) -> frozenset[str]:
        """Every keyspace of which there is an object."""
        return frozenset(map(_name, self.keyspaces))

    @property
    def shard_ids(self) -> frozenset[ShardId]:
        """Every shard of which there is an object."""
        return frozenset(shard for each in self.shards if (shard := _shard(each)) is not None)


async def read_parts(client: Client, namespace: str, cluster: str, *, has_copy: bool) -> MemberParts | None:
    """List what a member has; None where it cannot be told.

    Whoever `has_copy` of the VitessCluster has the other kinds too: where it says that it does not know them, it errs.
    """
    own = f"{CLUSTER_LABEL}={cluster}"
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            cells = await _listed(client, VITESS_CELLS, namespace, own, may_lack=not has_copy)
            keyspaces = await _listed(client, VITESS_KEYSPACES, namespace, own, may_lack=not has_copy)
            shards = await _listed(client, VITESS_SHARDS, namespace, own, may_lack=not has_copy)
            tablets = await _listed(client, PODS, namespace, f"{own},{COMPONENT_LABEL}={TABLET}", may_lack=False)
    except (ApiError, Unreachable, TimeoutError):
        return None
    return MemberParts(cells, keyspaces, shards, tablets)


async def _listed(
    client: Client, resource: Resource, namespace: str, labels: str, *, may_lack: bool
) -> tuple[Obj, ...]:
    try:
        return tuple((await client.list(resource, namespace, labels=labels)).items)
    except NotFound:
        if not may_lack:
            raise
        # It does not serve the kind, so that it can have none.
        return ()


@dataclass(frozen=True, slots=True)
class TabletPod:
    """A tablet's pod: whose it is, for how long it is ready, and whether somebody drains it."""

    alias: str
    cell: str
    shard: ShardId
    type: str
    ready_since: float | None
    started: bool
    finished: bool
    pod: Obj

    @property
    def draining(self) -> bool:
        """Whether a drain is asked for."""
        return self.started


def tablet_pods(pods: Iterable[Obj]) -> list[TabletPod]:
    """Read the tablets out of pods; one whose labels say nothing is left out."""
    return [read for pod in pods if (read := _tablet(pod)) is not None]


def _tablet(pod: Obj) -> TabletPod | None:
    labels, annotations = labels_of(pod), annotations_of(pod)
    cell, uid = labels.get(CELL_LABEL, ""), labels.get(TABLET_UID_LABEL, "")
    # Anybody who may make pods may label them so; what is no alias is no tablet.
    if not cell or len(uid) != UID_DIGITS or not uid.isdecimal() or int(uid) >= 1 << 32:
        return None
    ready = find_condition(dig(pod, "status", "conditions"), "Ready")
    since = None
    if ready is not None and ready.get("status") == "True" and not is_deleting(pod):
        since = parse_timestamp(ready.get("lastTransitionTime") or "1970-01-01T00:00:00Z")
    shard = ShardId(labels.get(KEYSPACE_LABEL, ""), labels.get(SHARD_LABEL, "").replace("x", ""))
    return TabletPod(
        alias=f"{cell}-{uid}",
        cell=cell,
        shard=shard,
        type=labels.get(TABLET_TYPE_LABEL, ""),
        ready_since=since,
        started=DRAIN_STARTED_ANNOTATION in annotations,
        finished=DRAIN_FINISHED_ANNOTATION in annotations,
        pod=pod,
    )


def _name(obj: Obj) -> str:
    return str(dig(obj, "spec", "name", default="") or obj["metadata"]["name"])


def _is_idle(obj: Obj) -> bool:
    """Tell whether an object says that nothing uses it, and said so of what it is now."""
    seen = dig(obj, "status", "observedGeneration", default=0)
    return bool(dig(obj, "status", "idle") == "True" and seen >= dig(obj, "metadata", "generation", default=0))


def _shard(obj: Obj) -> ShardId | None:
    labels = labels_of(obj)
    keyspace, shard = labels.get(KEYSPACE_LABEL), labels.get(SHARD_LABEL)
    return ShardId(keyspace, shard.replace("x", "")) if keyspace and shard else None
