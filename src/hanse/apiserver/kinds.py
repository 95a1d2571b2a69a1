"""The built-in kinds as data: how each is called, where it lives, which verbs and subresources it has."""

from __future__ import annotations

from dataclasses import dataclass

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_NO_COLLECTION_DELETE = ("create", "delete", "get", "list", "patch", "update", "watch")
_CREATE = ("create",)


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of an object with its own path, and the kind that travels there ("" group and version: the parent's)."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class KindEntry:
    """One row of the table: a kind in one version."""

    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    bucket: str = ""  # where another kind's storage is shared


_READ_WRITE = ("get", "patch", "update")
_CONNECT = ("create", "get")
_SUBRESOURCES: dict[str, Subresource] = {
    "scale": Subresource("scale", "Scale", _READ_WRITE, "autoscaling", "v1"),
    "binding": Subresource("binding", "Binding", _CREATE),
    "eviction": Subresource("eviction", "Eviction", _CREATE, "policy", "v1"),
    "token": Subresource("token", "TokenRequest", _CREATE, "authentication.k8s.io", "v1"),
    "finalize": Subresource("finalize", "", ("update",)),
    "log": Subresource("log", "", ("get",)),
    "exec": Subresource("exec", "PodExecOptions", _CONNECT),
    "attach": Subresource("attach", "PodAttachOptions", _CONNECT),
    "portforward": Subresource("portforward", "PodPortForwardOptions", _CONNECT),
}


def subresource(name: str, parent: str) -> Subresource:
    """Return a subresource of a kind; `status` and other views of the object itself carry the parent's kind."""
    if name == "proxy":
        return Subresource(name, f"{parent}ProxyOptions", ("create", "delete", "get", "patch", "update"))
    known = _SUBRESOURCES.get(name)
    if known is None:
        return Subresource(name, parent, _READ_WRITE)
    return known if known.kind else Subresource(name, parent, known.verbs)


_ALL = ("all",)
_EXTENSIONS = ("api-extensions",)
_STATUS = ("status",)
_SCALED = ("scale", "status")

BUILTIN: dict[tuple[str, str], tuple[KindEntry, ...]] = {
    ("", "v1"): (
        KindEntry("bindings", "Binding", verbs=_CREATE),
        KindEntry("configmaps", "ConfigMap", short_names=("cm",)),
        KindEntry("endpoints", "Endpoints", short_names=("ep",)),
        KindEntry("events", "Event", short_names=("ev",)),
        KindEntry("limitranges", "LimitRange", short_names=("limits",)),
        KindEntry(
            "namespaces",
            "Namespace",
            namespaced=False,
            short_names=("ns",),
            subresources=("finalize", "status"),
            verbs=_NO_COLLECTION_DELETE,
        ),
        KindEntry("nodes", "Node", namespaced=False, short_names=("no",), subresources=_STATUS),
        KindEntry("persistentvolumeclaims", "PersistentVolumeClaim", short_names=("pvc",), subresources=_STATUS),
        KindEntry("persistentvolumes", "PersistentVolume", namespaced=False, short_names=("pv",), subresources=_STATUS),
        KindEntry(
            "pods",
            "Pod",
            short_names=("po",),
            categories=_ALL,
            subresources=(
                "attach",
                "binding",
                "ephemeralcontainers",
                "eviction",
                "exec",
                "log",
                "portforward",
                "proxy",
                "resize",
                "status",
            ),
        ),
        KindEntry("podtemplates", "PodTemplate"),
        KindEntry(
            "replicationcontrollers",
            "ReplicationController",
            short_names=("rc",),
            categories=_ALL,
            subresources=_SCALED,
        ),
        KindEntry("resourcequotas", "ResourceQuota", short_names=("quota",), subresources=_STATUS),
        KindEntry("secrets", "Secret"),
        KindEntry("serviceaccounts", "ServiceAccount", short_names=("sa",), subresources=("token",)),
        KindEntry("services", "Service", short_names=("svc",), categories=_ALL, subresources=("proxy", "status")),
    ),
    # Told rather than stored; see hanse.apiserver.api_services.
    ("apiregistration.k8s.io", "v1"): (
        KindEntry("apiservices", "APIService", namespaced=False, categories=_EXTENSIONS, verbs=("get", "list")),
    ),
    ("apps", "v1"): (
        KindEntry("controllerrevisions", "ControllerRevision"),
        KindEntry("daemonsets", "DaemonSet", short_names=("ds",), categories=_ALL, subresources=_STATUS),
        KindEntry("deployments", "Deployment", short_names=("deploy",), categories=_ALL, subresources=_SCALED),
        KindEntry("replicasets", "ReplicaSet", short_names=("rs",), categories=_ALL, subresources=_SCALED),
        KindEntry("statefulsets", "StatefulSet", short_names=("sts",), categories=_ALL, subresources=_SCALED),
    ),
    ("events.k8s.io", "v1"): (KindEntry("events", "Event", short_names=("ev",), bucket="core/events"),),
    ("authentication.k8s.io", "v1"): (
        KindEntry("selfsubjectreviews", "SelfSubjectReview", namespaced=False, verbs=_CREATE),
        KindEntry("tokenreviews", "TokenReview", namespaced=False, verbs=_CREATE),
    ),
    ("authorization.k8s.io", "v1"): (
        KindEntry("localsubjectaccessreviews", "LocalSubjectAccessReview", verbs=_CREATE),
        KindEntry("selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False, verbs=_CREATE),
        KindEntry("selfsubjectrulesreviews", "SelfSubjectRulesReview", namespaced=False, verbs=_CREATE),
        KindEntry("subjectaccessreviews", "SubjectAccessReview", namespaced=False, verbs=_CREATE),
    ),
    ("autoscaling", "v2"): (
        KindEntry(
            "horizontalpodautoscalers",
            "HorizontalPodAutoscaler",
            short_names=("hpa",),
            categories=_ALL,
            subresources=_STATUS,
        ),
    ),
    ("autoscaling", "v1"): (
        KindEntry(
            "horizontalpodautoscalers",
            "HorizontalPodAutoscaler",
            short_names=("hpa",),
            categories=_ALL,
            subresources=_STATUS,
        ),
    ),
    ("batch", "v1"): (
        KindEntry("cronjobs", "CronJob", short_names=("cj",), categories=_ALL, subresources=_STATUS),
        KindEntry("jobs", "Job", categories=_ALL, subresources=_STATUS),
    ),
    ("certificates.k8s.io", "v1"): (
        KindEntry(
            "certificatesigningrequests",
            "CertificateSigningRequest",
            namespaced=False,
            short_names=("csr",),
            subresources=("approval", "status"),
        ),
    ),
    ("networking.k8s.io", "v1"): (
        KindEntry("ingressclasses", "IngressClass", namespaced=False),
        KindEntry("ingresses", "Ingress", short_names=("ing",), subresources=_STATUS),
        KindEntry("ipaddresses", "IPAddress", namespaced=False, short_names=("ip",)),
        KindEntry("networkpolicies", "NetworkPolicy", short_names=("netpol",)),
        KindEntry("servicecidrs", "ServiceCIDR", namespaced=False, subresources=_STATUS),
    ),
    ("policy", "v1"): (
        KindEntry("poddisruptionbudgets", "PodDisruptionBudget", short_names=("pdb",), subresources=_STATUS),
    ),
    ("rbac.authorization.k8s.io", "v1"): (
        KindEntry("clusterrolebindings", "ClusterRoleBinding", namespaced=False),
        KindEntry("clusterroles", "ClusterRole", namespaced=False),
        KindEntry("rolebindings", "RoleBinding"),
        KindEntry("roles", "Role"),
    ),
    ("storage.k8s.io", "v1"): (
        KindEntry("csidrivers", "CSIDriver", namespaced=False),
        KindEntry("csinodes", "CSINode", namespaced=False),
        KindEntry("csistoragecapacities", "CSIStorageCapacity"),
        KindEntry("storageclasses", "StorageClass", namespaced=False, short_names=("sc",)),
        KindEntry("volumeattachments", "VolumeAttachment", namespaced=False, subresources=_STATUS),
        KindEntry("volumeattributesclasses", "VolumeAttributesClass", namespaced=False, short_names=("vac",)),
    ),
    ("admissionregistration.k8s.io", "v1"): (
        KindEntry("mutatingadmissionpolicies", "MutatingAdmissionPolicy", namespaced=False, categories=_EXTENSIONS),
        KindEntry(
            "mutatingadmissionpolicybindings",
            "MutatingAdmissionPolicyBinding",
            namespaced=False,
            categories=_EXTENSIONS,
        ),
        KindEntry(
            "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", namespaced=False, categories=_EXTENSIONS
        ),
        KindEntry(
            "validatingadmissionpolicies",
            "ValidatingAdmissionPolicy",
            namespaced=False,
            categories=_EXTENSIONS,
            subresources=_STATUS,
        ),
        KindEntry(
            "validatingadmissionpolicybindings",
            "ValidatingAdmissionPolicyBinding",
            namespaced=False,
            categories=_EXTENSIONS,
        ),
        KindEntry(
            "validatingwebhookconfigurations",
            "ValidatingWebhookConfiguration",
            namespaced=False,
            categories=_EXTENSIONS,
        ),
    ),
    ("apiextensions.k8s.io", "v1"): (
        KindEntry(
            "customresourcedefinitions",
            "CustomResourceDefinition",
            namespaced=False,
            short_names=("crd", "crds"),
            categories=_EXTENSIONS,
            subresources=_STATUS,
        ),
    ),
    ("scheduling.k8s.io", "v1"): (
        KindEntry("priorityclasses", "PriorityClass", namespaced=False, short_names=("pc",)),
    ),
    ("coordination.k8s.io", "v1"): (KindEntry("leases", "Lease"),),
    ("node.k8s.io", "v1"): (KindEntry("runtimeclasses", "RuntimeClass", namespaced=False),),
    ("discovery.k8s.io", "v1"): (KindEntry("endpointslices", "EndpointSlice"),),
}


def singular_of(entry: KindEntry) -> str:
    """Return the singular name that discovery shows."""
    return entry.kind.lower()


def bucket_of(group: str, plural: str) -> str:
    """Return the storage bucket of a kind."""
    return f"{group or 'core'}/{plural}"
