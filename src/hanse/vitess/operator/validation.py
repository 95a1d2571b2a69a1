"""What is wrong with a VitessCluster, in sentences that name the field; nothing is done for one with any."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from hanse.api.planetscale.reading import read_pool
from hanse.api.planetscale.values import PoolType
from hanse.kube.manifest import Obj, dig
from hanse.vitess.identity import TabletIdentity, duplicate_uids
from hanse.vitess.key_ranges import KeyRange
from hanse.vitess.operator.partitions import ShardPlan, given_partitionings, partitioning_problems, partitioning_shards
from hanse.vitess.sizes import size_problem

CELL_NAME = re.compile(r"[A-Za-z0-9]([_.A-Za-z0-9]*[A-Za-z0-9])?")
# Vitess itself refuses a dot, which Kubernetes would take.
KEYSPACE_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?")
LONGEST_NAME = 63
LOCKSERVER_MEMBERS = 3
_POOL_TYPES = frozenset(PoolType)


def cluster_problems(spec: Obj) -> tuple[str, ...]:
    """Return what is wrong with the spec of a VitessCluster."""
    return tuple(_cluster_problems(spec))


def _cluster_problems(spec: Obj) -> Iterator[str]:
    cells = spec.get("cells") or []
    names = [str(cell.get("name") or "") for cell in cells]
    yield from _twice(names, "cells", "cell")
    if etcd := dig(spec, "globalLockserver", "etcd"):
        yield from lockserver_problems(etcd, "globalLockserver.etcd.")
    for place, cell in enumerate(cells):
        if not CELL_NAME.fullmatch(names[place]) or len(names[place]) > LONGEST_NAME:
            yield (
                f"cells[{place}].name: must be 1 to {LONGEST_NAME} letters, digits, _ or ., a letter or digit first "
                f"and last (a - would end the cell's part of an alias), and is {names[place]!r}"
            )
        if etcd := dig(cell, "lockserver", "etcd"):
            yield from lockserver_problems(etcd, f"cells[{place}].lockserver.etcd.")
    keyspaces = spec.get("keyspaces") or []
    if problem := size_problem(keyspaces):
        yield f"keyspaces: {problem}"
        return
    yield from _twice([str(each.get("name") or "") for each in keyspaces], "keyspaces", "keyspace")
    locations = {str(each.get("name") or "") for each in dig(spec, "backup", "locations", default=[])}
    tablets: list[TabletIdentity] = []
    for place, keyspace in enumerate(keyspaces):
        yield from _keyspace_problems(keyspace, f"keyspaces[{place}]", set(names), locations, tablets)
    for uid, those in duplicate_uids(tablets).items():
        told = " and ".join(f"{each.keyspace}/{each.shard} {each.type} {each.index} in {each.cell}" for each in those)
        yield f"keyspaces: {told} would both be tablet {uid}; give one of them another cell or type"


def _twice(names: list[str], field: str, what: str) -> Iterator[str]:
    for name, times in Counter(names).items():
        if times > 1:
            yield f"{field}: {what} {name!r} is there {times} times; leave one"


def lockserver_problems(etcd: Obj, prefix: str = "") -> Iterator[str]:
    """Tell what is wrong with the spec of an EtcdLockserver."""
    peers = etcd.get("advertisePeerURLs")
    if peers and len(peers) != LOCKSERVER_MEMBERS:
        yield f"{prefix}advertisePeerURLs: give exactly {LOCKSERVER_MEMBERS}, one for each member, and not {len(peers)}"
    index = etcd.get("localMemberIndex")
    if index is not None and not 1 <= index <= LOCKSERVER_MEMBERS:
        yield f"{prefix}localMemberIndex: must be 1 to {LOCKSERVER_MEMBERS}, and is {index}"


def _keyspace_problems(
    keyspace: Obj, where: str, cells: set[str], locations: set[str], tablets: list[TabletIdentity]
) -> Iterator[str]:
    name = str(keyspace.get("name") or "")
    if not KEYSPACE_NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        yield (
            f"{where}.name: must be 1 to {LONGEST_NAME} letters, digits, - or _, a letter or digit first and last "
            f"(Vitess takes no dot), and is {name!r}"
        )
    wrong = list(partitioning_problems(keyspace))
    yield from (f"{where}.{problem}" for problem in wrong)
    if wrong:
        return
    found: set[TabletIdentity] = set()
    for place, partitioning in given_partitionings(keyspace):
        for field, plan in _templates(partitioning):
            yield from _template_problems(plan.template, f"{where}.partitionings[{place}].{field}", cells, locations)
        for plan in partitioning_shards(partitioning):
            found |= set(_identities(name, plan.key_range, plan.template))
    tablets += sorted(found)


def _templates(partitioning: Obj) -> Iterator[tuple[str, ShardPlan]]:
    """Return what a partitioning says of its shards, once for all of them where it says the same of each."""
    plans = partitioning_shards(partitioning)
    if partitioning.get("equal"):
        yield "equal.shardTemplate", plans[0]
        return
    for place, plan in enumerate(plans):
        yield f"custom.shards[{place}]", plan


def _identities(keyspace: str, key_range: KeyRange, template: Obj) -> Iterator[TabletIdentity]:
    for raw in template.get("tabletPools") or ():
        if raw.get("type") in _POOL_TYPES:
            pool = read_pool(raw)
            for index in range(1, pool.replicas + 1):
                yield TabletIdentity(pool.cell, keyspace, str(key_range), pool.type, index, pool.identity_name)


def _template_problems(template: Obj, where: str, cells: set[str], locations: set[str]) -> Iterator[str]:
    pools = template.get("tabletPools") or []
    kinds = [(str(pool.get("type")), str(pool.get("cell")), _telling_name(pool)) for pool in pools]
    for kind, times in Counter(kinds).items():
        if times > 1:
            said = f"type {kind[0]}, cell {kind[1]}" + (f", name {kind[2]}" if kind[2] else "")
            yield (
                f"{where}.tabletPools: {times} pools have {said}; make one of them (only pools of external databases "
                "are told apart by names)"
            )
    for place, pool in enumerate(pools):
        yield from _pool_problems(pool, f"{where}.tabletPools[{place}]", cells, locations)
    script = template.get("databaseInitScriptSecret") or {}
    if pools and not (script.get("key") and (script.get("name") or script.get("volumeName"))):
        yield f"{where}.databaseInitScriptSecret: give the name and the key of the Secret that sets up a new database"
    replication = template.get("replication") or {}
    for old, new in (("initializeMaster", "initializePrimary"), ("recoverRestartedMaster", "recoverRestartedPrimary")):
        given = {replication[name] for name in (old, new) if replication.get(name) is not None}
        if len(given) > 1:
            yield f"{where}.replication: {old} and {new} mean the same and differ; give one of them"


def _telling_name(pool: Obj) -> str:
    return str(pool.get("name") or "") if pool.get("externalDatastore") is not None else ""


def _pool_problems(pool: Obj, where: str, cells: set[str], locations: set[str]) -> Iterator[str]:
    if pool.get("type") not in _POOL_TYPES:
        yield f"{where}.type: must be one of {', '.join(PoolType)}, and is {pool.get('type')!r}"
    if pool.get("cell") not in cells:
        yield f"{where}.cell: there is no cell {pool.get('cell')!r} in spec.cells; add it there, or name another"
    if int(pool.get("replicas") or 0) < 0:
        yield f"{where}.replicas: must be 0 or more, and is {pool['replicas']}"
    if (pool.get("mysqld") is None) == (pool.get("externalDatastore") is None):
        yield f"{where}: give either mysqld or externalDatastore, and not both"
    location = str(pool.get("backupLocationName") or "")
    if location and location not in locations:
        yield f"{where}.backupLocationName: there is no {location!r} in spec.backup.locations; add it there"
