"""A VitessCluster: its lockserver, cells, keyspaces, backups, and what people look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hanse.api.planetscale.kinds import (
    CELL_LABEL,
    CLUSTER_LABEL,
    COMPONENT_LABEL,
    ETCD_LOCKSERVERS,
    KEYSPACE_LABEL,
    VITESS_BACKUP_SCHEDULES,
    VITESS_BACKUP_STORAGES,
    VITESS_CELLS,
    VITESS_KEYSPACES,
)
from hanse.api.planetscale.reading import (
    DEFAULT_ENGINE,
    read_admin,
    read_dashboard,
    read_images,
    read_locations,
    read_lockserver,
    read_service,
    read_update_strategy,
    texts,
)
from hanse.api.planetscale.values import TurndownPolicy, UpdateType
from hanse.kube.manifest import Obj, dig, labels_of, name_of, namespace_of
from hanse.kube.resources import DEPLOYMENTS, SERVICES, Resource
from hanse.vitess.naming import (
    backup_schedule_name,
    backup_storage_name,
    cluster_service_name,
    global_lockserver_name,
)
from hanse.vitess.operator.cluster_status import cluster_status
from hanse.vitess.operator.dashboards import admin_parts, dashboard_deployment, dashboard_service
from hanse.vitess.operator.gateways import GATEWAY_PORTS, VTGATE, gateway_labels
from hanse.vitess.operator.keeping import kept
from hanse.vitess.operator.lower_specs import (
    cell_in_place,
    cell_wish,
    keyspace_in_place,
    keyspace_wish,
    lockserver_of,
    storage_spec,
)
from hanse.vitess.operator.rolling import InPlace, deployment_in_place, nothing_in_place, rolled
from hanse.vitess.operator.services import lasting
from hanse.vitess.operator.shaping import (
    EXPORTER_PORT,
    GRPC_PORT,
    WEB_PORT,
    Settings,
    Surroundings,
    object_of,
    service,
)
from hanse.vitess.operator.tablets import VTTABLET
from hanse.vitess.operator.validation import cluster_problems
from hanse.vitess.operator.verdicts import Happening, Mark, Observed, Tri, Verdict, refused

TABLET_PORTS = {"web": WEB_PORT, "grpc": GRPC_PORT, "metrics": EXPORTER_PORT}


@dataclass(slots=True)
class Gathered:
    """What a parent's function has found out so far."""

    children: list[Obj] = field(default_factory=list)
    events: list[Happening] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    orphans: dict[str, dict[str, Obj]] = field(default_factory=dict)

    def roll(self, resource: Resource, wish: Obj, live: Obj | None, *, at_once: bool, in_place: InPlace) -> None:
        """Add a child whose changes wait until they are released."""
        found = rolled(resource, wish, live, at_once=at_once, in_place=in_place)
        self.children.append(found.child)
        self.marks += found.marks

    def keep(self, live: Obj, kind: str, name: str, reason: str, message: str) -> None:
        """Add a child that nobody wants and that must not go yet."""
        self.children.append(kept(live))
        self.orphans.setdefault(kind, {})[name] = {"reason": reason, "message": message}
        self.events.append(Happening("TurndownBlocked", f"{live['kind']} {name_of(live)}: {message}", warning=True))


def sync_cluster(parent: Obj, observed: Observed, settings: Settings) -> Verdict:
    """Return what a VitessCluster consists of."""
    spec = parent.get("spec") or {}
    if problems := cluster_problems(spec):
        return refused(parent, observed, problems)
    gathered = Gathered()
    at_once = read_update_strategy(spec).type is UpdateType.IMMEDIATE
    around = cluster_surroundings(parent, settings)
    _lockserver(parent, observed, gathered, at_once=at_once)
    gathered.children += [lasting(each, observed.of(SERVICES)) for each in _services(parent)]
    _dashboards(parent, observed, around, gathered, at_once=at_once)
    _cells(parent, observed, gathered, at_once=at_once)
    _keyspaces(parent, observed, gathered, at_once=at_once)
    gathered.children += [*_storages(parent), *_schedules(parent)]
    status = cluster_status(parent, observed, gathered.orphans)
    return Verdict(tuple(gathered.children), status, tuple(gathered.events), tuple(gathered.marks))


def cluster_surroundings(parent: Obj, settings: Settings) -> Surroundings:
    """Return what the cluster's own Deployments are told of it."""
    spec = parent["spec"]
    return Surroundings(
        cluster=name_of(parent),
        namespace=namespace_of(parent),
        images=read_images(spec),
        lockserver=lockserver_of(parent),
        settings=settings,
        pull_policies=texts(spec.get("imagePullPolicies")),
        pull_secrets=tuple(spec.get("imagePullSecrets") or ()),
        flags=texts(spec.get("extraVitessFlags")),
        zones={str(each["name"]): str(each["zone"]) for each in spec.get("cells") or () if each.get("zone")},
    )


def _lockserver(parent: Obj, observed: Observed, gathered: Gathered, *, at_once: bool) -> None:
    """Add the global lockserver; one that is there is never taken away, whatever the spec says now."""
    found = read_lockserver(dig(parent, "spec", "globalLockserver"))
    name = global_lockserver_name(name_of(parent))
    live = observed.of(ETCD_LOCKSERVERS).get(name)
    if found.external is None:
        labels = {CLUSTER_LABEL: name_of(parent)}
        body = {**(found.etcd or {}), **_pull_secrets(parent)}
        wish = object_of(ETCD_LOCKSERVERS.api_version, ETCD_LOCKSERVERS.kind, name, labels, spec=body)
        gathered.roll(ETCD_LOCKSERVERS, wish, live, at_once=at_once, in_place=nothing_in_place)
    elif live is not None:
        gathered.children.append(kept(live))
        gathered.events.append(Happening("TurndownBlocked", not_supported(name), warning=True))


def not_supported(lockserver: str) -> str:
    """Say why a lockserver stays that nobody asks for any more."""
    return f"EtcdLockserver {lockserver}: it holds topology and is never removed by itself; delete it by hand"


def _pull_secrets(parent: Obj) -> Obj:
    secrets = dig(parent, "spec", "imagePullSecrets")
    return {"imagePullSecrets": secrets} if secrets else {}


def _services(parent: Obj) -> Iterator[Obj]:
    spec, cluster = parent["spec"], name_of(parent)
    name = cluster_service_name(cluster, VTGATE)
    yield service(name, gateway_labels(cluster), GATEWAY_PORTS, read_service(spec.get("gatewayService")))
    labels = {COMPONENT_LABEL: VTTABLET, CLUSTER_LABEL: cluster}
    overrides = read_service(spec.get("tabletService"))
    yield service(cluster_service_name(cluster, VTTABLET), labels, TABLET_PORTS, overrides, headless=True)
    yield dashboard_service(cluster, read_dashboard(spec))


def _dashboards(parent: Obj, observed: Observed, around: Surroundings, gathered: Gathered, *, at_once: bool) -> None:
    spec = parent["spec"]
    cells = [str(cell["name"]) for cell in spec.get("cells") or ()]
    dashboard = read_dashboard(spec)
    for unknown in sorted(set(dashboard.cells) - set(cells)):
        said = f"spec.vitessDashboard.cells: there is no cell {unknown!r} in spec.cells; no vtctld is deployed there"
        gathered.events.append(Happening("InvalidSpec", said, warning=True))
    live = observed.of(DEPLOYMENTS)
    engine = str(dig(spec, "backup", "engine", default=DEFAULT_ENGINE))
    for cell in [cell for cell in cells if not dashboard.cells or cell in dashboard.cells]:
        wish = dashboard_deployment(around, cell, dashboard, read_locations(spec), engine)
        gathered.roll(DEPLOYMENTS, wish, live.get(name_of(wish)), at_once=at_once, in_place=deployment_in_place)
    parts = admin_parts(around, read_admin(spec), cells)
    if parts.problem:
        gathered.events.append(Happening("InvalidSpec", parts.problem, warning=True))
    for each in parts.objects:
        if each["kind"] == DEPLOYMENTS.kind:
            found = live.get(name_of(each))
            gathered.roll(DEPLOYMENTS, each, found, at_once=at_once, in_place=deployment_in_place)
        else:
            gathered.children.append(lasting(each, observed.of(SERVICES)))


def _cells(parent: Obj, observed: Observed, gathered: Gathered, *, at_once: bool) -> None:
    live = dict(observed.of(VITESS_CELLS))
    for raw in parent["spec"].get("cells") or ():
        name = name_of(cell_wish(parent, raw, None))
        found = live.pop(name, None)
        wish = cell_wish(parent, raw, found)
        gathered.roll(VITESS_CELLS, wish, found, at_once=at_once, in_place=cell_in_place)
    for orphan in live.values():
        if not is_idle(orphan):
            said = "keyspaces still use the cell, or it is not known whether any does; take their pools away first"
            gathered.keep(orphan, "orphanedCells", labels_of(orphan)[CELL_LABEL], "NotIdle", said)


def _keyspaces(parent: Obj, observed: Observed, gathered: Gathered, *, at_once: bool) -> None:
    live = dict(observed.of(VITESS_KEYSPACES))
    for raw in parent["spec"].get("keyspaces") or ():
        wish = keyspace_wish(parent, raw)
        found = live.pop(name_of(wish), None)
        in_place = keyspace_in_place(wish["spec"])
        gathered.roll(VITESS_KEYSPACES, wish, found, at_once=at_once, in_place=in_place)
    for orphan in live.values():
        at_will = dig(orphan, "spec", "turndownPolicy") == TurndownPolicy.IMMEDIATE
        if not at_will and not is_idle(orphan):
            said = "it still has tablet pools, or it is not known whether it has; take them away first"
            gathered.keep(orphan, "orphanedKeyspaces", labels_of(orphan)[KEYSPACE_LABEL], "NotIdle", said)


def is_idle(obj: Obj) -> bool:
    """Tell whether an object is known to be used by nobody, as it is now."""
    seen = dig(obj, "status", "observedGeneration") == dig(obj, "metadata", "generation")
    return bool(seen and dig(obj, "status", "idle") == Tri.TRUE)


def _storages(parent: Obj) -> Iterator[Obj]:
    cluster = name_of(parent)
    for raw in dig(parent, "spec", "backup", "locations", default=[]):
        name = backup_storage_name(cluster, str(raw.get("name") or ""))
        labels, body = {CLUSTER_LABEL: cluster}, storage_spec(parent, raw)
        yield object_of(VITESS_BACKUP_STORAGES.api_version, VITESS_BACKUP_STORAGES.kind, name, labels, spec=body)


def _schedules(parent: Obj) -> Iterator[Obj]:
    cluster = name_of(parent)
    for raw in dig(parent, "spec", "backup", "schedules", default=[]):
        name = backup_schedule_name(cluster, str(raw.get("name") or ""))
        body = {**raw, "cluster": cluster, "image": read_images(parent["spec"]).vtctld}
        labels = {CLUSTER_LABEL: cluster}
        yield object_of(VITESS_BACKUP_SCHEDULES.api_version, VITESS_BACKUP_SCHEDULES.kind, name, labels, spec=body)
