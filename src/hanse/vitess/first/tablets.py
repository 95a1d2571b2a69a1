"""The tablets of a shard in one cell: who they are, and the pod and the volume of each. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from hanse.api.vitess.kinds import COMPONENT_LABEL, SPEC_DIGEST_ANNOTATION, TABLET_UID_LABEL
from hanse.kube.manifest import Obj
from hanse.vitess.first.components import SECURITY, WEB_AND_GRPC
from hanse.vitess.first.flags import WEB_PORT, shared_flags, shell
from hanse.vitess.first.levels import merged, template_labels, text_of

REPLICA = "replica"
RDONLY = "rdonly"
# A change is rolled out in this order: those first that cannot be the primary.
_POOLS = (("batch", RDONLY), ("masterEligible", REPLICA))
_UIDS_PER_POOL = 100
_USERS = ("app", "dba", "repl", "filtered")
_SOCKET = "$VTDATAROOT/mysqlctl.sock"
_DATA = [{"name": "vtdataroot", "mountPath": "/vt/vtdataroot"}]
_EXTRA_CONFIG = "/vt/config/mycnf/master_mysql56.cnf:/vt/vtdataroot/init/report-host.cnf"


@dataclass(frozen=True, slots=True)
class Tablet:
    """One tablet: where it belongs, which of its type it is, and what its pool says."""

    cluster: str
    cell: str
    type: str
    uid: int
    pool: Obj

    @property
    def uid_string(self) -> str:
        """The uid as it is a part of names."""
        return f"{self.uid:010d}"

    @property
    def alias(self) -> str:
        """What Vitess calls it."""
        return f"{self.cell}-{self.uid_string}"

    @property
    def name(self) -> str:
        """What its pod and its volume are called."""
        return f"{self.cluster}-vttablet-{self.alias}"


def tablet_uid(cell: str, keyspace: str, shard: str, tablet_type: str, index: int) -> int:
    """Return the uid that a tablet has for good: it follows from where it belongs."""
    digest = hashlib.md5(f"{cell}/{keyspace}/{shard}/{tablet_type}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:6], 16) * _UIDS_PER_POOL + index


def tablets_of(spec: Obj, cell: str = "") -> list[Tablet]:
    """Return the tablets of a shard in its cell, or in another one, in the order in which changes reach them."""
    return [each for pool, tablet_type in _POOLS for each in _pool_of(spec, cell or spec["cell"], pool, tablet_type)]


def _pool_of(spec: Obj, cell: str, pool: str, tablet_type: str) -> list[Tablet]:
    tablets = spec.get("tablets") or {}
    if pool not in tablets:
        return []
    wanted = merged(tablets.get("defaults") or {}, tablets[pool])
    return [_tablet(spec, cell, tablet_type, index, wanted) for index in range(wanted.get("replicas", 1))]


def _tablet(spec: Obj, cell: str, tablet_type: str, index: int, pool: Obj) -> Tablet:
    uid = tablet_uid(cell, spec["keyspace"], spec["name"], tablet_type, index)
    return Tablet(spec["cluster"], cell, tablet_type, uid, pool)


def surplus_replicas(spec: Obj, uids: list[str]) -> list[Tablet]:
    """Return the tablets of type replica that exist and are not wanted any more."""
    pool = (spec.get("tablets") or {}).get("masterEligible")
    if pool is None:
        return []
    wanted = merged((spec.get("tablets") or {}).get("defaults") or {}, pool)
    beyond = (
        _tablet(spec, spec["cell"], REPLICA, index, wanted)
        for index in range(wanted.get("replicas", 1), _UIDS_PER_POOL)
    )
    return [each for each in beyond if each.uid_string in uids]


def claim_of(shard: Obj, tablet: Tablet) -> Obj | None:
    """Make the volume of a tablet; None where its pool names none."""
    if "volumeClaim" not in tablet.pool:
        return None
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": tablet.name, "labels": _labels(shard, tablet)},
        "spec": tablet.pool["volumeClaim"],
    }


def pod_of(shard: Obj, tablet: Tablet) -> Obj:
    """Make the pod of a tablet, which says by a digest what it was made from."""
    spec = _pod_spec(shard["spec"], tablet)
    digest = hashlib.md5(text_of(spec).encode(), usedforsecurity=False).hexdigest()
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": tablet.name,
            "labels": _labels(shard, tablet),
            "annotations": {SPEC_DIGEST_ANNOTATION: digest},
        },
        "spec": spec,
    }


def _labels(shard: Obj, tablet: Tablet) -> dict[str, str]:
    return {**template_labels(shard), COMPONENT_LABEL: "vttablet", TABLET_UID_LABEL: tablet.uid_string}


def _pod_spec(spec: Obj, tablet: Tablet) -> Obj:
    pool, subdomain = tablet.pool, f"{spec['cluster']}-vttablet-{spec['cell']}"
    hostname = f"$(hostname -s).{subdomain}"
    report = f"set -ex; mkdir -p $VTDATAROOT/init; echo report-host={hostname} > $VTDATAROOT/init/report-host.cnf"
    data = {"persistentVolumeClaim": {"claimName": tablet.name}} if "volumeClaim" in pool else {"emptyDir": {}}
    return {
        "hostname": tablet.alias,
        "subdomain": subdomain,
        "securityContext": SECURITY,
        "initContainers": [{**_container(pool, "init-vtdataroot"), "command": ["bash", "-c", report]}],
        "containers": [
            {
                **_container(pool, "vttablet"),
                **_resources(pool, "vttablet"),
                "ports": [{"name": each["name"], "containerPort": each["port"]} for each in WEB_AND_GRPC],
                "livenessProbe": {
                    "httpGet": {"path": "/debug/vars", "port": WEB_PORT},
                    "initialDelaySeconds": 60,
                    "timeoutSeconds": 10,
                },
                "command": shell("vttablet", vttablet_flags(spec, tablet, hostname)),
            },
            {
                **_container(pool, "mysql", {"name": "EXTRA_MY_CNF", "value": _EXTRA_CONFIG}),
                **_resources(pool, "mysql"),
                "command": shell("mysqlctld", mysqlctld_flags(tablet)),
            },
        ],
        "volumes": [{"name": "vtdataroot", **data}],
    }


def _container(pool: Obj, name: str, *variables: Obj) -> Obj:
    roots = [{"name": "VTROOT", "value": "/vt"}, {"name": "VTDATAROOT", "value": "/vt/vtdataroot"}]
    return {"name": name, "image": pool["image"], "env": [*roots, *variables], "volumeMounts": _DATA}


def _resources(pool: Obj, container: str) -> Obj:
    wanted = pool.get(container) or {}
    return {"resources": wanted["resources"]} if "resources" in wanted else {}


def vttablet_flags(spec: Obj, tablet: Tablet, hostname: str) -> Obj:
    """Return the command line of vttablet; what users say of it wins."""
    backup = spec.get("backupFlags") or {}
    users = {
        f"db-config-{user}-{key}": value
        for user in _USERS
        for key, value in (("uname", f"vt_{user}"), ("dbname", f"vt_{spec['keyspace']}"), ("charset", "utf8"))
    }
    return {
        **shared_flags(spec["cluster"]),
        **users,
        "enable_replication_reporter": True,
        "enable_semi_sync": True,
        "health_check_interval": "5s",
        "init_keyspace": spec["keyspace"],
        "init_shard": spec["name"],
        "init_tablet_type": tablet.type,
        "mysqlctl_socket": _SOCKET,
        "orc_api_url": f"http://{spec['cluster']}-global-orchestrator/api",
        "orc_discover_interval": "5m",
        "restore_from_backup": "backup_storage_implementation" in backup,
        "service_map": "grpc-queryservice,grpc-tabletmanager,grpc-updatestream",
        "tablet-path": tablet.alias,
        "tablet_hostname": hostname,
        **backup,
        **((tablet.pool.get("vttablet") or {}).get("flags") or {}),
    }


def mysqlctld_flags(tablet: Tablet) -> Obj:
    """Return the command line of mysqlctld; what users say of it wins."""
    return {
        "db-config-dba-charset": "utf8",
        "db-config-dba-uname": "vt_dba",
        "init_db_sql_file": "$VTROOT/config/init_db.sql",
        "logtostderr": True,
        "socket_file": _SOCKET,
        "tablet_uid": tablet.uid,
        **((tablet.pool.get("mysql") or {}).get("flags") or {}),
    }
