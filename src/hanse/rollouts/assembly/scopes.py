"""Which kinds live outside of namespaces: a table for those that Kubernetes brings along."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import gvk

_CLUSTER_SCOPED = {
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("certificates.k8s.io", "ClusterTrustBundle"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    ("networking.k8s.io", "IPAddress"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "ServiceCIDR"),
    ("node.k8s.io", "RuntimeClass"),
    ("policy", "PodSecurityPolicy"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceSlice"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
}
_OWN_GROUPS = {group for group, _ in _CLUSTER_SCOPED} | {"apps", "autoscaling", "batch", "coordination.k8s.io"}
_OWN_GROUPS |= {"discovery.k8s.io", "events.k8s.io", "extensions"}


class Scopes:
    """Knows whether a kind has namespaces: Kubernetes' own kinds, and those that come with their definition."""

    def __init__(self, manifests: Sequence[Obj]) -> None:
        self._defined = {
            (str(dig(obj, "spec", "group")), str(dig(obj, "spec", "names", "kind"))): dig(obj, "spec", "scope")
            != "Cluster"
            for obj in manifests
            if obj.get("kind") == "CustomResourceDefinition"
        }

    def namespaced(self, obj: Obj) -> bool | None:
        """Tell whether the manifest's kind has namespaces; None for a custom kind of which nothing is known here."""
        group, _, kind = gvk(obj)
        if group in _OWN_GROUPS:
            return (group, kind) not in _CLUSTER_SCOPED
        return self._defined.get((group, kind))
