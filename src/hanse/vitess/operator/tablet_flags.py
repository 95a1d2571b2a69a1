"""The flags of vttablet: where it stands, which database it serves, and where its backups are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hanse.api.planetscale.values import ExternalDatastore
from hanse.vitess.operator.backup_storage import StorageParts
from hanse.vitess.operator.flags import image_version, merged_flags, topology_flags
from hanse.vitess.operator.shaping import GRPC_PORT, WEB_PORT, SecretMount, Surroundings
from hanse.vitess.operator.tablets import Tablet

_USERS = {"app": "vt_app", "dba": "vt_dba", "repl": "vt_repl", "filtered": "vt_filtered"}
_EXTERNAL_USERS = (*_USERS, "allprivs", "appdebug")
# MySQL's flag that a connection is encrypted.
_CLIENT_SSL = "2048"


class DatabaseWish(Protocol):
    """What is said of a tablet's database and its backups."""

    @property
    def database(self) -> str:
        """The name of the database."""

    @property
    def engine(self) -> str:
        """How backups are made."""

    @property
    def storage(self) -> StorageParts | None:
        """How backups are reached, where there are any."""


def tablet_flags(
    tablet: Tablet, around: Surroundings, wish: DatabaseWish, secrets: Mapping[str, SecretMount]
) -> dict[str, str]:
    """Return the flags of a tablet; what people add wins."""
    external = tablet.pool.external
    if external is not None:
        database = _external_flags(external, secrets)
    else:
        database = {**local_flags(around, wish.database), **backup_flags(wish.storage, wish.engine)}
    return merged_flags(
        _base_flags(tablet, around), topology_flags(around.lockserver), database, around.flags, tablet.pool.tablet.flags
    )


def _base_flags(tablet: Tablet, around: Surroundings) -> dict[str, str]:
    flags = {
        "tablet-path": tablet.alias,
        "tablet_hostname": "$(POD_IP)",
        "init_keyspace": tablet.place.keyspace,
        "init_shard": str(tablet.place.key_range),
        "init_tablet_type": tablet.pool.type.initial_tablet_type,
        "service_map": "grpc-queryservice,grpc-tabletmanager,grpc-updatestream",
        "health_check_interval": "5s",
        "grpc_max_message_size": str(64 * 1024 * 1024),
        "queryserver-config-max-result-size": "100000",
        "queryserver-config-query-timeout": "900s",
        "queryserver-config-pool-size": "96",
        "queryserver-config-stream-pool-size": "96",
        "queryserver-config-transaction-cap": "300",
        "builtinbackup-incremental-restore-path": "/vt/vtdataroot",
        "port": str(WEB_PORT),
        "grpc_port": str(GRPC_PORT),
        "logtostderr": "true",
    }
    if version := image_version(around.images.mysqld):
        flags["mysql_server_version"] = f"{version}-Vitess"
    return flags


def local_flags(around: Surroundings, database: str) -> dict[str, str]:
    """Return the flags by which a tablet uses the MySQL beside it."""
    users = {f"db_{kind}_user": user for kind, user in _USERS.items()}
    return {
        "db_charset": "utf8mb4" if around.images.mysql_flavor == "MySQL80" else "utf8",
        **users,
        "init_db_name_override": database,
        "enforce_strict_trans_tables": "true",
        "enable_replication_reporter": "true",
        "mysqlctl_socket": "/vt/socket/mysqlctl.sock",
        "mycnf_socket_file": "/vt/socket/mysql.sock",
    }


def _external_flags(external: ExternalDatastore, secrets: Mapping[str, SecretMount]) -> dict[str, str]:
    flags = {
        "unmanaged": "true",
        "restore_from_backup": "false",
        "db_host": external.host,
        "db_port": str(external.port),
        "init_db_name_override": external.database,
        **{f"db_{kind}_user": external.user for kind in _EXTERNAL_USERS},
    }
    if credentials := secrets.get("credentials"):
        flags["db-credentials-file"] = credentials.path
    if authority := secrets.get("server-ca"):
        flags |= {"db_ssl_ca": authority.path, "db_flags": _CLIENT_SSL}
    return flags


def backup_flags(storage: StorageParts | None, engine: str) -> dict[str, str]:
    """Return the flags by which a tablet starts from a backup; without a location it starts empty."""
    if storage is None:
        return {"restore_from_backup": "false"}
    flags = {
        "restore_from_backup": "true",
        "restore_concurrency": "10",
        "wait_for_backup_interval": "10s",
        "backup_engine_implementation": engine,
        **storage.flags,
    }
    if engine == "xtrabackup":
        flags |= {"xtrabackup_stripes": "8", "xtrabackup_stream_mode": "xbstream", "xtrabackup_user": "vt_dba"}
    return flags
