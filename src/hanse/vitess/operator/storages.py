"""A VitessBackupStorage: the Pod that lists what a location holds and mirrors it as VitessBackups."""

from __future__ import annotations

from hanse.api.planetscale.kinds import (
    BACKUP_LOCATION_LABEL,
    CLUSTER_LABEL,
    COMPONENT_LABEL,
    DESIRED_STATE_ANNOTATION,
    VITESS_BACKUPS,
)
from hanse.api.planetscale.reading import read_location
from hanse.kube.manifest import Obj, annotations_of, labels_of, name_of
from hanse.kube.resources import PODS
from hanse.vitess.naming import backup_subcontroller_name
from hanse.vitess.operator.backup_storage import storage_parts
from hanse.vitess.operator.keeping import kept
from hanse.vitess.operator.pods import has_failed, state_hash
from hanse.vitess.operator.shaping import Settings, object_of, with_annotations
from hanse.vitess.operator.verdicts import Observed, Verdict, ready_condition

SUBCONTROLLER = "vbs-subcontroller"


def sync_storage(parent: Obj, observed: Observed, settings: Settings) -> Verdict:
    """Return the Pod of a VitessBackupStorage, and how many backups its location holds."""
    location = read_location(parent["spec"].get("location") or {})
    backups = [
        each
        for each in observed.beside(VITESS_BACKUPS).values()
        if labels_of(each).get(BACKUP_LOCATION_LABEL, "") == location.name
    ]
    status: Obj = {"totalBackupCount": len(backups)}
    if location.kind != "volume":
        said = f"what is in {location.kind} is not listed; Vitess makes backups there and restores them all the same"
        return Verdict((), {**status, "conditions": [ready_condition(parent, False, "NotListed", said)]})
    status["conditions"] = [ready_condition(parent, True, "Listed", "what the volume holds is listed every minute")]
    wish = subcontroller_pod(parent, settings)
    live = observed.of(PODS).get(name_of(wish))
    if live is None:
        return Verdict((wish,), status)
    same = annotations_of(live).get(DESIRED_STATE_ANNOTATION) == annotations_of(wish).get(DESIRED_STATE_ANNOTATION)
    return Verdict((kept(live),) if same and not has_failed(live) else (), status)


def subcontroller_pod(parent: Obj, settings: Settings) -> Obj:
    """Return the Pod, which alone is given the location's credentials."""
    spec, cluster = parent["spec"], labels_of(parent)[CLUSTER_LABEL]
    location = read_location(spec.get("location") or {})
    parts = storage_parts(location, cluster)
    container: Obj = {
        "name": SUBCONTROLLER,
        "image": settings.subcontroller_image,
        "command": ["python", "-m", "hanse.vitess.operator.subcontroller"],
        "args": [f"--storage={name_of(parent)}"],
        "env": [
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            *parts.env,
        ],
        "volumeMounts": list(parts.mounts),
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
    }
    body: Obj = {
        "containers": [container],
        "volumes": list(parts.volumes),
        "restartPolicy": "Always",
        "securityContext": {"fsGroup": settings.fs_group, "runAsUser": settings.run_as_user},
    }
    if account := (spec.get("subcontroller") or {}).get("serviceAccountName"):
        body["serviceAccountName"] = account
    labels = {COMPONENT_LABEL: SUBCONTROLLER, CLUSTER_LABEL: cluster, BACKUP_LOCATION_LABEL: location.name}
    pod = object_of("v1", "Pod", backup_subcontroller_name(name_of(parent)), labels, spec=body)
    pod = with_annotations(pod, location.annotations)
    return with_annotations(pod, {DESIRED_STATE_ANNOTATION: state_hash(pod)})
