"""vtbackup: a Pod that starts a MySQL from the last backup, or empty, catches up, and stores a new one."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.api.planetscale.kinds import BACKUP_LOCATION_LABEL, BACKUP_TYPE_LABEL, COMPONENT_LABEL
from hanse.kube.manifest import Obj
from hanse.vitess.operator.flags import flag_arguments, merged_flags, topology_flags
from hanse.vitess.operator.shaping import object_of, pod_labels, pod_spec, secret_mount, with_annotations
from hanse.vitess.operator.tablet_flags import backup_flags, local_flags
from hanse.vitess.operator.tablet_pods import TabletWish, mysql_parts

VTBACKUP = "vtbackup"
INITIAL = "init"
UPDATE = "update"
# Said of tablets only; vtbackup does not know them.
_TABLETS_OWN = frozenset(
    {
        "restore_from_backup",
        "wait_for_backup_interval",
        "restore_concurrency",
        "enforce_strict_trans_tables",
        "enable_replication_reporter",
        "init_db_name_override",
        "mysqlctl_socket",
        "mycnf_socket_file",
        "db_app_user",
        "db_filtered_user",
    }
)


def backup_labels(wish: TabletWish, kind: str) -> dict[str, str]:
    """Return the labels of a vtbackup Pod and its claim; `kind` is init or update."""
    labels = {COMPONENT_LABEL: VTBACKUP, **wish.tablet.place.labels, BACKUP_TYPE_LABEL: kind}
    return {**labels, BACKUP_LOCATION_LABEL: wish.location.name} if wish.location is not None else labels


def backup_pod(name: str, wish: TabletWish, kind: str, more: Mapping[str, str] | None = None) -> Obj:
    """Return a Pod, shaped like a tablet, that makes one backup; the first of a shard starts from nothing."""
    pool, around, storage = wish.pool, wish.around, wish.storage
    parts = mysql_parts(wish, name, VTBACKUP, around.images.vtbackup)
    flags = merged_flags(
        {
            "init_keyspace": wish.tablet.place.keyspace,
            "init_shard": str(wish.tablet.place.key_range),
            "init_db_name_override": wish.database,
            "init_db_sql_file": secret_mount("db-init-script", wish.init_script).path,
            "initial_backup": str(kind == INITIAL).lower(),
            "min_backup_interval": "0",
            "min_retention_time": "0",
            "min_retention_count": "1",
            "concurrency": "10",
            "mysql_socket": "/vt/socket/mysql.sock",
            "logtostderr": "true",
        },
        topology_flags(around.lockserver),
        {
            flag: value
            for flag, value in {**local_flags(around, wish.database), **backup_flags(storage, wish.engine)}.items()
            if flag not in _TABLETS_OWN
        },
        around.flags,
        pool.backup_flags,
        more or {},
    )
    container: Obj = {
        "name": VTBACKUP,
        "image": around.images.mysqld,
        **around.pull_policy("mysqld"),
        "command": ["/vt/bin/vtbackup"],
        "args": flag_arguments(flags),
        "env": [*parts.env, *(storage.env if storage else ())],
        "resources": pool.mysqld_resources or {},
        "volumeMounts": [*parts.mounts, *(storage.mounts if storage else ())],
    }
    extras = pool.tablet
    volumes = [*parts.volumes, *(storage.volumes if storage else ())]
    spec = pod_spec(around, [container], volumes, extras, init=parts.init)
    spec["containers"] = [container]
    spec["restartPolicy"] = "OnFailure" if kind == INITIAL else "Never"
    pod = object_of("v1", "Pod", name, pod_labels(backup_labels(wish, kind), extras), spec=spec)
    location = wish.location.annotations if wish.location is not None else {}
    return with_annotations(pod, {**location, **extras.annotations, **parts.annotations})
