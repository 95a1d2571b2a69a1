"""Where backups are kept: the flags, volumes and environment by which programs reach a location."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.api.planetscale.values import BackupLocation
from hanse.kube.manifest import Obj
from hanse.vitess.operator.shaping import secret_mount

BACKUP_FOLDER = "/vt/backups"
_AUTH = "backup-auth"
_KEY_ENV = {"gcs": "GOOGLE_APPLICATION_CREDENTIALS", "s3": "AWS_SHARED_CREDENTIALS_FILE"}


@dataclass(frozen=True, slots=True)
class StorageParts:
    """What a program needs to reach a location."""

    flags: dict[str, str]
    volumes: tuple[Obj, ...] = ()
    mounts: tuple[Obj, ...] = ()
    env: tuple[Obj, ...] = ()


def storage_root(prefix: str, cluster: str) -> str:
    """Return below what all backups of a cluster are."""
    return f"{prefix.rstrip('/')}/{cluster}" if prefix.rstrip("/") else cluster


def storage_parts(location: BackupLocation, cluster: str) -> StorageParts:
    """Return what a program needs to reach a location."""
    flags = _flags(location, cluster)
    if location.kind == "volume":
        mount: Obj = {"name": "vitess-backups", "mountPath": BACKUP_FOLDER}
        if location.volume_sub_path:
            mount["subPath"] = location.volume_sub_path
        return StorageParts(flags, ({"name": "vitess-backups", **location.storage},), (mount,))
    if not location.auth:
        return StorageParts(flags)
    secret = secret_mount(_AUTH, location.auth)
    if location.kind == "azblob":
        flags["azblob_backup_account_key_file"] = secret.path
    elif location.kind == "ceph":
        flags["ceph_backup_storage_config"] = secret.path
    key = _KEY_ENV.get(location.kind)
    return StorageParts(flags, secret.volumes, (secret.mount,), ({"name": key, "value": secret.path},) if key else ())


def _flags(location: BackupLocation, cluster: str) -> dict[str, str]:
    storage = location.storage
    root = storage_root(str(storage.get("keyPrefix") or ""), cluster)
    match location.kind:
        case "gcs":
            return {
                "backup_storage_implementation": "gcs",
                "gcs_backup_storage_bucket": str(storage.get("bucket") or ""),
                "gcs_backup_storage_root": root,
            }
        case "s3":
            flags = {
                "backup_storage_implementation": "s3",
                "s3_backup_aws_region": str(storage.get("region") or ""),
                "s3_backup_storage_bucket": str(storage.get("bucket") or ""),
                "s3_backup_storage_root": root,
            }
            if storage.get("endpoint"):
                flags["s3_backup_aws_endpoint"] = str(storage["endpoint"])
            if storage.get("forcePathStyle"):
                flags["s3_backup_force_path_style"] = "true"
            if storage.get("minPartSize"):
                flags["s3_backup_aws_min_partsize"] = str(storage["minPartSize"])
            return flags
        case "azblob":
            return {
                "backup_storage_implementation": "azblob",
                "azblob_backup_account_name": str(storage.get("account") or ""),
                "azblob_backup_container_name": str(storage.get("container") or ""),
                "azblob_backup_storage_root": root,
            }
        case "ceph":
            return {"backup_storage_implementation": "ceph"}
        case _:
            return {
                "backup_storage_implementation": "file",
                "file_backup_storage_root": f"{BACKUP_FOLDER}/{cluster}",
            }
