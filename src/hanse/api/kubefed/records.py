"""What KubeFed's controllers wrote down: versions of what was propagated, the status of services, member clusters."""

from __future__ import annotations

from hanse.api.cluster_kind import CONDITION, record, text
from hanse.api.definitions import column
from hanse.api.kubefed.forms import FORM_A, FORM_C, FORM_D, FORM_D0, Form
from hanse.api.kubefed.serving import AGE, kubefed_definition
from hanse.api.kubefed.template_schemas import ANYTHING
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

_FAMILIES = (FORM_D, FORM_D0, FORM_C)


def version_resource(form: Form, *, namespaced: bool = True) -> Resource:
    """Return the kind of the objects that hold which version of a federated object each cluster has."""
    kind = "PropagatedVersion" if namespaced else "ClusterPropagatedVersion"
    return Resource(form.core_group, "v1alpha1", f"{kind.lower()}s", kind, namespaced=namespaced)


def service_status_resource(form: Form) -> Resource:
    """Return the kind of the objects that hold the status of a federated Service in each cluster."""
    return Resource(form.core_group, "v1alpha1", "federatedservicestatuses", "FederatedServiceStatus")


FEDERATED_CLUSTERS = Resource(FORM_A.core_group, "v1alpha1", "federatedclusters", "FederatedCluster")

_VERSION_STATUS = record(
    {
        "templateVersion": text(),
        "overridesVersion": text(),
        "overrideVersion": text("As the first releases called it"),
        "clusterVersions": {
            "type": "array",
            "items": record({"clusterName": text(), "version": text()}, required=["clusterName", "version"]),
        },
    }
)
_CLUSTER_STATUS = {
    "type": "array",
    "items": record({"clusterName": text(), "status": {"type": "object", **ANYTHING}}, required=["clusterName"]),
}
_FEDERATED_CLUSTER_SPEC = record(
    {
        "clusterRef": record({"name": text("The Cluster of the cluster registry that says where it is", minLength=1)}),
        "secretRef": record({"name": text("The Secret with its credentials, in the system namespace")}),
    },
    required=["clusterRef"],
)
_FEDERATED_CLUSTER_STATUS = record(
    {
        "conditions": {"type": "array", "items": CONDITION},
        "zone": text(),
        "zones": {"type": "array", "items": text()},
        "region": text(),
    }
)


def _versions(form: Form, *, namespaced: bool) -> Obj:
    return kubefed_definition(version_resource(form, namespaced=namespaced), {}, status=_VERSION_STATUS, required=())


RECORD_CRDS: tuple[Obj, ...] = (
    *(_versions(form, namespaced=namespaced) for form in _FAMILIES for namespaced in (True, False)),
    *(
        kubefed_definition(service_status_resource(form), {"clusterStatus": _CLUSTER_STATUS}, required=())
        for form in _FAMILIES
    ),
    kubefed_definition(
        FEDERATED_CLUSTERS,
        {"spec": _FEDERATED_CLUSTER_SPEC},
        [column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'), AGE],
        status=_FEDERATED_CLUSTER_STATUS,
    ),
)
