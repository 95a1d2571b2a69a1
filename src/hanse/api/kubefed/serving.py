"""How a host is told of KubeFed's kinds: each served in one version, with the approval that Kubernetes' groups need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column, definition
from hanse.api.names import FEDERATE_ANNOTATION
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

_PROTECTED = (".k8s.io", ".kubernetes.io")
_UNAPPROVED = {"api-approved.kubernetes.io": "unapproved, the group belongs to the retired KubeFed"}
# Members have no use for it, though people may have chosen its group and may federate definitions.
_STAYS = {FEDERATE_ANNOTATION: "false"}
AGE = column("Age", "date", ".metadata.creationTimestamp")


def kubefed_definition(
    resource: Resource,
    fields: Obj,
    columns: Sequence[dict[str, Any]] = (AGE,),
    *,
    status: Obj | None = None,
    rules: Sequence[dict[str, str]] = (),
    required: Sequence[str] = ("spec",),
) -> Obj:
    """Return the definition of a kind from the schemas of its fields; with a status it has that subresource."""
    known: Obj = {"apiVersion": text(), "kind": text(), "metadata": {"type": "object"}}
    schema = record(known | fields | ({} if status is None else {"status": status}))
    if required:
        schema["required"] = list(required)
    if rules:
        schema["x-kubernetes-validations"] = list(rules)
    return definition(
        resource,
        schema,
        list(columns),
        short=resource.short_names,
        status=status is not None,
        annotations=_STAYS | (_UNAPPROVED if resource.group.endswith(_PROTECTED) else {}),
    )
