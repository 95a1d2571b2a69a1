"""What the objects of a VitessCluster are called: the same input gives the same names in every cluster.

A name is its parts joined by dashes, and a short hash of the parts as they were given: parts that look equal once they
are cleaned, or that are cut, still give different names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

HASH_DIGITS = 8
_CUT = "---"
# The first character, the cut and the hash; a limit below leaves no room for anything of the name itself.
SHORTEST_LIMIT = 1 + len(_CUT) + HASH_DIGITS
_FOREIGN = re.compile(r"[^a-z0-9-]")


@dataclass(frozen=True, slots=True)
class NameLimits:
    """How long names of a kind may be, and whether a digit may come first."""

    longest: int = 253
    digit_first: bool = True

    def __post_init__(self) -> None:
        if self.longest < SHORTEST_LIMIT:
            raise ValueError(f"names must be allowed at least {SHORTEST_LIMIT} characters, not {self.longest}")


ANY_NAME = NameLimits()
SERVICE_NAME = NameLimits(63, digit_first=False)
# Its Services are named after it, with `-client` and `-peer` at the end.
LOCKSERVER_NAME = NameLimits(56, digit_first=False)


def name_hash(parts: Sequence[str]) -> str:
    """Return the eight hex digits that tell these parts from all others."""
    joined = b"".join(part.encode() + b"\0" for part in parts)
    return hashlib.md5(joined, usedforsecurity=False).hexdigest()[:HASH_DIGITS]


def join_name(*parts: str, limits: NameLimits = ANY_NAME) -> str:
    """Return the name that is made of these parts."""
    cleaned = _FOREIGN.sub("-", "-".join(parts).lower())
    allowed = "abcdefghijklmnopqrstuvwxyz" + ("0123456789" if limits.digit_first else "")
    if cleaned[:1] not in tuple(allowed):
        cleaned = f"x{cleaned}"
    digits = name_hash(parts)
    name = f"{cleaned}-{digits}"
    if len(name) <= limits.longest:
        return name
    return f"{cleaned[: limits.longest - len(_CUT) - HASH_DIGITS]}{_CUT}{digits}"


def global_lockserver_name(cluster: str) -> str:
    """Return the name of the EtcdLockserver that a cluster shares."""
    return join_name(cluster, "etcd", limits=LOCKSERVER_NAME)


def cell_lockserver_name(cluster: str, cell: str) -> str:
    """Return the name of the EtcdLockserver of one cell."""
    return join_name(cluster, cell, "etcd", limits=LOCKSERVER_NAME)


def lockserver_client_service(lockserver: str) -> str:
    """Return the name of the Service by which clients reach a lockserver."""
    return f"{lockserver}-client"


def lockserver_peer_service(lockserver: str) -> str:
    """Return the name of the Service by which the members of a lockserver find each other."""
    return f"{lockserver}-peer"


def lockserver_member(lockserver: str, index: int) -> str:
    """Return the name of a member's Pod and claim; members count from 1."""
    return f"{lockserver}-{index}"


def lockserver_budget(lockserver: str) -> str:
    """Return the name of the PodDisruptionBudget of a lockserver."""
    return f"etcd-lockserver-{lockserver}"


def cell_name(cluster: str, cell: str) -> str:
    """Return the name of a VitessCell and of its autoscaler."""
    return join_name(cluster, cell)


def cell_vtgate_name(cluster: str, cell: str) -> str:
    """Return the name of the Deployment and the Service of a cell's vtgates."""
    return join_name(cluster, cell, "vtgate", limits=SERVICE_NAME)


def cluster_service_name(cluster: str, component: str) -> str:
    """Return the name of the Service of a component in all cells: vtgate, vtctld, vttablet or vtadmin."""
    return join_name(cluster, component, limits=SERVICE_NAME)


def cell_deployment_name(cluster: str, cell: str, component: str) -> str:
    """Return the name of the Deployment of a component in one cell: vtctld or vtadmin."""
    return join_name(cluster, cell, component)


def vtadmin_secret_name(cluster: str, cell: str, content: str) -> str:
    """Return the name of a Secret made for vtadmin: discovery, webConfig or clusterConfig."""
    return join_name(cluster, cell, "vtadmin", content)


def keyspace_name(cluster: str, keyspace: str) -> str:
    """Return the name of a VitessKeyspace."""
    return join_name(cluster, keyspace)


def shard_name(cluster: str, keyspace: str, safe_range: str) -> str:
    """Return the name of a VitessShard."""
    return join_name(cluster, keyspace, safe_range)


def vtorc_name(cluster: str, keyspace: str, safe_range: str, cell: str) -> str:
    """Return the name of the Deployment of a shard's VTOrc in one cell."""
    return join_name(cluster, keyspace, safe_range, cell, "vtorc")


def tablet_name(cluster: str, alias: str) -> str:
    """Return the name of a tablet's Pod and claim."""
    return join_name(cluster, "vttablet", alias)


def initial_backup_name(cluster: str, keyspace: str, safe_range: str) -> str:
    """Return the name of the Pod and the claim that make a shard's first backup."""
    return join_name(cluster, keyspace, safe_range, "vtbackup", "init")


def backup_storage_name(cluster: str, location: str) -> str:
    """Return the name of a VitessBackupStorage; the default location has the name ""."""
    return join_name(cluster, location) if location else join_name(cluster)


def backup_subcontroller_name(storage: str) -> str:
    """Return the name of the Pod that lists what a location holds."""
    return f"{storage}-vitessbackupstorage-subcontroller"


def backup_schedule_name(cluster: str, schedule: str) -> str:
    """Return the name of a VitessBackupSchedule."""
    return join_name(cluster, "vbsc", schedule)


def scheduled_job_name(schedule_object: str, keyspace: str, safe_range: str, unix_time: int) -> str:
    """Return the name of a scheduled backup's Job and claim."""
    return join_name(schedule_object, keyspace, safe_range, str(unix_time), limits=SERVICE_NAME)


def backup_name(cluster: str, location: str, keyspace: str, safe_range: str, when: str, uid: int) -> str:
    """Return the name of a VitessBackup; `when` is the backup's time as yyyymmdd-hhmmss."""
    place = (cluster, location) if location else (cluster,)
    return join_name(*place, keyspace, safe_range, when, f"{uid:x}")
