"""A VitessCell: its vtgates, perhaps a lockserver of its own, and whether any keyspace still uses it."""

from __future__ import annotations

from collections.abc import Iterator

from hanse.api.planetscale.kinds import CLUSTER_LABEL, ETCD_LOCKSERVERS, KEYSPACE_LABEL, VITESS_KEYSPACES
from hanse.api.planetscale.reading import read_cell, read_update_strategy
from hanse.api.planetscale.values import Cell, UpdateType
from hanse.kube.conditions import condition
from hanse.kube.manifest import Obj, dig, labels_of, name_of, namespace_of
from hanse.kube.resources import DEPLOYMENTS, SECRETS, SERVICES
from hanse.vitess.naming import cell_lockserver_name, cell_vtgate_name, lockserver_client_service
from hanse.vitess.operator.cluster_status import UPDATED, is_deployed, pending_of
from hanse.vitess.operator.clusters import Gathered, not_supported
from hanse.vitess.operator.gateways import (
    gateway_autoscaler,
    gateway_deployment,
    gateway_labels,
    gateway_service,
)
from hanse.vitess.operator.keeping import kept
from hanse.vitess.operator.partitions import keyspace_shards
from hanse.vitess.operator.rolling import deployment_in_place, nothing_in_place
from hanse.vitess.operator.services import lasting
from hanse.vitess.operator.shaping import Settings, object_of, surroundings_of
from hanse.vitess.operator.verdicts import Happening, Observed, Tri, Verdict, ready_condition
from hanse.vitess.topology.picture import TopologyPicture


def sync_cell(parent: Obj, observed: Observed, picture: TopologyPicture | None, settings: Settings) -> Verdict:
    """Return what a VitessCell consists of; `picture` is None where topology does not answer."""
    spec, cluster = parent["spec"], labels_of(parent)[CLUSTER_LABEL]
    cell, gathered = read_cell(spec), Gathered()
    at_once = read_update_strategy(spec).type is UpdateType.IMMEDIATE
    around = surroundings_of(cluster, namespace_of(parent), spec, settings)
    _lockserver(parent, cell, observed, gathered, at_once=at_once)
    gathered.children.append(lasting(gateway_service(cluster, cell), observed.of(SERVICES)))
    wish = gateway_deployment(around, cell, list(spec.get("allCells") or [cell.name]), observed.beside(SECRETS))
    live = observed.of(DEPLOYMENTS).get(name_of(wish))
    gathered.roll(DEPLOYMENTS, wish, live, at_once=at_once, in_place=deployment_in_place)
    if autoscaler := gateway_autoscaler(cluster, cell):
        gathered.children.append(autoscaler)
    if bool(cell.gateway.tls_cert) != bool(cell.gateway.tls_key):
        said = (
            "spec.gateway.secureTransport.tls: certSecret and keySecret belong together; with one of them alone "
            "clients cannot speak TLS, and it is ignored"
        )
        gathered.events.append(Happening("InvalidSpec", said, warning=True))
    status = _status(parent, cell, observed, picture)
    return Verdict(tuple(gathered.children), status, tuple(gathered.events), tuple(gathered.marks))


def _lockserver(parent: Obj, cell: Cell, observed: Observed, gathered: Gathered, *, at_once: bool) -> None:
    cluster = labels_of(parent)[CLUSTER_LABEL]
    name = cell_lockserver_name(cluster, cell.name)
    live = observed.of(ETCD_LOCKSERVERS).get(name)
    if cell.lockserver.etcd is not None:
        body = {**cell.lockserver.etcd, **({"zone": cell.zone} if cell.zone else {})}
        if secrets := parent["spec"].get("imagePullSecrets"):
            body["imagePullSecrets"] = secrets
        wish = object_of(ETCD_LOCKSERVERS.api_version, ETCD_LOCKSERVERS.kind, name, labels_of(parent), spec=body)
        wish["metadata"]["labels"] = {
            key: value for key, value in labels_of(parent).items() if key.startswith("planetscale.com/")
        }
        gathered.roll(ETCD_LOCKSERVERS, wish, live, at_once=at_once, in_place=nothing_in_place)
    elif live is not None:
        gathered.children.append(kept(live))
        gathered.events.append(Happening("TurndownBlocked", not_supported(name), warning=True))


def keyspaces_here(cell: str, observed: Observed) -> Iterator[str]:
    """Return the keyspaces that have a pool in a cell."""
    for keyspace in observed.beside(VITESS_KEYSPACES).values():
        pools = (pool for plan in keyspace_shards(keyspace["spec"]) for pool in plan.template.get("tabletPools") or ())
        if any(pool.get("cell") == cell for pool in pools):
            yield labels_of(keyspace)[KEYSPACE_LABEL]


def _idle(cell: str, keyspaces: list[str], picture: TopologyPicture | None) -> Tri:
    """Tell whether nobody uses a cell: no keyspace has pools in it, and its vtgates are led to none."""
    if keyspaces:
        return Tri.FALSE
    if picture is None or cell in picture.silent:
        return Tri.UNKNOWN
    here = picture.local.get(cell)
    return Tri.of(here is None or not here.srv_keyspaces)


def _status(parent: Obj, cell: Cell, observed: Observed, picture: TopologyPicture | None) -> Obj:
    cluster = labels_of(parent)[CLUSTER_LABEL]
    name = cell_vtgate_name(cluster, cell.name)
    live = observed.of(DEPLOYMENTS).get(name)
    keyspaces = sorted(keyspaces_here(cell.name, observed))
    available = Tri.of(is_deployed(live) if live is not None else None)
    selector = ",".join(f"{key}={value}" for key, value in sorted(gateway_labels(cluster, cell.name).items()))
    status: Obj = {
        "gateway": {
            "available": available,
            "serviceName": name,
            "labelSelector": selector,
            "replicas": int(dig(live or {}, "status", "replicas", default=0)),
            **pending_of(live),
        },
        "keyspaces": {keyspace: {} for keyspace in keyspaces},
        "idle": _idle(cell.name, keyspaces, picture),
    }
    missing = [] if available is Tri.TRUE else ["vtgate is not available"]
    if cell.lockserver.etcd is not None:
        lockserver = cell_lockserver_name(cluster, cell.name)
        found = observed.of(ETCD_LOCKSERVERS).get(lockserver)
        serves = str(dig(found or {}, "status", "available", default=Tri.UNKNOWN))
        status["lockserver"] = {
            "etcd": {"available": serves, "clientServiceName": lockserver_client_service(lockserver)}
        }
        missing += [] if serves == Tri.TRUE else ["its lockserver has no quorum yet"]
    said = "; ".join(missing) or "its vtgates serve"
    waits = bool(pending_of(live))
    status["conditions"] = [
        ready_condition(parent, not missing, "NotReady" if missing else "AllReady", said),
        condition(UPDATED, not waits, "Scheduled" if waits else "UpToDate"),
    ]
    return status
