"""What storage looks like: the default classes, a volume made for a claim, and how claims and volumes stand."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.kube.manifest import Obj, annotations_of, dig, is_deleting, name_of, namespace_of, uid_of, version_of
from hanse.simulator.nodes.machines import ZONE
from hanse.simulator.volumes.kinds import STORAGE_CLASSES, VOLUMES

PROVISIONER = "disk.simulator.hanse.dev"
CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
WANTS_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"


def default_classes() -> list[Obj]:
    """Return the classes of a new cluster: `standard`, whose volumes are made where their pod goes, and `immediate`."""
    return [
        _storage_class("standard", "WaitForFirstConsumer", {_IS_DEFAULT: "true"}),
        _storage_class("immediate", "Immediate", {}),
    ]


def _storage_class(name: str, mode: str, annotations: Mapping[str, str]) -> Obj:
    return {
        "apiVersion": STORAGE_CLASSES.api_version,
        "kind": STORAGE_CLASSES.kind,
        "metadata": {"name": name, "annotations": dict(annotations)},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": mode,
    }


def is_default(storage_class: Obj) -> bool:
    """Tell whether claims without a class get this one."""
    return annotations_of(storage_class).get(_IS_DEFAULT) == "true"


def provisioned_volume(claim: Obj, storage_class: Obj, node_labels: Mapping[str, str]) -> Obj:
    """Return a volume made for a claim, in the zone of the node where its first pod goes."""
    name = f"pvc-{uid_of(claim)}"
    spec: Obj = {
        "capacity": {"storage": dig(claim, "spec", "resources", "requests", "storage")},
        "accessModes": dig(claim, "spec", "accessModes", default=[]),
        "claimRef": claim_reference(claim),
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
        "storageClassName": name_of(storage_class),
        "volumeMode": dig(claim, "spec", "volumeMode", default="Filesystem"),
        "csi": {"driver": PROVISIONER, "volumeHandle": name},
    }
    if zone := node_labels.get(ZONE):
        expression = {"key": ZONE, "operator": "In", "values": [zone]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    metadata = {"name": name, "annotations": {PROVISIONED_BY: PROVISIONER}}
    return {"apiVersion": VOLUMES.api_version, "kind": VOLUMES.kind, "metadata": metadata, "spec": spec}


def claim_reference(claim: Obj) -> Obj:
    """Return how a volume names its claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": namespace_of(claim),
        "name": name_of(claim),
        "uid": uid_of(claim),
        "resourceVersion": version_of(claim),
    }


def is_ours(volume: Obj) -> bool:
    """Tell whether the simulator made a volume, and so may unmake it."""
    return annotations_of(volume).get(PROVISIONED_BY) == PROVISIONER


def volume_phase(volume: Obj, claim: Obj | None) -> str:
    """Tell how a volume stands, given the claim that it names, where there is one."""
    reference: Obj | None = dig(volume, "spec", "claimRef")
    if not reference or not reference.get("uid"):
        return "Available"
    if claim is None or uid_of(claim) != reference["uid"]:
        return "Released"
    return "Bound" if dig(claim, "spec", "volumeName") == name_of(volume) else "Available"


def bound_claim_status(claim: Obj, volume: Obj) -> Obj:
    """Return the status of a claim that has its volume."""
    spec = volume["spec"]
    return {
        **(claim.get("status") or {}),
        "phase": "Bound",
        "accessModes": spec["accessModes"],
        "capacity": {"storage": spec["capacity"]["storage"]},
    }


def without_finalizer(obj: Obj, finalizer: str) -> list[str] | None:
    """Return what is left of the finalizers of an object that is being deleted; None where there is nothing to do."""
    present: list[str] = obj["metadata"].get("finalizers") or []
    if not is_deleting(obj) or finalizer not in present:
        return None
    return [entry for entry in present if entry != finalizer]
