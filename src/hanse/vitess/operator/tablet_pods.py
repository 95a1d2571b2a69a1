"""The Pod of a tablet: vttablet, the MySQL that it looks after, and who tells how that fares."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hanse.api.planetscale.kinds import (
    DESIRED_STATE_ANNOTATION,
    DRAIN_SUPPORTED_ANNOTATION,
    MYSQLD_OVERRIDES_ANNOTATION,
)
from hanse.api.planetscale.values import BackupLocation, Pool, SecretSource
from hanse.kube.manifest import Obj
from hanse.vitess.operator.backup_storage import StorageParts, storage_parts
from hanse.vitess.operator.claims import wanted_size
from hanse.vitess.operator.flags import exporter_arguments, flag_arguments, go_max_procs, merged_flags
from hanse.vitess.operator.pods import state_hash
from hanse.vitess.operator.shaping import (
    EXPORTER_PORT,
    GRPC,
    LIVENESS,
    MYSQL,
    WEB,
    SecretMount,
    Surroundings,
    added,
    apart,
    http_probe,
    object_of,
    pod_labels,
    pod_spec,
    secret_mount,
    spread_affinity,
    with_annotations,
)
from hanse.vitess.operator.tablet_flags import tablet_flags
from hanse.vitess.operator.tablets import VTTABLET, Tablet

GRACE_SECONDS = 1800
_ROOT = "vt-root"
_CLAIM = "persistent-volume-claim"
_POD_CONFIG = "pod-config"
_SOCKET = "/vt/socket/mysql.sock"
_CONFIG = ("/vt/config/mycnf/rbr.cnf", "/vt/config/mycnf/log-error.cnf", "/vt/config/mycnf/socket.cnf")
_OVERRIDES = "/pod-config/mysqld-config-overrides"


@dataclass(frozen=True, slots=True)
class TabletWish:
    """All that a tablet's Pod depends on."""

    tablet: Tablet
    around: Surroundings
    database: str
    init_script: SecretSource
    location: BackupLocation | None = None
    engine: str = "builtin"

    @property
    def pool(self) -> Pool:
        """The pool that the tablet is in."""
        return self.tablet.pool

    @property
    def storage(self) -> StorageParts | None:
        """How backups are reached, where there are any."""
        return None if self.location is None else storage_parts(self.location, self.around.cluster)


@dataclass(frozen=True, slots=True)
class MysqlParts:
    """Volumes, mounts, init containers and environment of whatever runs MySQL as tablets do."""

    volumes: tuple[Obj, ...]
    mounts: tuple[Obj, ...]
    init: tuple[Obj, ...]
    env: tuple[Obj, ...]
    annotations: dict[str, str] = field(default_factory=dict)


def mysql_parts(wish: TabletWish, claim: str, binary: str, image: str) -> MysqlParts:
    """Return what MySQL needs around it; `binary` is what an init container copies out of an `image` beside MySQL."""
    pool, around = wish.pool, wish.around
    data = _CLAIM if pool.volume_claim is not None else _ROOT
    script = secret_mount("db-init-script", wish.init_script)
    volumes: list[Obj] = [{"name": _ROOT, "emptyDir": {}}, *script.volumes]
    mounts: list[Obj] = [
        {"name": data, "mountPath": "/vt/vtdataroot", "subPath": "vtdataroot"},
        {"name": _ROOT, "mountPath": "/vt/bin", "subPath": "bin"},
        {"name": _ROOT, "mountPath": "/vt/config", "subPath": "config"},
        {"name": _ROOT, "mountPath": "/vt/socket", "subPath": "socket"},
        script.mount,
    ]
    # The rest of what is in the image stays where it is; only what MySQL's image lacks is copied.
    copying = f"mkdir -p /mnt/vt/bin /mnt/vt/config /mnt/vt/socket; cp --no-clobber /vt/bin/{binary} /mnt/vt/bin/; "
    init: list[Obj] = [
        {
            "name": "init-vt-root",
            "image": image,
            "command": ["bash", "-c", copying + "cp --no-clobber -R /vt/config/mycnf /mnt/vt/config/"],
            "volumeMounts": [{"name": _ROOT, "mountPath": "/mnt/vt"}],
        }
    ]
    if pool.volume_claim is not None:
        volumes.append({"name": _CLAIM, "persistentVolumeClaim": {"claimName": claim}})
        init.append(
            {
                "name": "init-mysql-socket",
                "image": image,
                "command": ["bash", "-c", f"cd /vt/vtdataroot; rm -f {_SOCKET} {_SOCKET}.lock"],
                "volumeMounts": mounts[:4],
            }
        )
    extra, annotations = list(_CONFIG), {}
    if pool.config_overrides:
        annotations[MYSQLD_OVERRIDES_ANNOTATION] = pool.config_overrides
        item = {
            "path": "mysqld-config-overrides",
            "fieldRef": {"fieldPath": f"metadata.annotations['{MYSQLD_OVERRIDES_ANNOTATION}']"},
        }
        volumes.append({"name": _POD_CONFIG, "downwardAPI": {"items": [item]}})
        mounts.append({"name": _POD_CONFIG, "mountPath": "/pod-config"})
        extra.append(_OVERRIDES)
    env: list[Obj] = [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "VTROOT", "value": "/vt"},
        {"name": "VTDATAROOT", "value": "/vt/vtdataroot"},
        {"name": "VT_MYSQL_ROOT", "value": "/usr"},
        {"name": "MYSQL_FLAVOR", "value": around.images.mysql_flavor},
        {"name": "EXTRA_MY_CNF", "value": ":".join(extra)},
    ]
    return MysqlParts(tuple(volumes), tuple(mounts), tuple(init), tuple(env), annotations)


def tablet_pod(wish: TabletWish) -> Obj:
    """Return the Pod of a tablet."""
    tablet, pool, around = wish.tablet, wish.pool, wish.around
    parts = mysql_parts(wish, tablet.name, "mysqlctld", around.images.vttablet)
    storage, secrets = wish.storage, _datastore_mounts(pool)
    extras = pool.tablet
    if extras.grace_seconds is None:
        extras = replace(extras, grace_seconds=GRACE_SECONDS)
    volumes = [*parts.volumes, *(storage.volumes if storage else ())]
    volumes += [volume for mount in secrets.values() for volume in mount.volumes]
    mounts = [*parts.mounts, *(storage.mounts if storage else ()), *(mount.mount for mount in secrets.values())]
    env = [*parts.env, *(storage.env if storage else ())]
    vttablet: Obj = {
        "name": VTTABLET,
        "image": around.images.vttablet,
        **around.pull_policy(VTTABLET),
        "command": ["/vt/bin/vttablet"],
        "args": flag_arguments(tablet_flags(wish.tablet, around, wish, secrets)),
        "env": [*env, *go_max_procs(pool.tablet_resources)],
        "ports": [WEB, GRPC],
        "resources": pool.tablet_resources,
        "readinessProbe": http_probe("/healthz"),
        "livenessProbe": LIVENESS,
        "volumeMounts": [mount for mount in mounts if mount["mountPath"] != "/vt/bin"],
    }
    containers = [added(vttablet, extras)]
    if pool.mysqld_resources is not None:
        containers.append(_mysqld(wish, [*parts.mounts], [*parts.env], pool.mysqld_resources))
        if around.images.exporter:
            containers.append(_exporter(wish))
    spec = pod_spec(around, containers, volumes, extras, init=parts.init, affinity=_affinity(tablet, around))
    spec["restartPolicy"] = "Always"
    pod = object_of("v1", "Pod", tablet.name, pod_labels(tablet.labels, extras), spec=spec)
    location = wish.location.annotations if wish.location is not None else {}
    drain = {DRAIN_SUPPORTED_ANNOTATION: "ensure that the tablet is not a primary"}
    pod = with_annotations(pod, {**location, **extras.annotations, **parts.annotations, **drain})
    size = wanted_size(pool.volume_claim or {})
    hashed = state_hash(pod, data_volume_size=size, overrides=pool.config_overrides)
    return with_annotations(pod, {DESIRED_STATE_ANNOTATION: hashed})


def _mysqld(wish: TabletWish, mounts: list[Obj], env: list[Obj], resources: Obj) -> Obj:
    around, flags = wish.around, mysqlctld_flags(wish)
    return {
        "name": "mysqld",
        "image": around.images.mysqld,
        **around.pull_policy("mysqld"),
        "command": ["/vt/bin/mysqlctld"],
        "args": flag_arguments(flags),
        "env": env,
        "ports": [MYSQL],
        "resources": resources,
        "readinessProbe": {"tcpSocket": {"port": "mysql"}, "periodSeconds": 2},
        "volumeMounts": mounts,
    }


def mysqlctld_flags(wish: TabletWish) -> dict[str, str]:
    """Return the flags of what starts and stops MySQL."""
    script = secret_mount("db-init-script", wish.init_script)
    return {
        "db_dba_user": "vt_dba",
        "init_db_sql_file": script.path,
        "mysql_socket": _SOCKET,
        "socket_file": "/vt/socket/mysqlctl.sock",
        "tablet_uid": str(wish.tablet.identity.uid),
        "wait_time": "2h",
        "logtostderr": "true",
    }


def _exporter(wish: TabletWish) -> Obj:
    flags = merged_flags(
        {
            "web.listen-address": f":{EXPORTER_PORT}",
            "collect.info_schema.tables.databases": "sys,_vt",
            "collect.info_schema.userstats": "false",
        },
        wish.pool.exporter_flags,
    )
    return {
        "name": "mysqld-exporter",
        "image": wish.around.images.exporter,
        **wish.around.pull_policy("mysqldExporter"),
        "command": ["/bin/mysqld_exporter"],
        "args": exporter_arguments(flags),
        "env": [{"name": "DATA_SOURCE_NAME", "value": f"vt_dba@unix({_SOCKET})/"}],
        "ports": [{"name": "metrics", "containerPort": EXPORTER_PORT, "protocol": "TCP"}],
        "resources": wish.pool.exporter_resources,
        "volumeMounts": [{"name": _ROOT, "mountPath": "/vt/socket", "subPath": "socket"}],
    }


def _datastore_mounts(pool: Pool) -> dict[str, SecretMount]:
    """Return the Secrets by which a database is reached that is not the tablet's own."""
    if pool.external is None:
        return {}
    sources = {"credentials": pool.external.credentials, "server-ca": pool.external.server_ca}
    return {name: secret_mount(f"datastore-{name}", source) for name, source in sources.items() if source}


def _affinity(tablet: Tablet, around: Surroundings) -> Obj:
    shard = {name: value for name, value in tablet.pool_labels.items() if name in tablet.place.labels}
    zone = around.zones.get(tablet.pool.cell, "")
    component = {name: value for name, value in tablet.labels.items() if name.endswith("/component")}
    return spread_affinity(zone, apart(2, {**component, **shard}), apart(1, tablet.pool_labels))
