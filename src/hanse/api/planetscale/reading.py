"""Reading the specs of `planetscale.com/v2` into values; what is left out gets its default here, stored nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hanse.api.planetscale.values import (
    Admin,
    BackupLocation,
    Cell,
    Dashboard,
    ExternalDatastore,
    Extras,
    Gateway,
    Images,
    Lockserver,
    LockserverParams,
    Pool,
    PoolType,
    SecretSource,
    ServiceOverrides,
    ShardTemplate,
    TopologySwitches,
    UpdateStrategy,
    UpdateType,
)
from hanse.kube.manifest import Obj, dig

LITE_IMAGE = "vitess/lite:latest"
EXPORTER_IMAGE = "prom/mysqld-exporter:v0.18.0"
MYSQLD_IMAGE = "mysql:8.0.40"
ETCD_IMAGE = "quay.io/coreos/etcd:v3.5.17"
# In this order the first that is given counts.
_FLAVORS = (
    ("mysql56Compatible", "MySQL56"),
    ("mysql80Compatible", "MySQL80"),
    ("mariadbCompatible", "MariaDB"),
    ("mariadb103Compatible", "MariaDB103"),
)
STORAGES = ("gcs", "s3", "azblob", "ceph", "volume")
DEFAULT_ENGINE = "builtin"


def amounts(cpu: str, memory: str) -> Obj:
    """Return resources that ask for so much, and no more memory."""
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}}


DASHBOARD_RESOURCES = amounts("100m", "128Mi")
VTORC_RESOURCES = amounts("100m", "128Mi")
GATEWAY_RESOURCES = amounts("500m", "1Gi")
ETCD_RESOURCES = amounts("100m", "256Mi")
EXPORTER_RESOURCES: Obj = {
    "requests": {"cpu": "10m", "memory": "32Mi"},
    "limits": {"cpu": "100m", "memory": "128Mi"},
}


def read_images(spec: Obj, overrides: Obj | None = None) -> Images:
    """Read which images components run; a keyspace may override those of its tablets."""
    images = {**(spec.get("images") or {}), **{name: each for name, each in (overrides or {}).items() if each}}
    mysqld = images.get("mysqld") or {}
    found = next(((mysqld[name], flavor) for name, flavor in _FLAVORS if mysqld.get(name)), (MYSQLD_IMAGE, "MySQL80"))

    def image(name: str, default: str = LITE_IMAGE) -> str:
        return str(images.get(name) or default)

    return Images(
        vtctld=image("vtctld"),
        vtadmin=image("vtadmin", ""),
        vtorc=image("vtorc"),
        vtgate=image("vtgate"),
        vttablet=image("vttablet"),
        vtbackup=image("vtbackup"),
        exporter=image("mysqldExporter", EXPORTER_IMAGE),
        mysqld=found[0],
        mysql_flavor=found[1],
    )


def read_extras(spec: Obj) -> Extras:
    """Read what people add to a component's pods."""
    grace = spec.get("terminationGracePeriodSeconds")
    return Extras(
        flags=texts(spec.get("extraFlags")),
        env=_objects(spec, "extraEnv"),
        volumes=_objects(spec, "extraVolumes"),
        volume_mounts=_objects(spec, "extraVolumeMounts"),
        init_containers=_objects(spec, "initContainers"),
        sidecars=_objects(spec, "sidecarContainers"),
        affinity=spec.get("affinity"),
        annotations=texts(spec.get("annotations")),
        labels=texts(spec.get("extraLabels")),
        tolerations=_objects(spec, "tolerations"),
        spread=_objects(spec, "topologySpreadConstraints"),
        lifecycle=spec.get("lifecycle") or None,
        grace_seconds=None if grace is None else int(grace),
    )


def _objects(spec: Obj, name: str) -> tuple[Obj, ...]:
    return tuple(spec.get(name) or ())


def texts(mapping: Mapping[str, Any] | None) -> dict[str, str]:
    """Return a mapping of texts, empty where there is none."""
    return {str(name): str(value) for name, value in (mapping or {}).items()}


def read_service(spec: Obj | None) -> ServiceOverrides:
    """Read what people say of a Service."""
    return ServiceOverrides(texts((spec or {}).get("annotations")), str((spec or {}).get("clusterIP") or ""))


def read_secret(spec: Obj | None) -> SecretSource:
    """Read where a secret is."""
    found = spec or {}
    return SecretSource(*(str(found.get(name) or "") for name in ("name", "volumeName", "key")))


def read_lockserver_params(spec: Obj) -> LockserverParams:
    """Read how to reach a lockserver."""
    return LockserverParams(*(str(spec.get(name) or "") for name in ("implementation", "address", "rootPath")))


def read_lockserver(spec: Obj | None) -> Lockserver:
    """Read a lockserver as it is asked for; an external one wins over an etcd."""
    found = spec or {}
    external = found.get("external")
    return Lockserver(
        external=None if external is None else read_lockserver_params(external),
        etcd=None if external is not None else found.get("etcd"),
        cell_info_address=str(found.get("cellInfoAddress") or ""),
    )


def read_dashboard(spec: Obj) -> Dashboard:
    """Read how vtctld is deployed."""
    found = spec.get("vitessDashboard") or {}
    return Dashboard(
        cells=tuple(found.get("cells") or ()),
        replicas=_count(found, "replicas", 1),
        resources=found.get("resources") or DASHBOARD_RESOURCES,
        extras=read_extras(found),
        service=read_service(found.get("service")),
    )


def read_admin(spec: Obj) -> Admin | None:
    """Read how vtadmin is deployed; None where nobody asks for it."""
    found = spec.get("vtadmin")
    if found is None:
        return None
    return Admin(
        rbac=read_secret(found.get("rbac")),
        cells=tuple(found.get("cells") or ()),
        api_addresses=tuple(found.get("apiAddresses") or ()),
        replicas=_count(found, "replicas", 1),
        web_resources=found.get("webResources") or DASHBOARD_RESOURCES,
        api_resources=found.get("apiResources") or DASHBOARD_RESOURCES,
        fetch_credentials=str(found.get("fetchCredentials") or "omit"),
        read_only=bool(found.get("readOnly")),
        extras=read_extras(found),
        service=read_service(found.get("service")),
    )


def _count(spec: Obj, name: str, default: int) -> int:
    value = spec.get(name)
    return default if value is None else int(value)


def read_cell(spec: Obj) -> Cell:
    """Read a cell, out of a VitessCluster or a VitessCell."""
    return Cell(
        name=str(spec.get("name") or ""),
        zone=str(spec.get("zone") or ""),
        lockserver=read_lockserver(spec.get("lockserver")),
        gateway=_read_gateway(spec.get("gateway") or {}),
    )


def _read_gateway(spec: Obj) -> Gateway:
    tls = dig(spec, "secureTransport", "tls", default={})
    return Gateway(
        replicas=_count(spec, "replicas", 2),
        autoscaler=spec.get("autoscaler"),
        resources=spec.get("resources") or GATEWAY_RESOURCES,
        static_auth=read_secret(dig(spec, "authentication", "static", "secret")),
        tls_required=bool(dig(spec, "secureTransport", "required")),
        tls_cert=read_secret(tls.get("certSecret")),
        tls_key=read_secret(tls.get("keySecret")),
        tls_client_ca=read_secret(tls.get("clientCACertSecret")),
        extras=read_extras(spec),
        service=read_service(spec.get("service")),
        strategy=spec.get("strategy"),
    )


def read_pool(spec: Obj) -> Pool:
    """Read a pool of tablets."""
    tablet = spec.get("vttablet") or {}
    mysqld, exporter = spec.get("mysqld"), spec.get("mysqldExporter") or {}
    common = read_extras(spec)
    own = read_extras(tablet)
    return Pool(
        cell=str(spec.get("cell") or ""),
        type=PoolType(spec.get("type") or PoolType.REPLICA),
        name=str(spec.get("name") or ""),
        replicas=_count(spec, "replicas", 0),
        volume_claim=spec.get("dataVolumeClaimTemplate"),
        backup_location=str(spec.get("backupLocationName") or ""),
        tablet=Extras(
            flags=own.flags,
            env=common.env,
            volumes=common.volumes,
            volume_mounts=common.volume_mounts,
            init_containers=common.init_containers,
            sidecars=common.sidecars,
            affinity=common.affinity,
            annotations=common.annotations,
            labels=common.labels,
            tolerations=common.tolerations,
            spread=common.spread,
            lifecycle=own.lifecycle,
            grace_seconds=own.grace_seconds,
        ),
        tablet_resources=tablet.get("resources") or {},
        backup_flags=texts(tablet.get("vtbackupExtraFlags")),
        mysqld_resources=None if mysqld is None else (mysqld.get("resources") or {}),
        config_overrides=str((mysqld or {}).get("configOverrides") or ""),
        external=_read_datastore(spec.get("externalDatastore")),
        exporter_flags=texts(exporter.get("extraFlags")),
        exporter_resources=exporter.get("resources") or EXPORTER_RESOURCES,
    )


def _read_datastore(spec: Obj | None) -> ExternalDatastore | None:
    if spec is None:
        return None
    return ExternalDatastore(
        user=str(spec.get("user") or ""),
        host=str(spec.get("host") or ""),
        port=int(spec.get("port") or 3306),
        database=str(spec.get("database") or ""),
        credentials=read_secret(spec.get("credentialsSecret")),
        server_ca=read_secret(spec.get("serverCACertSecret")),
    )


def read_shard_template(spec: Obj) -> ShardTemplate:
    """Read what a shard consists of."""
    replication = spec.get("replication") or {}
    return ShardTemplate(
        pools=tuple(map(read_pool, spec.get("tabletPools") or ())),
        init_script=read_secret(spec.get("databaseInitScriptSecret")),
        initialize_primary=_switch(replication, "initializeMaster", "initializePrimary"),
        initialize_backup=_switch(replication, "initializeBackup"),
        annotations=texts(spec.get("annotations")),
    )


def _switch(spec: Obj, *names: str) -> bool:
    given = [spec[name] for name in names if spec.get(name) is not None]
    return bool(given[0]) if given else True


def read_update_strategy(spec: Obj) -> UpdateStrategy:
    """Read how changes are let go."""
    strategy = spec.get("updateStrategy") or {}
    flows = dig(strategy, "external", "allowResourceChanges", default=[])
    return UpdateStrategy(UpdateType(strategy.get("type") or UpdateType.EXTERNAL), "storage" in flows)


def read_switches(spec: Obj) -> TopologySwitches:
    """Read what may be written into topology."""
    found = spec.get("topologyReconciliation") or {}
    return TopologySwitches(
        register_cells=_switch(found, "registerCells"),
        register_cells_aliases=_switch(found, "registerCellsAliases"),
        prune_cells=_switch(found, "pruneCells"),
        prune_keyspaces=_switch(found, "pruneKeyspaces"),
        prune_srv_keyspaces=_switch(found, "pruneSrvKeyspaces"),
        prune_shards=_switch(found, "pruneShards"),
        prune_shard_cells=_switch(found, "pruneShardCells"),
        prune_tablets=_switch(found, "pruneTablets"),
    )


def read_locations(spec: Obj) -> tuple[BackupLocation, ...]:
    """Read the places for backups, out of a VitessCluster's `backup` or a copy of the list."""
    listed = spec.get("backupLocations") or dig(spec, "backup", "locations", default=[])
    return tuple(map(read_location, listed))


def read_location(spec: Obj) -> BackupLocation:
    """Read one place for backups."""
    kind = next((each for each in STORAGES if spec.get(each) is not None), "")
    return BackupLocation(
        name=str(spec.get("name") or ""),
        kind=kind,
        storage=spec.get(kind) or {},
        volume_sub_path=str(spec.get("volumeSubPath") or ""),
        annotations=texts(spec.get("annotations")),
    )
