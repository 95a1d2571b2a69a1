"""ReplicaSchedulingPreference: how many replicas a federated workload has in all, and how clusters share them."""

from __future__ import annotations

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column
from hanse.api.kubefed.forms import FORM_C, FORM_D, FORM_D0, Form
from hanse.api.kubefed.serving import AGE, kubefed_definition
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

TARGET_KINDS = ("FederatedDeployment", "FederatedReplicaSet")


def preference_resource(form: Form) -> Resource:
    """Return the kind of the preferences that go with a form."""
    return Resource(
        f"scheduling.{form.family}",
        "v1alpha1",
        "replicaschedulingpreferences",
        "ReplicaSchedulingPreference",
        short_names=("rsp",) if form.name == FORM_D.name else (),
    )


PREFERENCES: tuple[Resource, ...] = tuple(preference_resource(form) for form in (FORM_D, FORM_D0, FORM_C))


def _whole(format_: str) -> Obj:
    return {"type": "integer", "format": format_, "minimum": 0}


_SPEC = record(
    {
        "targetKind": text("The kind of the workload of the same name", enum=list(TARGET_KINDS)),
        "totalReplicas": {**_whole("int32"), "description": "How many replicas there are in all clusters together"},
        "rebalance": {"type": "boolean", "description": "Whether running replicas may move to where they belong"},
        "intersectWithClusterSelector": {
            "type": "boolean",
            "description": "Whether only the clusters that the workload's clusterSelector chooses get any",
        },
        "clusters": {
            "type": "object",
            "description": "What each cluster gets; '*' speaks for those that are not named",
            "additionalProperties": record(
                {"weight": _whole("int64"), "minReplicas": _whole("int64"), "maxReplicas": _whole("int64")}
            ),
        },
    },
    required=["targetKind", "totalReplicas"],
)
_STATUS = record(
    {
        "observedGeneration": {"type": "integer", "format": "int64"},
        "clusters": {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}},
        "message": text("What is missing, in one sentence"),
        "conditions": {
            "type": "array",
            "items": record(
                {
                    "type": text(),
                    "status": text(),
                    "reason": text(),
                    "message": text(),
                    "lastTransitionTime": text(format="date-time"),
                },
                required=["type", "status"],
            ),
        },
    }
)
_COLUMNS = [
    column("Kind", "string", ".spec.targetKind"),
    column("Total", "integer", ".spec.totalReplicas"),
    column("Message", "string", ".status.message"),
    AGE,
]

PREFERENCE_CRDS: tuple[Obj, ...] = tuple(
    kubefed_definition(resource, {"spec": _SPEC}, _COLUMNS, status=_STATUS) for resource in PREFERENCES
)
