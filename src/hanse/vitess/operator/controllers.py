"""The operator's lambda controllers: for each kind its children, how they change, and what its function is shown."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS
from hanse.api.planetscale.kinds import (
    ETCD_LOCKSERVERS,
    GROUP,
    KEYSPACE_LABEL,
    SHARD_LABEL,
    VERSION,
    VITESS_BACKUP_SCHEDULES,
    VITESS_BACKUP_STORAGES,
    VITESS_CELLS,
    VITESS_CLUSTERS,
    VITESS_KEYSPACES,
    VITESS_SHARDS,
)
from hanse.api.planetscale.reading import read_cell
from hanse.composite.spec import (
    ChildRule,
    ControllerSpec,
    Hooks,
    HookSpec,
    KindRef,
    Method,
    ParentRule,
    PythonSpec,
    Sort,
)
from hanse.kube.manifest import Obj, labels_of
from hanse.kube.resources import DEPLOYMENTS, PODS, SECRETS, SERVICES, Resource
from hanse.vitess.operator.gateways import counted_secrets
from hanse.vitess.operator.hooks import Related, of_cluster
from hanse.vitess.operator.kinds import AUTOSCALERS, BUDGETS, CLAIMS, JOBS

_OURS = f"{GROUP}/{VERSION}"


def related_to_cell(parent: Obj) -> list[Obj]:
    """Ask for the keyspaces of the cluster, and the Secrets that vtgate has to be restarted for."""
    rules = [of_cluster(parent, f"{_OURS}/{VITESS_KEYSPACES.plural}")]
    if names := counted_secrets(read_cell(parent["spec"]).gateway):
        rules.append({"apiVersion": SECRETS.api_version, "resource": SECRETS.plural, "names": names})
    return rules


def related_to_shard(parent: Obj) -> list[Obj]:
    """Ask for the backups of the shard."""
    labels = {name: labels_of(parent)[name] for name in (KEYSPACE_LABEL, SHARD_LABEL)}
    return [of_cluster(parent, f"{_OURS}/vitessbackups", **labels)]


def related_to_storage(parent: Obj) -> list[Obj]:
    """Ask for the backups of the cluster."""
    return [of_cluster(parent, f"{_OURS}/vitessbackups")]


def related_to_schedule(parent: Obj) -> list[Obj]:
    """Ask for the shards of the cluster, their backups, and the other schedules."""
    kinds = (VITESS_SHARDS.plural, "vitessbackups", VITESS_BACKUP_SCHEDULES.plural, VITESS_KEYSPACES.plural)
    return [of_cluster(parent, f"{_OURS}/{kind}") for kind in kinds]


@dataclass(frozen=True, slots=True)
class Layer:
    """One kind of the operator's: its children, and what its function is shown beside them."""

    parent: Resource
    children: tuple[Resource, ...]
    related: Related | None = None

    @property
    def name(self) -> str:
        """What its controller is called."""
        return self.parent.kind.lower()

    @property
    def controller(self) -> Obj:
        """The controller as an object, which no cluster stores."""
        return {
            "apiVersion": COMPOSITE_CONTROLLERS.api_version,
            "kind": COMPOSITE_CONTROLLERS.kind,
            "metadata": {"name": self.name},
        }

    @property
    def spec(self) -> ControllerSpec:
        """The controller as lambda controllers are read: everything changes in place, and rolls by its function."""
        in_process = HookSpec(PythonSpec(None, "", module=__name__))
        related = in_process if self.related is not None else None
        return ControllerSpec(
            sort=Sort.COMPOSITE,
            name=self.name,
            parents=(ParentRule(_ref(self.parent)),),
            children=tuple(ChildRule(_ref(kind), Method.IN_PLACE) for kind in self.children),
            hooks=Hooks(sync=in_process, customize=related),
            generate_selector=True,
        )


def _ref(resource: Resource) -> KindRef:
    return KindRef(resource.api_version, resource.plural)


LAYERS: tuple[Layer, ...] = (
    Layer(
        VITESS_CLUSTERS,
        (
            ETCD_LOCKSERVERS,
            SERVICES,
            SECRETS,
            DEPLOYMENTS,
            VITESS_CELLS,
            VITESS_KEYSPACES,
            VITESS_BACKUP_STORAGES,
            VITESS_BACKUP_SCHEDULES,
        ),
    ),
    Layer(VITESS_CELLS, (ETCD_LOCKSERVERS, SERVICES, DEPLOYMENTS, AUTOSCALERS), related_to_cell),
    Layer(VITESS_KEYSPACES, (VITESS_SHARDS,)),
    Layer(VITESS_SHARDS, (DEPLOYMENTS, CLAIMS, PODS), related_to_shard),
    Layer(ETCD_LOCKSERVERS, (SERVICES, CLAIMS, PODS, BUDGETS)),
    Layer(VITESS_BACKUP_STORAGES, (PODS,), related_to_storage),
    Layer(VITESS_BACKUP_SCHEDULES, (JOBS, CLAIMS), related_to_schedule),
)
