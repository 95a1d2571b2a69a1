"""What a target gets of an object that goes with pods: what was written in the source, and whose it is."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.api.admiralty.keys import (
    NAMESPACE_LABEL,
    PARENT_CLUSTER,
    PARENT_NAME,
    PARENT_NAMESPACE,
    PARENT_UID,
    PREFIX,
)
from hanse.api.names import MANAGED_LABELS
from hanse.api.names import PREFIX as HANSE_PREFIX
from hanse.kube.manifest import Obj, annotations_of, labels_of, name_of, namespace_of, uid_of

# Labels by which the source knows its own, and by which pods of a namespace are taken from it.
_LOCAL_LABELS = frozenset({*MANAGED_LABELS, NAMESPACE_LABEL, "kubernetes.io/metadata.name"})
# What is between Hanse, Admiralty and the source.
_OWN = (PREFIX, HANSE_PREFIX, "pods.hanse.dev/")
_LOCAL_ANNOTATIONS = (
    *_OWN,
    "kubectl.kubernetes.io/last-applied-configuration",
    "pv.kubernetes.io/",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/selected-node",
)
_NAMING = "app.kubernetes.io/"


def copy_of(source: str, obj: Obj, body: Obj, annotations: Mapping[str, str] | None = None) -> Obj:
    """Return the copy of an object of a source; `body` is all of it but its metadata.

    It has these `annotations` unless its owner says otherwise in an annotation of the same name.
    """
    metadata: Obj = {
        "name": name_of(obj),
        "labels": {**_travelling(labels_of(obj)), PARENT_UID: uid_of(obj), PARENT_CLUSTER: source},
        "annotations": {
            **(annotations or {}),
            **shown_annotations(obj),
            PARENT_NAMESPACE: namespace_of(obj),
            PARENT_NAME: name_of(obj),
        },
    }
    if namespace := namespace_of(obj):
        metadata["namespace"] = namespace
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, **body}


def shown_annotations(obj: Obj) -> dict[str, str]:
    """Return the annotations of an object that are neither the source's own nor between it and Hanse."""
    return {name: text for name, text in annotations_of(obj).items() if not name.startswith(_LOCAL_ANNOTATIONS)}


def fields_of(obj: Obj, *names: str) -> Obj:
    """Return those fields of an object that say anything."""
    return {name: obj[name] for name in names if obj.get(name) is not None}


def harmless(said: Mapping[str, str]) -> dict[str, str]:
    """Return the labels or annotations that tell people something, and no software what it may let happen.

    Keys with a domain are somebody's software's: by those of a namespace an API server says how much pods may ask for
    in it, and policies whom they spare. Of them only those that name an application mean nothing to anybody.
    """
    return {key: text for key, text in said.items() if "/" not in key or key.startswith(_NAMING)}


def _travelling(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key not in _LOCAL_LABELS and not key.startswith(_OWN)}
