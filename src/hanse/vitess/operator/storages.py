"""A VitessBackupStorage: the Pod that looks into a location, and what is told of what it holds.

The Pod is a vtctld of Vitess' own, which speaks with every kind of storage and is given the location and nothing else;
the operator asks it. Where an image with Hanse is given and the location is a volume, the Pod is Hanse's own program.
"""

from __future__ import annotations

from hanse.api.planetscale.kinds import (
    BACKUP_LOCATION_LABEL,
    CLUSTER_LABEL,
    COMPONENT_LABEL,
    DESIRED_STATE_ANNOTATION,
    VITESS_BACKUPS,
)
from hanse.api.planetscale.reading import read_location
from hanse.api.planetscale.values import BackupLocation, Extras
from hanse.kube.manifest import Obj, annotations_of, labels_of, name_of, namespace_of
from hanse.kube.resources import PODS
from hanse.vitess.naming import backup_subcontroller_name
from hanse.vitess.operator.backup_asking import Listing
from hanse.vitess.operator.backup_storage import StorageParts, storage_parts
from hanse.vitess.operator.flags import flag_arguments, merged_flags, topology_flags
from hanse.vitess.operator.keeping import kept
from hanse.vitess.operator.pods import has_failed, state_hash
from hanse.vitess.operator.shaping import (
    GRPC,
    GRPC_PORT,
    LIVENESS,
    READINESS,
    WEB,
    WEB_PORT,
    Settings,
    Surroundings,
    object_of,
    pod_spec,
    surroundings_of,
    with_annotations,
)
from hanse.vitess.operator.verdicts import Observed, Verdict, ready_condition

SUBCONTROLLER = "vbs-subcontroller"
_VTCTLD = "vtctld"
_VTCTLD_RESOURCES = {"requests": {"cpu": "10m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}}


def reads_manifests(storage: Obj, settings: Settings) -> bool:
    """Tell whether the Pod of a VitessBackupStorage is Hanse's own program, and writes VitessBackups by itself."""
    return bool(settings.backup_image) and read_location(storage["spec"].get("location") or {}).kind == "volume"


def current_pod(storage: Obj, observed: Observed, settings: Settings) -> Obj | None:
    """Return the Pod of a VitessBackupStorage; None where there is none yet that looks into its location of now."""
    live = observed.of(PODS).get(backup_subcontroller_name(name_of(storage)))
    return live if live is not None and _is_current(live, subcontroller_pod(storage, settings)) else None


def _is_current(live: Obj, wish: Obj) -> bool:
    same = annotations_of(live).get(DESIRED_STATE_ANNOTATION) == annotations_of(wish).get(DESIRED_STATE_ANNOTATION)
    return same and not has_failed(live)


def sync_storage(parent: Obj, observed: Observed, settings: Settings, listing: Listing | None = None) -> Verdict:
    """Return the Pod of a VitessBackupStorage, and how many backups its location holds.

    `listing` is what came of asking its vtctld; None where the Pod lists by itself.
    """
    location = read_location(parent["spec"].get("location") or {})
    backups = [
        each
        for each in observed.beside(VITESS_BACKUPS).values()
        if labels_of(each).get(BACKUP_LOCATION_LABEL, "") == location.name
    ]
    status: Obj = {"totalBackupCount": len(backups), "conditions": [_ready(parent, listing)]}
    told = listing.told if listing is not None else ()
    again = listing.again if listing is not None else None
    wish = subcontroller_pod(parent, settings)
    live = observed.of(PODS).get(name_of(wish))
    if live is None:
        return Verdict((wish,), status, told, again=again)
    return Verdict((kept(live),) if _is_current(live, wish) else (), status, told, again=again)


def _ready(parent: Obj, listing: Listing | None) -> Obj:
    if listing is None:
        return ready_condition(parent, True, "Listed", "what the volume holds is listed every minute")
    if listing.problem:
        said = f"{listing.problem}; VitessBackups stay as they were, and Vitess makes and restores backups all the same"
        return ready_condition(parent, False, "NotListed", said)
    said = "what the location holds is listed every minute; vtctld does not say which backups are complete"
    return ready_condition(parent, True, "Listed", said)


def subcontroller_pod(parent: Obj, settings: Settings) -> Obj:
    """Return the Pod, which alone is given the location's credentials."""
    spec, cluster = parent["spec"], labels_of(parent)[CLUSTER_LABEL]
    around = surroundings_of(cluster, namespace_of(parent), spec, settings)
    location = read_location(spec.get("location") or {})
    parts = storage_parts(location, cluster)
    own = reads_manifests(parent, settings)
    container = _program(parent, settings, parts) if own else _vtctld(around, parts)
    body = pod_spec(around, [container], list(parts.volumes), Extras())
    body["restartPolicy"] = "Always"
    if account := (spec.get("subcontroller") or {}).get("serviceAccountName"):
        body["serviceAccountName"] = account
    pod = object_of("v1", "Pod", backup_subcontroller_name(name_of(parent)), _labels(cluster, location), spec=body)
    pod = with_annotations(pod, location.annotations)
    return with_annotations(pod, {DESIRED_STATE_ANNOTATION: state_hash(pod)})


def _labels(cluster: str, location: BackupLocation) -> dict[str, str]:
    return {COMPONENT_LABEL: SUBCONTROLLER, CLUSTER_LABEL: cluster, BACKUP_LOCATION_LABEL: location.name}


def _vtctld(around: Surroundings, parts: StorageParts) -> Obj:
    flags = merged_flags(
        {
            "service_map": "grpc-vtctld",
            "port": str(WEB_PORT),
            "grpc_port": str(GRPC_PORT),
            "logtostderr": "true",
        },
        topology_flags(around.lockserver),
        parts.flags,
        around.flags,
    )
    return {
        "name": SUBCONTROLLER,
        "image": around.images.vtctld,
        **around.pull_policy(_VTCTLD),
        "command": ["/vt/bin/vtctld"],
        "args": flag_arguments(flags),
        "env": list(parts.env),
        "ports": [WEB, GRPC],
        "resources": _VTCTLD_RESOURCES,
        "readinessProbe": READINESS,
        "livenessProbe": LIVENESS,
        "volumeMounts": list(parts.mounts),
    }


def _program(parent: Obj, settings: Settings, parts: StorageParts) -> Obj:
    return {
        "name": SUBCONTROLLER,
        "image": settings.backup_image,
        "command": ["python", "-m", "hanse.vitess.operator.subcontroller"],
        "args": [f"--storage={name_of(parent)}"],
        "env": [
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            *parts.env,
        ],
        "volumeMounts": list(parts.mounts),
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
    }
