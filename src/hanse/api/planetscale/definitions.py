"""How an API server is told of the kinds of `planetscale.com/v2`: schemas and columns."""

from __future__ import annotations

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column, definition
from hanse.api.planetscale.kinds import (
    ETCD_LOCKSERVERS,
    VITESS_BACKUP_SCHEDULES,
    VITESS_BACKUP_STORAGES,
    VITESS_BACKUPS,
    VITESS_CELLS,
    VITESS_CLUSTERS,
    VITESS_KEYSPACES,
    VITESS_SHARDS,
)
from hanse.api.planetscale.schemas import (
    BACKUP_LOCATION,
    CELL,
    COUNTS,
    ETCD,
    ETCD_STATUS,
    EXTRAS,
    HANDED_DOWN,
    IMAGES,
    KEY_RANGE,
    KEYSPACE,
    LOCKSERVER,
    ORCHESTRATOR,
    ORPHANS,
    PULL_POLICIES,
    RESOURCES,
    SCHEDULE,
    SECRET_SOURCE,
    SERVICE,
    SHARD_TEMPLATE,
    STATUS,
    STRATEGY,
    SWITCHES,
    TEXTS,
    Schema,
    anything,
    flag,
    listed,
    mapping,
    number,
    tri,
)
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

_AGE = column("Age", "date", ".metadata.creationTimestamp")
_READY = column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status')
_UPDATED = column("Updated", "string", '.status.conditions[?(@.type=="Updated")].status')
_WHY = column("Why", "string", '.status.conditions[?(@.type=="Ready")].message', priority=1)
_CATEGORIES = ("vitess",)
_SERVED = record({"available": tri(), "serviceName": text()})

_DASHBOARD = record(
    {
        "cells": listed(text(), "All cells where absent"),
        "replicas": number(minimum=0),
        "resources": RESOURCES,
        "service": SERVICE,
        **EXTRAS,
    },
    "vtctld",
)
_ADMIN = record(
    {
        "rbac": SECRET_SOURCE,
        "cells": listed(text(), "All cells where absent"),
        "apiAddresses": listed(text(), "One, or one for each cell"),
        "replicas": number(minimum=0),
        "webResources": RESOURCES,
        "apiResources": RESOURCES,
        "fetchCredentials": text(enum=["omit", "same-origin", "include"]),
        "readOnly": flag(),
        "service": SERVICE,
        **EXTRAS,
    },
    "vtadmin; off where absent",
)
_CLUSTER_SPEC = record(
    {
        "images": record(IMAGES),
        "imagePullPolicies": PULL_POLICIES,
        "imagePullSecrets": listed(anything()),
        "backup": record(
            {
                "locations": listed(BACKUP_LOCATION, minItems=1),
                "engine": text(enum=["builtin", "xtrabackup", "mysqlshell"]),
                "schedules": listed(record(SCHEDULE, required=["name"])),
                "subcontroller": record({"serviceAccountName": text()}),
            },
            required=["locations"],
        ),
        "globalLockserver": LOCKSERVER,
        "vitessDashboard": _DASHBOARD,
        "vtadmin": _ADMIN,
        "cells": listed(record(CELL, required=["name"])),
        "keyspaces": listed(record(KEYSPACE, required=["name", "partitionings"])),
        "extraVitessFlags": TEXTS,
        "topologyReconciliation": SWITCHES,
        "updateStrategy": STRATEGY,
        "gatewayService": SERVICE,
        "tabletService": SERVICE,
    },
    "A Vitess cluster, as far as it is in this Kubernetes cluster",
    required=["cells"],
)
_CLUSTER_STATUS = {
    "globalLockserver": ETCD_STATUS,
    "gatewayServiceName": text(),
    "vitessDashboard": _SERVED,
    "vtadmin": _SERVED,
    "cells": mapping(record({"pendingChanges": text(), "gatewayAvailable": tri()})),
    "keyspaces": mapping(
        record(
            {
                "pendingChanges": text(),
                "ready": tri(),
                **{name: number() for name in ("desiredShards", "shards", "readyShards", "updatedShards")},
                **COUNTS,
                "cells": listed(text()),
            }
        )
    ),
    "orphanedCells": ORPHANS,
    "orphanedKeyspaces": ORPHANS,
}
_CELL_STATUS = {
    "lockserver": ETCD_STATUS,
    "gateway": record(
        {
            "available": tri(),
            "serviceName": text(),
            "labelSelector": text(),
            "replicas": number(),
            "pendingChanges": text(),
        }
    ),
    "keyspaces": mapping(anything()),
    "idle": tri("Whether no keyspace uses it"),
}
_SHARD_SUMMARY = {
    "hasMaster": tri(),
    "servingWrites": tri(),
    **COUNTS,
    "pendingChanges": text(),
    "cells": listed(text()),
}
_KEYSPACE_STATUS = {
    "desiredShards": number(),
    "shards": mapping(record(_SHARD_SUMMARY)),
    "partitionings": listed(record({"shardNames": listed(text()), "servingWrites": tri(), **COUNTS})),
    "orphanedShards": ORPHANS,
    "idle": tri("Whether it has no tablets to have"),
    "resharding": record(
        {
            "workflow": text(),
            "state": text(),
            "sourceShards": listed(text()),
            "targetShards": listed(text()),
            "copyProgress": number("In percent; -1 where it is not known"),
        }
    ),
}
_SHARD_STATUS = {
    "tablets": mapping(
        record(
            {
                "poolType": text(),
                "index": number(),
                "running": tri(),
                "ready": tri(),
                "available": tri(),
                "dataVolumeBound": tri(),
                "type": text(),
                "pendingChanges": text(),
            }
        )
    ),
    "orphanedTablets": ORPHANS,
    "cells": listed(text()),
    "vitessOrchestrator": record({"available": tri()}),
    "hasMaster": tri(),
    "masterAlias": text(),
    "hasInitialBackup": tri(),
    "servingWrites": tri(),
    "idle": tri("Whether no vtgate is led to it"),
    "backupLocations": listed(
        record(
            {
                "name": text(),
                "completeBackups": number(),
                "incompleteBackups": number(),
                "latestCompleteBackupTime": text(format="date-time"),
            }
        )
    ),
    "lowestPodGeneration": {"type": "integer", "format": "int64"},
}
_SCHEDULE_STATUS = {
    "active": listed(text()),
    "lastScheduledTimes": mapping(text(format="date-time")),
    "nextScheduledTimes": mapping(text(format="date-time")),
    "generatedSchedules": mapping(text(), "What a frequency means, for each target"),
}


def _kind(
    resource: Resource,
    short: tuple[str, ...],
    description: str,
    spec: Schema,
    status: Schema,
    *columns: dict[str, object],
) -> Obj:
    properties = {
        "apiVersion": text(),
        "kind": text(),
        "metadata": {"type": "object"},
        "spec": spec,
        "status": record({**STATUS, **status}, "What is the case; written by Hanse"),
    }
    return definition(
        resource,
        record(properties, description),
        [*columns, _AGE],
        short=short,
        categories=_CATEGORIES,
        status=True,
    )


VITESS_CLUSTER_CRD = _kind(
    VITESS_CLUSTERS,
    ("vt",),
    "A Vitess cluster.",
    _CLUSTER_SPEC,
    _CLUSTER_STATUS,
    _READY,
    _UPDATED,
    column("vtgate", "string", ".status.gatewayServiceName"),
    _WHY,
)
_CELL_CRD = _kind(
    VITESS_CELLS,
    ("vtc",),
    "A cell of a Vitess cluster; made by its VitessCluster.",
    record({**CELL, **HANDED_DOWN}, required=["name"]),
    _CELL_STATUS,
    _READY,
    column("Gateways", "integer", ".status.gateway.replicas"),
    column("Idle", "string", ".status.idle"),
    _WHY,
)
_CELL_CRD["spec"]["versions"][0]["subresources"]["scale"] = {
    "specReplicasPath": ".spec.gateway.replicas",
    "statusReplicasPath": ".status.gateway.replicas",
    "labelSelectorPath": ".status.gateway.labelSelector",
}
VITESS_CELL_CRD = _CELL_CRD
VITESS_KEYSPACE_CRD = _kind(
    VITESS_KEYSPACES,
    ("vtk",),
    "A keyspace of a Vitess cluster; made by its VitessCluster.",
    record({**KEYSPACE, **HANDED_DOWN}, required=["name"]),
    _KEYSPACE_STATUS,
    _READY,
    _UPDATED,
    column("Shards", "integer", ".status.desiredShards"),
    column("Idle", "string", ".status.idle"),
    _WHY,
)
VITESS_SHARD_CRD = _kind(
    VITESS_SHARDS,
    ("vts",),
    "A shard of a keyspace; made by its VitessKeyspace.",
    record(
        {
            **SHARD_TEMPLATE,
            "name": text(),
            "keyRange": KEY_RANGE,
            "databaseName": text(),
            "vitessOrchestrator": ORCHESTRATOR,
            **HANDED_DOWN,
        }
    ),
    _SHARD_STATUS,
    _READY,
    _UPDATED,
    column("Primary", "string", ".status.masterAlias"),
    column("Serving", "string", ".status.servingWrites"),
    _WHY,
)
ETCD_LOCKSERVER_CRD = _kind(
    ETCD_LOCKSERVERS,
    ("etcdls",),
    "An etcd of three members, all here or one of them.",
    record(ETCD),
    {"available": tri(), "clientServiceName": text()},
    _READY,
    column("Service", "string", ".status.clientServiceName"),
    _WHY,
)
VITESS_BACKUP_CRD = _kind(
    VITESS_BACKUPS,
    ("vtb",),
    "A backup that a location holds; written as it is found there.",
    record({}),
    {
        "startTime": text(format="date-time"),
        "finishedTime": text(format="date-time"),
        "complete": flag(),
        "position": text(),
        "engine": text(),
        "storageDirectory": text(),
        "storageName": text(),
    },
    column("Keyspace", "string", r".metadata.labels.planetscale\.com/keyspace"),
    column("Shard", "string", r".metadata.labels.planetscale\.com/shard"),
    column("Started", "date", ".status.startTime"),
    column("Complete", "boolean", ".status.complete"),
)
VITESS_BACKUP_STORAGE_CRD = _kind(
    VITESS_BACKUP_STORAGES,
    ("vtbs",),
    "A place for backups; made by its VitessCluster.",
    record({"location": BACKUP_LOCATION, "subcontroller": record({"serviceAccountName": text()}), **HANDED_DOWN}),
    {"totalBackupCount": number()},
    column("Backups", "integer", ".status.totalBackupCount"),
    _READY,
    _WHY,
)
VITESS_BACKUP_SCHEDULE_CRD = _kind(
    VITESS_BACKUP_SCHEDULES,
    ("vbsc",),
    "When backups are made; made by its VitessCluster.",
    record({**SCHEDULE, "cluster": text(), "image": text()}, required=["name"]),
    _SCHEDULE_STATUS,
    column("Schedule", "string", ".spec.schedule"),
    column("Frequency", "string", ".spec.frequency"),
    column("Suspended", "boolean", ".spec.suspend"),
    _READY,
    _WHY,
)

PLANETSCALE_CRDS: tuple[Obj, ...] = (
    VITESS_CLUSTER_CRD,
    VITESS_CELL_CRD,
    VITESS_KEYSPACE_CRD,
    VITESS_SHARD_CRD,
    ETCD_LOCKSERVER_CRD,
    VITESS_BACKUP_CRD,
    VITESS_BACKUP_STORAGE_CRD,
    VITESS_BACKUP_SCHEDULE_CRD,
)

# The operator's pods name it; it comes with the kinds.
VITESS_PRIORITY_CLASS: Obj = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "vitess"},
    "value": 1000,
    "globalDefault": False,
    "description": "The pods of Vitess clusters",
}
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
