"""The schemas of what `planetscale.com/v2` kinds are made of; parts of pods are kept as they are written."""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import CONDITION, record, text

Schema = dict[str, Any]

CELL_PATTERN = "^[A-Za-z0-9]([_.A-Za-z0-9]*[A-Za-z0-9])?$"
KEYSPACE_PATTERN = "^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$"
SCHEDULE_PATTERN = "^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$"
_BOUND_PATTERN = "^([0-9a-f][0-9a-f])*$"
_TRI = ["True", "False", "Unknown"]
_POOL_TYPES = ["replica", "rdonly", "externalmaster", "externalreplica", "externalrdonly"]


def listed(items: Schema, description: str = "", **rules: object) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items, **({"description": description} if description else {}), **rules}


def number(description: str = "", **rules: object) -> Schema:
    """Return the schema of a whole number."""
    return {"type": "integer", "format": "int32", **({"description": description} if description else {}), **rules}


def flag(description: str = "") -> Schema:
    """Return the schema of a switch."""
    return {"type": "boolean", **({"description": description} if description else {})}


def mapping(values: Schema, description: str = "") -> Schema:
    """Return the schema of a mapping from any name."""
    return {"type": "object", "additionalProperties": values, **({"description": description} if description else {})}


def anything(description: str = "") -> Schema:
    """Return the schema of an object that is kept as it is written."""
    kept: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {**kept, "description": description} if description else kept


def tri(description: str = "") -> Schema:
    """Return the schema of what may be not known."""
    return text(description, enum=_TRI)


TEXTS = mapping(text())
_ANYTHINGS = listed(anything())
EXTRAS: Schema = {
    "extraFlags": mapping(text(), "Flags that win over the operator's own; leading dashes do not matter"),
    "extraEnv": _ANYTHINGS,
    "extraVolumes": _ANYTHINGS,
    "extraVolumeMounts": _ANYTHINGS,
    "initContainers": _ANYTHINGS,
    "sidecarContainers": _ANYTHINGS,
    "affinity": anything(),
    "annotations": TEXTS,
    "extraLabels": TEXTS,
    "tolerations": _ANYTHINGS,
    "topologySpreadConstraints": _ANYTHINGS,
    "lifecycle": anything(),
    "terminationGracePeriodSeconds": {"type": "integer", "format": "int64", "minimum": 0},
}
RESOURCES = anything("What the container may use, as in any pod")
SERVICE = record(
    {"annotations": TEXTS, "clusterIP": text("Only where the Service is made")}, "What is said of the Service"
)
SECRET_SOURCE = record({"name": text(), "volumeName": text(), "key": text()}, "A key of a Secret")
IMAGES: Schema = {
    **{name: text() for name in ("vtctld", "vtadmin", "vtorc", "vtgate", "vttablet", "vtbackup", "mysqldExporter")},
    "mysqld": record(
        {
            name: text()
            for name in ("mysql56Compatible", "mysql80Compatible", "mariadbCompatible", "mariadb103Compatible")
        },
        "The first that is given, in this order, counts",
    ),
}
_POLICY = text(enum=["Always", "Never", "IfNotPresent"])
PULL_POLICIES = record(
    dict.fromkeys(("vtctld", "vtadmin", "vtorc", "vtgate", "vttablet", "vtbackup", "mysqld", "mysqldExporter"), _POLICY)
)
LOCKSERVER_PARAMS = record(
    {
        "implementation": text("Such as etcd2"),
        "address": text("host:port, reachable by everybody"),
        "rootPath": text("Below what everything is kept"),
    },
    required=["implementation", "address", "rootPath"],
)
ETCD: Schema = {
    "image": text(),
    "imagePullPolicy": _POLICY,
    "imagePullSecrets": _ANYTHINGS,
    "resources": RESOURCES,
    "dataVolumeClaimTemplate": anything("A claim's spec; only growth is applied"),
    "createPDB": flag("Turning it off later deletes nothing"),
    "createClientService": flag("Turning it off later deletes nothing"),
    "createPeerService": flag("Turning it off later deletes nothing"),
    "advertisePeerURLs": listed(text(), "Where members 1, 2 and 3 are reached by each other", minItems=3, maxItems=3),
    "localMemberIndex": number("Which member alone stands in this cluster", minimum=1, maximum=3),
    "clientService": SERVICE,
    "peerService": SERVICE,
    "zone": text(),
    **EXTRAS,
}
LOCKSERVER = record(
    {
        "external": LOCKSERVER_PARAMS,
        "etcd": record(ETCD, "An etcd to be deployed"),
        "cellInfoAddress": text("What others reach it by, where that differs"),
    },
    "A lockserver that is there, or one to be deployed",
)
GATEWAY = record(
    {
        "replicas": number(minimum=0),
        "autoscaler": record(
            {
                "minReplicas": number(minimum=0),
                "maxReplicas": number(minimum=1),
                "metrics": _ANYTHINGS,
                "behavior": anything(),
            },
            "Who says how many vtgates there are",
        ),
        "resources": RESOURCES,
        "authentication": record({"static": record({"secret": SECRET_SOURCE})}),
        "secureTransport": record(
            {
                "required": flag(),
                "tls": record(
                    {"certSecret": SECRET_SOURCE, "keySecret": SECRET_SOURCE, "clientCACertSecret": SECRET_SOURCE}
                ),
            }
        ),
        "service": SERVICE,
        "strategy": anything("How vtgate's Deployment replaces its pods"),
        **EXTRAS,
    }
)
CELL: Schema = {
    "name": text("No dash in it", minLength=1, maxLength=63, pattern=CELL_PATTERN),
    "zone": text("The zone of the nodes that the cell is on"),
    "lockserver": LOCKSERVER,
    "gateway": GATEWAY,
}
_DATASTORE = record(
    {
        "user": text(),
        "host": text(),
        "port": number(minimum=1, maximum=65535),
        "database": text(),
        "credentialsSecret": SECRET_SOURCE,
        "serverCACertSecret": SECRET_SOURCE,
    },
    "A database that Vitess does not run",
    required=["user", "host", "port", "database", "credentialsSecret"],
)
POOL = record(
    {
        "cell": text(minLength=1, maxLength=63, pattern=CELL_PATTERN),
        "type": text(enum=_POOL_TYPES),
        "name": text("Tells pools of external databases apart", maxLength=63),
        "replicas": number(minimum=0, maximum=1000),
        "dataVolumeClaimTemplate": anything("A claim's spec; only growth is applied"),
        "backupLocationName": text(maxLength=63),
        "vttablet": record(
            {
                "resources": RESOURCES,
                "extraFlags": TEXTS,
                "vtbackupExtraFlags": TEXTS,
                "lifecycle": anything(),
                "terminationGracePeriodSeconds": {"type": "integer", "format": "int64", "minimum": 0},
            }
        ),
        "mysqld": record({"resources": RESOURCES, "configOverrides": text()}, "Their own MySQL"),
        "externalDatastore": _DATASTORE,
        "mysqldExporter": record({"resources": RESOURCES, "extraFlags": TEXTS}),
        **{name: schema for name, schema in EXTRAS.items() if name not in ("extraFlags", "lifecycle")},
    },
    required=["cell", "type", "replicas"],
)
SHARD_TEMPLATE: Schema = {
    "tabletPools": listed(POOL),
    "databaseInitScriptSecret": SECRET_SOURCE,
    "replication": record(
        {
            "initializeMaster": flag("Choose the first primary; true where absent"),
            "initializePrimary": flag("The same by its later name (Hanse's own, optional)"),
            "initializeBackup": flag("Make the first backup; true where absent"),
            "recoverRestartedMaster": flag("Kept; VTOrc does it"),
            "recoverRestartedPrimary": flag("Kept; VTOrc does it (Hanse's own, optional)"),
        }
    ),
    "annotations": TEXTS,
}
KEY_RANGE = record(
    {
        "start": text("An even number of hex digits, in lower case", pattern=_BOUND_PATTERN),
        "end": text("An even number of hex digits, in lower case", pattern=_BOUND_PATTERN),
    }
)
_PARTITIONING = record(
    {
        "equal": record(
            {
                "parts": number(minimum=1, maximum=65536),
                "hexWidth": number("How many digits a bound has; 0 chooses", minimum=0, maximum=16, multipleOf=2),
                "shardTemplate": record(SHARD_TEMPLATE),
            },
            required=["parts"],
        ),
        "custom": record({"shards": listed(record({"keyRange": KEY_RANGE, **SHARD_TEMPLATE}))}),
    }
)
ORCHESTRATOR = record({"resources": RESOURCES, "service": SERVICE, **EXTRAS})
KEYSPACE: Schema = {
    "name": text("Vitess takes no dot", minLength=1, maxLength=63, pattern=KEYSPACE_PATTERN),
    "databaseName": text("vt_ and the name where absent"),
    "durabilityPolicy": text(
        enum=["", "none", "semi_sync", "cross_cell", "semi_sync_with_rdonly_ack", "cross_cell_with_rdonly_ack"]
    ),
    "sidecarDbName": text("Only where the keyspace is made"),
    "vitessOrchestrator": ORCHESTRATOR,
    "partitionings": listed(_PARTITIONING, "One, or two while resharding; empty entries say nothing"),
    "turndownPolicy": text(enum=["RequireIdle", "Immediate"]),
    "annotations": TEXTS,
    "images": record(IMAGES),
}
_AUTH = {"authSecret": SECRET_SOURCE}
BACKUP_LOCATION = record(
    {
        "name": text("The default location has none", maxLength=63),
        "gcs": record({"bucket": text(), "keyPrefix": text(), **_AUTH}, required=["bucket"]),
        "s3": record(
            {
                "region": text(),
                "bucket": text(),
                "endpoint": text(),
                "forcePathStyle": flag(),
                "keyPrefix": text(),
                "minPartSize": {"type": "integer", "format": "int64"},
                **_AUTH,
            },
            required=["region", "bucket"],
        ),
        "azblob": record(
            {"account": text(), "container": text(), "keyPrefix": text(), **_AUTH}, required=["account", "container"]
        ),
        "ceph": record(_AUTH),
        "volume": anything("Any volume of a pod, without its name"),
        "volumeSubPath": text(),
        "annotations": TEXTS,
    }
)
SCHEDULE: Schema = {
    "name": text(minLength=1, pattern=SCHEDULE_PATTERN),
    "schedule": text("As cron writes it"),
    "frequency": text("Such as 30m or 6h; divides an hour or a day"),
    "backupMethod": text(enum=["vtbackup", "vtctldclient"]),
    "strategies": listed(
        record(
            {
                "name": text(),
                "scope": text(enum=["Shard", "Keyspace", "Cluster"]),
                "keyspace": text(),
                "shard": text(),
                "extraFlags": TEXTS,
            },
            required=["name"],
        )
    ),
    "successfulJobsHistoryLimit": number(minimum=0),
    "failedJobsHistoryLimit": number(minimum=0),
    "suspend": flag(),
    "startingDeadlineSeconds": {"type": "integer", "format": "int64", "minimum": 0},
    "concurrencyPolicy": text(enum=["Allow", "Forbid"]),
    "allowedMissedRun": number(minimum=0),
    "jobTimeoutMinute": number(minimum=1),
    "resources": RESOURCES,
    "annotations": TEXTS,
    "affinity": anything(),
    "tolerations": _ANYTHINGS,
}
STRATEGY = record(
    {
        "type": text(enum=["External", "Immediate"]),
        "external": record({"allowResourceChanges": listed(text(enum=["storage"]))}),
    },
    "Who lets changes go that restart something",
)
SWITCHES = record(
    {
        name: flag("True where absent")
        for name in (
            "registerCells",
            "registerCellsAliases",
            "pruneCells",
            "pruneKeyspaces",
            "pruneSrvKeyspaces",
            "pruneShards",
            "pruneShardCells",
            "pruneTablets",
        )
    },
    "What the operator may write into topology",
)
# What a VitessCluster hands down to what it consists of.
HANDED_DOWN: Schema = {
    "globalLockserver": LOCKSERVER_PARAMS,
    "allCells": listed(text()),
    "zoneMap": TEXTS,
    "images": record(IMAGES),
    "imagePullPolicies": PULL_POLICIES,
    "imagePullSecrets": _ANYTHINGS,
    "extraVitessFlags": TEXTS,
    "backupLocations": listed(BACKUP_LOCATION),
    "backupEngine": text(enum=["builtin", "xtrabackup", "mysqlshell"]),
    "topologyReconciliation": SWITCHES,
    "updateStrategy": STRATEGY,
}
_CONDITION = {
    **CONDITION,
    "properties": {**CONDITION["properties"], "observedGeneration": {"type": "integer", "format": "int64"}},
}
STATUS: Schema = {
    "observedGeneration": {"type": "integer", "format": "int64"},
    "conditions": {
        **listed(_CONDITION),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    },
}
ORPHANS = mapping(record({"reason": text(), "message": text()}), "What stays though nobody asks for it, and why")
ETCD_STATUS = record({"etcd": record({"available": tri(), "clientServiceName": text()})})
COUNTS: Schema = {name: number() for name in ("desiredTablets", "tablets", "readyTablets", "updatedTablets")}
