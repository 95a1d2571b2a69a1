"""What one member shall have: the template with the member's replicas, the mark of its owner, and a digest."""

from __future__ import annotations

from hanse.api.names import MANAGED_LABEL, OWNER_ANNOTATION, RENDERED_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, labels_of
from hanse.kube.patches.differences import digest
from hanse.propagation.intent import Intent


def render(intent: Intent, replicas: int | None) -> Obj:
    """Return the manifest for one member."""
    metadata = intent.template["metadata"]
    manifest: Obj = {
        **intent.template,
        "metadata": {
            **metadata,
            "labels": {**labels_of(intent.template), MANAGED_LABEL: "true"},
            "annotations": {**annotations_of(intent.template), OWNER_ANNOTATION: intent.source_uid},
        },
    }
    if replicas is not None:
        manifest["spec"] = {**manifest["spec"], "replicas": replicas}
    manifest["metadata"]["annotations"][RENDERED_ANNOTATION] = digest(manifest)
    return manifest


def rendered_digest(obj: Obj) -> str:
    """Return the fingerprint of what was rendered into a member's object, "" where there is none."""
    return annotations_of(obj).get(RENDERED_ANNOTATION, "")


def owned_by(obj: Obj, source_uid: str) -> bool:
    """Tell whether a member's object is the copy of this very source."""
    return labels_of(obj).get(MANAGED_LABEL) == "true" and annotations_of(obj).get(OWNER_ANNOTATION) == source_uid
