"""What is particular to each built-in kind: defaults, rules, conversions, admission; found here by kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hanse.apiserver.builtin import (
    admission_policies,
    autoscaling,
    batch,
    certificates,
    claims,
    core_kinds,
    crd_rules,
    events,
    limits,
    networking,
    pod_admission,
    pods,
    policies,
    runtime_classes,
    services,
    storage_kinds,
    webhook_kinds,
    workloads,
)
from hanse.apiserver.builtin.strategy import Strategy
from hanse.kube.manifest import Obj

if TYPE_CHECKING:
    from hanse.apiserver.core import Core

Convert = Callable[[Obj], Obj]
Admit = Callable[["Core", Obj], None]
Allocate = Callable[["Core", Obj, Obj | None], None]

_PLAIN = Strategy()
_STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "ConfigMap"): core_kinds.CONFIGMAP,
    ("", "Endpoints"): core_kinds.ENDPOINTS,
    ("", "Event"): events.CORE_EVENT,
    ("", "LimitRange"): limits.LIMIT_RANGE,
    ("", "Namespace"): core_kinds.NAMESPACE,
    ("", "Node"): core_kinds.NODE,
    ("", "PersistentVolume"): claims.VOLUME,
    ("", "PersistentVolumeClaim"): claims.CLAIM,
    ("", "Pod"): pods.STRATEGY,
    ("", "PodTemplate"): core_kinds.POD_TEMPLATE,
    ("", "ReplicationController"): workloads.REPLICATION_CONTROLLER,
    ("", "ResourceQuota"): limits.QUOTA,
    ("", "Secret"): core_kinds.SECRET,
    ("", "Service"): services.STRATEGY,
    ("", "ServiceAccount"): core_kinds.SERVICE_ACCOUNT,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): admission_policies.MUTATING_POLICY,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): admission_policies.BINDING,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): webhook_kinds.WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): admission_policies.VALIDATING_POLICY,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): admission_policies.BINDING,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): webhook_kinds.WEBHOOKS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): crd_rules.STRATEGY,
    ("apps", "ControllerRevision"): workloads.CONTROLLER_REVISION,
    ("apps", "DaemonSet"): workloads.DAEMONSET,
    ("apps", "Deployment"): workloads.DEPLOYMENT,
    ("apps", "ReplicaSet"): workloads.REPLICASET,
    ("apps", "StatefulSet"): workloads.STATEFULSET,
    ("batch", "CronJob"): batch.CRONJOB,
    ("batch", "Job"): batch.JOB,
    ("certificates.k8s.io", "CertificateSigningRequest"): certificates.REQUEST,
    ("coordination.k8s.io", "Lease"): policies.LEASE,
    ("discovery.k8s.io", "EndpointSlice"): networking.SLICE,
    ("events.k8s.io", "Event"): events.EVENT,
    ("networking.k8s.io", "Ingress"): networking.INGRESS,
    ("networking.k8s.io", "IngressClass"): networking.INGRESS_CLASS,
    ("networking.k8s.io", "IPAddress"): networking.ADDRESS,
    ("networking.k8s.io", "ServiceCIDR"): networking.SERVICE_NETWORKS,
    ("networking.k8s.io", "NetworkPolicy"): networking.NETWORK_POLICY,
    ("node.k8s.io", "RuntimeClass"): runtime_classes.RUNTIME_CLASS,
    ("policy", "PodDisruptionBudget"): policies.BUDGET,
    ("rbac.authorization.k8s.io", "ClusterRole"): policies.ROLE,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): policies.BINDING,
    ("rbac.authorization.k8s.io", "Role"): policies.ROLE,
    ("rbac.authorization.k8s.io", "RoleBinding"): policies.BINDING,
    ("scheduling.k8s.io", "PriorityClass"): policies.PRIORITY_CLASS,
    ("storage.k8s.io", "CSIDriver"): storage_kinds.DRIVER,
    ("storage.k8s.io", "CSINode"): storage_kinds.NODE,
    ("storage.k8s.io", "CSIStorageCapacity"): storage_kinds.CAPACITY,
    ("storage.k8s.io", "StorageClass"): storage_kinds.CLASS,
    ("storage.k8s.io", "VolumeAttachment"): storage_kinds.ATTACHMENT,
    ("storage.k8s.io", "VolumeAttributesClass"): storage_kinds.ATTRIBUTES,
}
_CONVERSIONS: dict[tuple[str, str, str], tuple[Convert, Convert]] = {
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): (autoscaling.from_v2, autoscaling.to_v2),
    ("events.k8s.io", "v1", "Event"): (events.from_core, events.to_core),
}
_ADMISSION: dict[str, Admit] = {"core/pods": pod_admission.admit}
_ALLOCATION: dict[str, Allocate] = {"core/services": services.allocate}


def strategy_for(group: str, version: str, kind: str) -> Strategy:
    """Return what is particular to a kind."""
    if group == "autoscaling":
        return autoscaling.V2 if version == "v2" else autoscaling.V1
    return _STRATEGIES.get((group, kind), _PLAIN)


def conversion_for(group: str, version: str, kind: str) -> tuple[Convert, Convert] | None:
    """Return how a version is read from and written to the stored one; None where it is the stored one."""
    return _CONVERSIONS.get((group, version, kind))


def admission_for(bucket: str) -> Admit | None:
    """Return what a cluster's admission does to a kind's objects."""
    return _ADMISSION.get(bucket)


def allocation_for(bucket: str) -> Allocate | None:
    """Return what gives a kind's objects their addresses."""
    return _ALLOCATION.get(bucket)
