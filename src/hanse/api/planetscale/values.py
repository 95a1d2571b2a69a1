"""A VitessCluster's spec and those below it as typed values; what only pods care about stays as it was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hanse.kube.manifest import Obj


class UpdateType(StrEnum):
    """Who lets changes go that restart something: somebody outside, or the operator at once."""

    EXTERNAL = "External"
    IMMEDIATE = "Immediate"


class TurndownPolicy(StrEnum):
    """Whether a keyspace that nobody asks for any more waits until nothing uses it."""

    REQUIRE_IDLE = "RequireIdle"
    IMMEDIATE = "Immediate"


class PoolType(StrEnum):
    """What the tablets of a pool are for."""

    REPLICA = "replica"
    RDONLY = "rdonly"
    EXTERNAL_MASTER = "externalmaster"
    EXTERNAL_REPLICA = "externalreplica"
    EXTERNAL_RDONLY = "externalrdonly"

    @property
    def initial_tablet_type(self) -> str:
        """As what a tablet of the pool starts."""
        return {"externalmaster": "spare", "externalreplica": "replica", "externalrdonly": "rdonly"}.get(self, self)

    @property
    def primary_eligible(self) -> bool:
        """Whether a tablet of the pool may become a shard's primary."""
        return self in (PoolType.REPLICA, PoolType.EXTERNAL_MASTER)


@dataclass(frozen=True, slots=True)
class Images:
    """Which image each component runs; vtadmin's is "" where it is not deployed."""

    vtctld: str
    vtadmin: str
    vtorc: str
    vtgate: str
    vttablet: str
    vtbackup: str
    exporter: str
    mysqld: str
    mysql_flavor: str


@dataclass(frozen=True, slots=True)
class Extras:
    """What people add to the pods of a component, as they wrote it."""

    flags: Mapping[str, str] = field(default_factory=dict)
    env: tuple[Obj, ...] = ()
    volumes: tuple[Obj, ...] = ()
    volume_mounts: tuple[Obj, ...] = ()
    init_containers: tuple[Obj, ...] = ()
    sidecars: tuple[Obj, ...] = ()
    affinity: Obj | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Obj, ...] = ()
    spread: tuple[Obj, ...] = ()
    lifecycle: Obj | None = None
    grace_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class ServiceOverrides:
    """What people say of a Service: annotations are never removed, the address counts only when it is made."""

    annotations: Mapping[str, str] = field(default_factory=dict)
    cluster_ip: str = ""


@dataclass(frozen=True, slots=True)
class SecretSource:
    """A key of a Secret, or of a volume that is there already."""

    name: str = ""
    volume: str = ""
    key: str = ""

    def __bool__(self) -> bool:
        return bool(self.key and (self.name or self.volume))


@dataclass(frozen=True, slots=True)
class LockserverParams:
    """How to reach a lockserver."""

    implementation: str
    address: str
    root: str


@dataclass(frozen=True, slots=True)
class Lockserver:
    """A lockserver as a spec asks for it: one that is there, or an etcd to be deployed, or neither."""

    external: LockserverParams | None = None
    etcd: Obj | None = None
    cell_info_address: str = ""


@dataclass(frozen=True, slots=True)
class Dashboard:
    """How vtctld is deployed; no cells are all cells."""

    cells: tuple[str, ...] = ()
    replicas: int = 1
    resources: Obj = field(default_factory=dict)
    extras: Extras = field(default_factory=Extras)
    service: ServiceOverrides = field(default_factory=ServiceOverrides)


@dataclass(frozen=True, slots=True)
class Admin:
    """How vtadmin is deployed."""

    rbac: SecretSource = field(default_factory=SecretSource)
    cells: tuple[str, ...] = ()
    api_addresses: tuple[str, ...] = ()
    replicas: int = 1
    web_resources: Obj = field(default_factory=dict)
    api_resources: Obj = field(default_factory=dict)
    fetch_credentials: str = "omit"
    read_only: bool = False
    extras: Extras = field(default_factory=Extras)
    service: ServiceOverrides = field(default_factory=ServiceOverrides)


@dataclass(frozen=True, slots=True)
class Gateway:
    """How the vtgates of a cell are deployed."""

    replicas: int = 2
    autoscaler: Obj | None = None
    resources: Obj = field(default_factory=dict)
    static_auth: SecretSource = field(default_factory=SecretSource)
    tls_required: bool = False
    tls_cert: SecretSource = field(default_factory=SecretSource)
    tls_key: SecretSource = field(default_factory=SecretSource)
    tls_client_ca: SecretSource = field(default_factory=SecretSource)
    extras: Extras = field(default_factory=Extras)
    service: ServiceOverrides = field(default_factory=ServiceOverrides)
    strategy: Obj | None = None

    @property
    def tls(self) -> bool:
        """Whether clients may speak TLS: both halves are there."""
        return bool(self.tls_cert and self.tls_key)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell."""

    name: str
    zone: str = ""
    lockserver: Lockserver = field(default_factory=Lockserver)
    gateway: Gateway = field(default_factory=Gateway)


@dataclass(frozen=True, slots=True)
class ExternalDatastore:
    """A database that Vitess does not run."""

    user: str
    host: str
    port: int
    database: str
    credentials: SecretSource
    server_ca: SecretSource


@dataclass(frozen=True, slots=True)
class Pool:
    """Tablets of one type in one cell; `mysqld` is what is said of their own database, None with an external one."""

    cell: str
    type: PoolType
    name: str
    replicas: int
    volume_claim: Obj | None
    backup_location: str
    tablet: Extras
    tablet_resources: Obj
    backup_flags: Mapping[str, str]
    mysqld_resources: Obj | None
    config_overrides: str
    external: ExternalDatastore | None
    exporter_flags: Mapping[str, str]
    exporter_resources: Obj

    @property
    def identity_name(self) -> str:
        """The name of the pool as far as it tells tablets apart."""
        return self.name if self.external is not None else ""


@dataclass(frozen=True, slots=True)
class ShardTemplate:
    """What a shard consists of."""

    pools: tuple[Pool, ...] = ()
    init_script: SecretSource = field(default_factory=SecretSource)
    initialize_primary: bool = True
    initialize_backup: bool = True
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UpdateStrategy:
    """How changes are let go; under External, growth of disks may be."""

    type: UpdateType = UpdateType.EXTERNAL
    storage_flows: bool = False


@dataclass(frozen=True, slots=True)
class TopologySwitches:
    """What the operator may write into topology, and remove from it."""

    register_cells: bool = True
    register_cells_aliases: bool = True
    prune_cells: bool = True
    prune_keyspaces: bool = True
    prune_srv_keyspaces: bool = True
    prune_shards: bool = True
    prune_shard_cells: bool = True
    prune_tablets: bool = True


@dataclass(frozen=True, slots=True)
class BackupLocation:
    """A place for backups; `""` is the default one. `storage` is what was written of exactly one kind of storage."""

    name: str
    kind: str
    storage: Obj
    volume_sub_path: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def auth(self) -> SecretSource:
        """The credentials that it is reached with."""
        secret = self.storage.get("authSecret") or {}
        return SecretSource(secret.get("name") or "", secret.get("volumeName") or "", secret.get("key") or "")
