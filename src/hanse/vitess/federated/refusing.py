"""Everything for which a federated VitessCluster is refused, each in one sentence that names the field.

What is refused changes nothing: members keep what they have until the specification is one that can be split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.homes import Site, find_homes
from hanse.vitess.federated.initializers import candidates, initializer_pools, initializer_refusals
from hanse.vitess.federated.leaving import is_moved
from hanse.vitess.federated.plan import Plan, spec_digest
from hanse.vitess.federated.quorum import Quorum, quorum_refusals, read_quorum
from hanse.vitess.federated.reaching import INNER_ENDINGS, host_of
from hanse.vitess.federated.reading import (
    FEDERATION_FIELD,
    Shard,
    all_shards,
    cell_names,
    cells_of,
    keyspaces_of,
    shards_of,
)
from hanse.vitess.federated.refusal import Refusal
from hanse.vitess.operator.validation import cluster_problems
from hanse.vitess.sizes import size_problem

_GLOBAL = "spec.globalLockserver"
# On a VitessCluster: the cluster whose etcd member somebody has removed from the lockserver, to have it elsewhere.
REPLACE_ETCD_ANNOTATION = "hanse.dev/vitess-replace-etcd"


def refusals(source: Obj, sites: Sequence[Site], before: Plan | None = None) -> list[Refusal]:
    """Return all that is wrong with a federated VitessCluster."""
    if not sites:
        return [Refusal("spec.cells", "no cluster is registered at all; join the clusters that the cells are in")]
    spec, known = source.get("spec") or {}, before or Plan()
    if undivided := division_refusals(spec):
        return undivided
    homes, found = find_homes(spec, sites, known.homes)
    shards = all_shards(spec)
    replacing = dig(source, "metadata", "annotations", default={}).get(REPLACE_ETCD_ANNOTATION, "")
    found += _moved(spec, homes, known)
    quorum = read_quorum(spec)
    registered = [site.name for site in sites]
    found += quorum_refusals(quorum, known.quorum, registered, replacing=[replacing] if replacing else ())
    found += _lockservers(spec, quorum, across=len(set(homes.values())) > 1)
    # Which of several cells of one name is too many was said with its place.
    told = {refusal.field for refusal in found} | {"spec.cells" for refusal in found if refusal.field.endswith(".name")}
    # What was planned has been found right before; the largest would take a quarter of a second each time.
    if known.spec != spec_digest(source):
        found += [refusal for refusal in _operator_refusals(spec) if refusal.field not in told]
    if not found:
        found += initializer_refusals(spec, homes)
        found += _locations(spec, shards, homes, known)
    return found


def division_refusals(spec: Obj) -> list[Refusal]:
    """Return the keyspaces whose shards cannot even be named, or are too many to be."""
    if problem := size_problem(keyspaces_of(spec)):
        return [Refusal("spec.keyspaces", problem)]
    found = []
    for place, keyspace in enumerate(keyspaces_of(spec)):
        try:
            shards_of(keyspace)
        except (ValueError, TypeError, AttributeError) as problem:
            found.append(Refusal(f"spec.keyspaces[{place}].partitionings", str(problem)))
    return found


def _operator_refusals(spec: Obj) -> Iterator[Refusal]:
    """Say what the operator of each member would refuse for itself: then some would change, and others would not."""
    for problem in cluster_problems(spec):
        field, _, sentence = problem.partition(": ")
        yield Refusal(f"spec.{field}", sentence)


def _moved(spec: Obj, homes: Mapping[str, str], known: Plan) -> Iterator[Refusal]:
    for place, name in enumerate(cell_names(spec)):
        home = homes.get(name)
        if home is not None and is_moved(name, home, known.homes):
            sentence = (
                f"cell {name} is in cluster {known.homes[name]}, and its data does not move to {home}; remove it, wait "
                "until it is gone there, and add it again"
            )
            yield Refusal(f"spec.cells[{place}].cluster", sentence)


def _lockservers(spec: Obj, quorum: Quorum | None, *, across: bool) -> Iterator[Refusal]:
    """Say which lockservers members in other clusters could not find, or would overwrite each other in."""
    written = spec.get("globalLockserver") or {}
    external = written.get("external") or {}
    if quorum is not None and external:
        sentence = f"the lockserver is {_GLOBAL}.external or spec.{FEDERATION_FIELD}.lockserver; give one of them"
        yield Refusal(f"{_GLOBAL}.external", sentence)
    if across and quorum is None and not external:
        sentence = (
            f"an etcd in one cluster is not shared by others; give {_GLOBAL}.external, or the three clusters of "
            f"spec.{FEDERATION_FIELD}.lockserver"
        )
        yield Refusal(_GLOBAL, sentence)
    if across:
        yield from _local(f"{_GLOBAL}.external.address", external.get("address"))
        yield from _local(
            f"spec.{FEDERATION_FIELD}.lockserver.clientAddress", quorum.client_address if quorum else None
        )
    taken = {(external.get("address"), external.get("rootPath")): _GLOBAL} if external else {}
    for place, cell in enumerate(cells_of(spec)):
        yield from _cell_lockserver(cell, f"spec.cells[{place}].lockserver", taken, across=across)


def _cell_lockserver(
    cell: Obj, field: str, taken: dict[tuple[str | None, str | None], str], *, across: bool
) -> Iterator[Refusal]:
    lockserver = cell.get("lockserver") or {}
    external, address = lockserver.get("external") or {}, lockserver.get("cellInfoAddress")
    if across and not external and lockserver.get("etcd") is not None and not address:
        sentence = (
            f"the etcd of cell {cell.get('name')} has a name of its own cluster; give the address at which pods of "
            "every cluster reach it, such as that of a federated Service"
        )
        yield Refusal(f"{field}.cellInfoAddress", sentence)
    if across:
        yield from _local(f"{field}.cellInfoAddress", address)
        yield from _local(f"{field}.external.address", None if address else external.get("address"))
    if external:
        root = (external.get("address"), external.get("rootPath"))
        if root in taken:
            sentence = f"{taken[root]} has the same address and root path; give each a root path of its own"
            yield Refusal(f"{field}.external.rootPath", sentence)
        taken.setdefault(root, field)


def _local(field: str, address: str | None) -> Iterator[Refusal]:
    host = host_of(address or "")
    if host.endswith(INNER_ENDINGS):
        sentence = (
            f"{host} means something only in its own cluster; give a name that resolves in all of them, such as that "
            "of a federated Service"
        )
        yield Refusal(field, sentence)


def _locations(spec: Obj, shards: Sequence[Shard], homes: Mapping[str, str], known: Plan) -> Iterator[Refusal]:
    """Say which pools would wait for ever for a backup that nobody makes."""
    if not dig(spec, "backup", "locations"):
        return
    for shard in shards:
        able = candidates(shard, homes)
        if not able or not (shard.initialize and shard.backup):
            continue
        member = known.initializers.get(shard.id, able[0])
        seeded = initializer_pools(shard, homes, member)
        for pool in shard.pools:
            if seeded and pool.location != seeded[0]:
                sentence = (
                    f"shard {shard.id} gets its first backup in location {seeded[0]!r}, and this pool would wait for "
                    f"one in {pool.location!r} for ever; use one location for all pools of a shard"
                )
                yield Refusal(f"{pool.path}.backupLocationName", sentence)
