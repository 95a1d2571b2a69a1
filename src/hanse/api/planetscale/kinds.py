"""The kinds of `planetscale.com/v2`, and its labels and annotations, each spelt once."""

from __future__ import annotations

from hanse.kube.resources import Resource

GROUP = "planetscale.com"
VERSION = "v2"

VITESS_CLUSTERS = Resource(GROUP, VERSION, "vitessclusters", "VitessCluster")
VITESS_CELLS = Resource(GROUP, VERSION, "vitesscells", "VitessCell")
VITESS_KEYSPACES = Resource(GROUP, VERSION, "vitesskeyspaces", "VitessKeyspace")
VITESS_SHARDS = Resource(GROUP, VERSION, "vitessshards", "VitessShard")
ETCD_LOCKSERVERS = Resource(GROUP, VERSION, "etcdlockservers", "EtcdLockserver")
VITESS_BACKUPS = Resource(GROUP, VERSION, "vitessbackups", "VitessBackup")
VITESS_BACKUP_STORAGES = Resource(GROUP, VERSION, "vitessbackupstorages", "VitessBackupStorage")
VITESS_BACKUP_SCHEDULES = Resource(GROUP, VERSION, "vitessbackupschedules", "VitessBackupSchedule")

# Among the doors of a Cluster: the VitessClusters of that cluster are run in it.
VITESS_DOOR = "vitess"

COMPONENT_LABEL = f"{GROUP}/component"
CLUSTER_LABEL = f"{GROUP}/cluster"
CELL_LABEL = f"{GROUP}/cell"
KEYSPACE_LABEL = f"{GROUP}/keyspace"
SHARD_LABEL = f"{GROUP}/shard"
TABLET_UID_LABEL = f"{GROUP}/tablet-uid"
TABLET_TYPE_LABEL = f"{GROUP}/tablet-type"
TABLET_INDEX_LABEL = f"{GROUP}/tablet-index"
POOL_NAME_LABEL = f"{GROUP}/pool-name"
SCHEDULE_LABEL = f"{GROUP}/backup-schedule"
BACKUP_METHOD_LABEL = f"{GROUP}/backup-method"
BACKUP_LOCATION_LABEL = f"backup.{GROUP}/location"
BACKUP_TYPE_LABEL = f"backup.{GROUP}/type"
LOCKSERVER_LABEL = f"etcd.{GROUP}/lockserver"
LOCKSERVER_INDEX_LABEL = f"etcd.{GROUP}/index"

# On an object: what it would be given if it were let go; that it may have it; that those below are let go one by one.
SCHEDULED_ANNOTATION = f"rollout.{GROUP}/scheduled"
RELEASED_ANNOTATION = f"rollout.{GROUP}/released"
CASCADE_ANNOTATION = f"rollout.{GROUP}/cascade"

# On a tablet's Pod: whether it can be drained, who asks for it, and how far that is.
DRAIN_SUPPORTED_ANNOTATION = f"drain.{GROUP}/supported"
DRAIN_STARTED_ANNOTATION = f"drain.{GROUP}/started"
DRAIN_ACKNOWLEDGED_ANNOTATION = f"drain.{GROUP}/acknowledged"
DRAIN_FINISHED_ANNOTATION = f"drain.{GROUP}/finished"

SECRET_HASH_ANNOTATION = f"{GROUP}/secret-hash"
DESIRED_STATE_ANNOTATION = f"{GROUP}/desired-state-hash"
OBSERVED_GENERATION_ANNOTATION = f"{GROUP}/observed-shard-generation"
MYSQLD_OVERRIDES_ANNOTATION = f"{GROUP}/mysqld-config-overrides"
# On a scheduled backup's Job: the time for which it was due, in seconds of the epoch; Hanse's own.
DUE_ANNOTATION = f"{GROUP}/scheduled-at"
