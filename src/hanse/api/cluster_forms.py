"""Other systems' cluster objects, served so that their YAML and their tools work unchanged.

KubeFed's `KubeFedCluster`, Shipper's `Cluster`, Admiralty's `Target` and `ClusterTarget`. Federation v1's `Cluster` has
a group without a dot, which no API server takes as a custom kind: it is mirrored where some server offers it.
"""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import CONDITION, record, text
from hanse.api.definitions import column, definition
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

KUBEFED_CLUSTERS = Resource("core.kubefed.io", "v1beta1", "kubefedclusters", "KubeFedCluster")
SHIPPER_CLUSTERS = Resource("shipper.booking.com", "v1alpha1", "clusters", "Cluster", namespaced=False)
TARGETS = Resource("multicluster.admiralty.io", "v1alpha1", "targets", "Target")
CLUSTER_TARGETS = Resource("multicluster.admiralty.io", "v1alpha1", "clustertargets", "ClusterTarget", namespaced=False)
FEDERATION_CLUSTERS = Resource("federation", "v1beta1", "clusters", "Cluster", namespaced=False)

_HOST = r"([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
_PORT = "(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
_API_ENDPOINT = f"^(https?://{_HOST}{_PORT}(/.*)?|{_HOST}{_PORT})$"
_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"

_PROBED_CONDITION = {
    **CONDITION,
    "properties": {**CONDITION["properties"], "lastProbeTime": text(format="date-time")},
}


def _crd(
    resource: Resource,
    short: list[str],
    spec: dict[str, Any],
    status: dict[str, Any],
    columns: list[dict[str, Any]],
    categories: tuple[str, ...] = (),
) -> Obj:
    schema = record(
        {"apiVersion": text(), "kind": text(), "metadata": {"type": "object"}, "spec": spec, "status": status}
    )
    return definition(resource, schema, columns, short=tuple(short), categories=categories, status=True)


_AGE = column("age", "date", ".metadata.creationTimestamp")

_KUBEFED_SPEC = record(
    {
        "apiEndpoint": text("Where its API server answers", pattern=_API_ENDPOINT),
        "caBundle": text(format="byte"),
        "secretRef": record({"name": text(pattern=_SUBDOMAIN, maxLength=253)}, required=["name"]),
        "disabledTLSValidations": {
            "type": "array",
            "maxItems": 3,
            "items": text(enum=["*", "SubjectName", "ValidityPeriod"]),
            "x-kubernetes-validations": [
                {
                    "rule": "!('*' in self) || size(self) == 1",
                    "message": "when * is specified, it is expected to be alone",
                }
            ],
        },
        "proxyURL": text(pattern="^(|(https?|socks5)://.+)$"),
    },
    required=["apiEndpoint", "secretRef"],
)

_KUBEFED_STATUS = record(
    {
        "conditions": {"type": "array", "items": _PROBED_CONDITION},
        "kubernetesVersion": text(),
        "zones": {"type": "array", "items": text()},
        "region": text(),
    }
)

_SHIPPER_SPEC = record(
    {
        "apiMaster": text("Where its API server answers", minLength=1),
        "region": text("The region that Applications name", minLength=1),
        "capabilities": {"type": "array", "items": text(), "description": "What it is capable of"},
        "scheduler": record(
            {
                "unschedulable": {"type": "boolean", "description": "No new Release is put there"},
                "weight": {
                    "type": "integer",
                    "format": "int32",
                    "description": "How much it is preferred to others of its region; 100 where absent",
                },
                "identity": text(
                    "What stands for its name when clusters are chosen, so that it may take another's place"
                ),
            },
            "How Releases are put there",
        ),
    },
    required=["apiMaster", "region"],
)

_KUBECONFIG_SECRET = {"name": text(), "key": text(), "context": text()}
_ANYTHING: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _target_spec(secret: dict[str, Any]) -> dict[str, Any]:
    return record({"self": {"type": "boolean"}, "kubeconfigSecret": record(secret), "excludedLabelsRegexp": text()})


FORM_CRDS: tuple[Obj, ...] = (
    _crd(
        KUBEFED_CLUSTERS,
        ["kfc"],
        _KUBEFED_SPEC,
        _KUBEFED_STATUS,
        [
            _AGE,
            column("ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
            column("kubernetes-version", "string", ".status.kubernetesVersion"),
        ],
    ),
    _crd(SHIPPER_CLUSTERS, ["cl"], _SHIPPER_SPEC, record({"inService": {"type": "boolean"}}), [_AGE], ("shipper",)),
    _crd(TARGETS, ["tg"], _target_spec(_KUBECONFIG_SECRET), _ANYTHING, [_AGE]),
    _crd(CLUSTER_TARGETS, ["ctg"], _target_spec({**_KUBECONFIG_SECRET, "namespace": text()}), _ANYTHING, [_AGE]),
)
