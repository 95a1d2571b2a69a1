"""What the operator's functions are shown in tests: children as they would be after they were written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hanse.api.planetscale.kinds import (
    ETCD_LOCKSERVERS,
    VITESS_BACKUP_SCHEDULES,
    VITESS_BACKUP_STORAGES,
    VITESS_BACKUPS,
    VITESS_CELLS,
    VITESS_KEYSPACES,
    VITESS_SHARDS,
)
from hanse.api.vitess_records.topology import Shard, SrvKeyspace, TabletAlias
from hanse.composite.applying import with_last_applied
from hanse.kube.manifest import Obj, annotations_of, name_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, PODS, SECRETS, SERVICES
from hanse.kube.runtime import timestamp
from hanse.vitess.identity import parse_alias
from hanse.vitess.operator.cells import sync_cell
from hanse.vitess.operator.clusters import sync_cluster
from hanse.vitess.operator.keyspaces import sync_keyspace
from hanse.vitess.operator.kinds import AUTOSCALERS, BUDGETS, CLAIMS, JOBS
from hanse.vitess.operator.lockservers import sync_lockserver
from hanse.vitess.operator.shaping import Settings
from hanse.vitess.operator.shards import sync_shard
from hanse.vitess.operator.tablets import alias_of
from hanse.vitess.operator.verdicts import Observed, Verdict, observed_of
from hanse.vitess.tablets.resharding import report_resharding
from hanse.vitess.topology.picture import CellPicture, TopologyPicture
from hanse.vitess.topology.store import Version, Versioned

SETTINGS = Settings()
NOW = 1_700_000_000.0
_KINDS = {
    kind.kind: kind
    for kind in (
        ETCD_LOCKSERVERS,
        VITESS_BACKUP_SCHEDULES,
        VITESS_BACKUP_STORAGES,
        VITESS_BACKUPS,
        VITESS_CELLS,
        VITESS_KEYSPACES,
        VITESS_SHARDS,
        CONFIGMAPS,
        DEPLOYMENTS,
        PODS,
        SECRETS,
        SERVICES,
        AUTOSCALERS,
        BUDGETS,
        CLAIMS,
        JOBS,
    )
}
READY_FOR_LONG = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": timestamp(NOW - 600)}],
}


def live(child: Obj, generation: int = 1, **fields: Any) -> Obj:
    """Return a child as it is once it was written."""
    made = with_last_applied(child)
    metadata = {**made["metadata"], "namespace": "default", "uid": f"uid-{name_of(child)}", "generation": generation}
    metadata["creationTimestamp"] = timestamp(NOW - 3600)
    if child["kind"] == "Pod":
        fields = {"status": READY_FOR_LONG, **fields}
    return {**made, "metadata": metadata, **fields}


def annotated(obj: Obj, **annotations: str) -> Obj:
    """Return an object with annotations that somebody else set, by the ends of their names."""
    ends = {
        "released": "rollout.planetscale.com/released",
        "cascade": "rollout.planetscale.com/cascade",
        "started": "drain.planetscale.com/started",
        "acknowledged": "drain.planetscale.com/acknowledged",
        "finished": "drain.planetscale.com/finished",
    }
    added = {ends[name]: value for name, value in annotations.items()}
    return {**obj, "metadata": {**obj["metadata"], "annotations": {**annotations_of(obj), **added}}}


def watched(children: Iterable[Obj], related: Iterable[Obj] = ()) -> Observed:
    """Return what is observed where these objects exist."""
    found = observed_of([(_KINDS[each["kind"]], each) for each in children], [(_KINDS[e["kind"]], e) for e in related])
    return Observed(found.children, found.related, NOW)


def child(verdict: Verdict, kind: str, name: str = "") -> Obj:
    """Return the one child of a kind whose name begins so."""
    (found,) = [each for each in verdict.children if each["kind"] == kind and name_of(each).startswith(name)]
    return found


def children(verdict: Verdict, kind: str) -> list[Obj]:
    return [each for each in verdict.children if each["kind"] == kind]


def names(verdict: Verdict, kind: str) -> list[str]:
    return sorted(name_of(each) for each in verdict.children if each["kind"] == kind)


def reasons(verdict: Verdict) -> list[str]:
    return [event.reason for event in verdict.events]


def flags_of(container: Obj) -> dict[str, str]:
    """Return the flags of a container."""
    return dict(argument.removeprefix("--").split("=", 1) for argument in container["args"] if "=" in argument)


def container(pod_or_deployment: Obj, name: str) -> Obj:
    spec = pod_or_deployment["spec"]
    containers: list[Obj] = spec.get("template", {}).get("spec", spec)["containers"]
    (found,) = [each for each in containers if each["name"] == name]
    return found


def cluster(obj: Obj, *existing: Obj) -> Verdict:
    return sync_cluster(_stored(obj), watched(existing), SETTINGS)


def cell(obj: Obj, *existing: Obj, related: Iterable[Obj] = (), picture: TopologyPicture | None = None) -> Verdict:
    return sync_cell(_stored(obj), watched(existing, related), picture, SETTINGS)


def keyspace(obj: Obj, *existing: Obj) -> Verdict:
    return sync_keyspace(_stored(obj), watched(existing), report_resharding(()))


def shard(obj: Obj, *existing: Obj, related: Iterable[Obj] = (), picture: TopologyPicture | None = None) -> Verdict:
    return sync_shard(_stored(obj), watched(existing, related), picture, SETTINGS)


def lockserver(obj: Obj, *existing: Obj) -> Verdict:
    return sync_lockserver(_stored(obj), watched(existing), SETTINGS)


def _stored(obj: Obj) -> Obj:
    return {**obj, "metadata": {"namespace": "default", "generation": 1, "uid": "parent", **obj["metadata"]}}


def shard_of(vitess_cluster: Obj) -> Obj:
    """Return the only VitessShard of a VitessCluster, as it is once it was written."""
    made = keyspace(live(child(cluster(vitess_cluster), "VitessKeyspace")))
    return live(child(made, "VitessShard"))


def picture(primary: str = "", keyspace: str = "commerce", shard: str = "-", serving: Iterable[str] = ()) -> Any:
    """Return a topology with one shard, its primary, and the cells whose vtgates are led to it."""
    parsed = parse_alias(primary)
    alias = TabletAlias(*parsed) if parsed else None
    records = {(keyspace, shard): Versioned(Shard(primary_alias=alias, is_primary_serving=True), Version(1))}
    return TopologyPicture(shards=records, local={name: CellPicture() for name in serving})


def silent_picture(cell_name: str = "zone1") -> TopologyPicture:
    """Return a topology of which one cell does not answer."""
    return TopologyPicture(silent={cell_name: "it does not answer"})


def srv_keyspaces(cell_name: str, *keyspaces: str) -> TopologyPicture:
    """Return a topology in which the vtgates of a cell know keyspaces."""
    return TopologyPicture(local={cell_name: CellPicture(srv_keyspaces={each: SrvKeyspace() for each in keyspaces})})


def grown_up(verdict: Verdict) -> list[Obj]:
    """Return all children of a verdict as they are once they were written and run."""
    return [live(each) for each in verdict.children]


def by_alias(pods: Iterable[Obj]) -> dict[str, Obj]:
    return {alias: pod for pod in pods if (alias := alias_of(pod))}
