"""`ServiceExport` and `ServiceImport` of multicluster.x-k8s.io: SIG Multicluster's API for services of many clusters.

It is described in KEP-1645. Users write ServiceExports into clusters, Hanse writes ServiceImports. Both are served in
v1alpha1 and v1beta1, which are the same but for the name; v1beta1 is stored.
"""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column, definition
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

GROUP = "multicluster.x-k8s.io"
SERVICE_EXPORTS = Resource(GROUP, "v1beta1", "serviceexports", "ServiceExport")
SERVICE_IMPORTS = Resource(GROUP, "v1beta1", "serviceimports", "ServiceImport")

# The types of a ServiceImport: one address in each cluster, or those of the pods.
CLUSTER_SET_IP, HEADLESS = "ClusterSetIP", "Headless"

# On an EndpointSlice that holds another cluster's endpoints: of which service, and from where.
SERVICE_NAME_LABEL = "multicluster.kubernetes.io/service-name"
SOURCE_CLUSTER_LABEL = "multicluster.kubernetes.io/source-cluster"

# On a Cluster: "true" lets it export services to the others and import theirs, "false" has its imports taken away.
MCS_ANNOTATION = "hanse.dev/mcs"
TAKES_PART, TAKES_NO_PART = "true", "false"

# The other version in which both kinds are served.
_EARLIER = "v1alpha1"

_TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": text()}
_METADATA = {"apiVersion": text(), "kind": text(), "metadata": {"type": "object"}}

_CONDITIONS: dict[str, Any] = {
    "type": "array",
    "items": record(
        {
            "type": text("What is said", maxLength=316),
            "status": text(enum=["True", "False", "Unknown"]),
            "reason": text("Why, in one word", minLength=1, maxLength=1024),
            "message": text("Why, in a sentence", maxLength=32768),
            "lastTransitionTime": text("Since when", format="date-time"),
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        },
        required=["type", "status", "reason", "message", "lastTransitionTime"],
    ),
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}

_EXPORT = record(
    {
        **_METADATA,
        "spec": record(
            {
                "exportedLabels": {**_TEXTS, "description": "Labels that the ServiceImports shall have"},
                "exportedAnnotations": {**_TEXTS, "description": "Annotations that the ServiceImports shall have"},
            }
        ),
        "status": record({"conditions": _CONDITIONS}, "Whether it is exported, and what stands in the way"),
    },
    "Offers the Service of the same name to the other clusters.",
)

_PORT = record(
    {
        "name": text("As the exported Services call it"),
        "protocol": text("TCP, UDP or SCTP"),
        "appProtocol": text("What is spoken over it"),
        "port": {"type": "integer", "format": "int32"},
    },
    required=["port"],
)

_IMPORT = record(
    {
        **_METADATA,
        "spec": record(
            {
                "type": text("One address for all, or the pods' own", enum=[CLUSTER_SET_IP, HEADLESS]),
                "ports": {"type": "array", "items": _PORT, "x-kubernetes-list-type": "atomic"},
                "ips": {
                    "type": "array",
                    "items": text(),
                    "maxItems": 2,
                    "description": "Its addresses in this cluster",
                },
                "ipFamilies": {"type": "array", "items": text(), "maxItems": 2},
                "sessionAffinity": text("ClientIP or None"),
                "sessionAffinityConfig": record(
                    {"clientIP": record({"timeoutSeconds": {"type": "integer", "format": "int32"}})}
                ),
                "internalTrafficPolicy": text("Cluster or Local"),
                "trafficDistribution": text("Which endpoints are preferred"),
            },
            required=["ports", "type"],
        ),
        "status": record(
            {
                "clusters": {
                    "type": "array",
                    "items": record({"cluster": text("A cluster that exports it")}, required=["cluster"]),
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["cluster"],
                },
                "conditions": _CONDITIONS,
                "endpointSliceObjects": text(
                    "Whether EndpointSlices hold what the clusters export", enum=["Present", "Absent"]
                ),
            }
        ),
    },
    "A service that other clusters export, as this cluster finds it.",
)


def _in_both_versions(crd: Obj) -> Obj:
    """Return a definition that serves its version under the earlier name too."""
    (stored,) = crd["spec"]["versions"]
    return {**crd, "spec": {**crd["spec"], "versions": [{**stored, "name": _EARLIER, "storage": False}, stored]}}


_AGE = column("Age", "date", ".metadata.creationTimestamp")

SERVICE_EXPORT_CRD = _in_both_versions(
    definition(SERVICE_EXPORTS, _EXPORT, [_AGE], short=("svcex", "svcexport"), status=True)
)
SERVICE_IMPORT_CRD = _in_both_versions(
    definition(
        SERVICE_IMPORTS,
        _IMPORT,
        [column("Type", "string", ".spec.type"), column("IP", "string", ".spec.ips"), _AGE],
        short=("svcim", "svcimport"),
        status=True,
    )
)
MCS_CRDS = (SERVICE_EXPORT_CRD, SERVICE_IMPORT_CRD)


def mcs_rules() -> list[Obj]:
    """Return what Hanse may do in a member that takes part, beside what federated kinds ask for, as RBAC rules."""
    read, write = ["get", "list", "watch"], ["create", "delete", "get", "list", "patch", "update", "watch"]
    return [
        {"apiGroups": [GROUP], "resources": ["serviceexports"], "verbs": read},
        {"apiGroups": [GROUP], "resources": ["serviceimports"], "verbs": write},
        {"apiGroups": [GROUP], "resources": ["serviceexports/status", "serviceimports/status"], "verbs": ["patch"]},
        # An owner may be named only by who may change its finalizers.
        {"apiGroups": [GROUP], "resources": ["serviceimports/finalizers"], "verbs": ["update"]},
        {"apiGroups": [""], "resources": ["services"], "verbs": write},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": read},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": write},
    ]
