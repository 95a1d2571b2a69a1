"""What one member shall have: the template with the member's replicas, the mark of its owner, and a digest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hanse.api.names import MANAGED_LABEL, OWNER_ANNOTATION, RENDERED_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, labels_of
from hanse.kube.patches.differences import digest
from hanse.kube.patches.json_patch import apply_json_patch
from hanse.propagation.intent import Intent
from hanse.propagation.scale import Path, with_field


def render(
    intent: Intent, replicas: int | None, patch: Sequence[Obj] = (), fields: Mapping[Path, Any] | None = None
) -> Obj:
    """Return the manifest for one member; raises JsonPatchError where its patch does not apply.

    What marks the copy as Hanse's, and the replicas and other `fields` that placement gave, come after the patch.
    """
    template = apply_json_patch(intent.template, patch) if patch else intent.template
    manifest: Obj = {
        **template,
        "metadata": {
            **template["metadata"],
            "labels": {**labels_of(template), MANAGED_LABEL: "true"},
            "annotations": {**annotations_of(template), OWNER_ANNOTATION: intent.source_uid},
        },
    }
    if replicas is not None:
        manifest = intent.scale.asking(manifest, replicas)
    for path, value in (fields or {}).items():
        manifest = with_field(manifest, path, value)
    manifest["metadata"]["annotations"][RENDERED_ANNOTATION] = digest(manifest)
    return manifest


def rendered_digest(obj: Obj) -> str:
    """Return the fingerprint of what was rendered into a member's object, "" where there is none."""
    return annotations_of(obj).get(RENDERED_ANNOTATION, "")


def owned_by(obj: Obj, source_uid: str, inherits: Collection[str] = ()) -> bool:
    """Tell whether a member's object is the copy of this very source, or of one whose copies it takes over."""
    if labels_of(obj).get(MANAGED_LABEL) != "true":
        return False
    owner = annotations_of(obj).get(OWNER_ANNOTATION)
    return owner == source_uid or owner in inherits


def owns(intent: Intent, copy: Obj) -> bool:
    """Tell whether a member's object is what an intent has there."""
    return owned_by(copy, intent.source_uid, intent.inherits)
