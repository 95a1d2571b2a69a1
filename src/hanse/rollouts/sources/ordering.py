"""The order in which Helm installs objects: what others need comes first."""

from __future__ import annotations

from collections.abc import Iterable

from hanse.kube.manifest import Obj

_KINDS = (
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
)
_PLACES = {kind: place for place, kind in enumerate(_KINDS)}


def install_order(manifests: Iterable[Obj]) -> list[Obj]:
    """Return the manifests by kind, those of one kind as they came; kinds that Helm does not know are last, by name."""

    def place(obj: Obj) -> tuple[int, str]:
        kind = str(obj.get("kind") or "")
        return (_PLACES[kind], "") if kind in _PLACES else (len(_PLACES), kind)

    return sorted(manifests, key=place)
