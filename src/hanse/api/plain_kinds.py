"""Kinds of Kubernetes that are federated as they are, beside those that every room knows by name."""

from __future__ import annotations

from hanse.kube.resources import Resource

REPLICATION_CONTROLLERS = Resource("", "v1", "replicationcontrollers", "ReplicationController")
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
LIMIT_RANGES = Resource("", "v1", "limitranges", "LimitRange")
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
JOBS = Resource("batch", "v1", "jobs", "Job")
CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob")
AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
INGRESSES = Resource("networking.k8s.io", "v1", "ingresses", "Ingress")
NETWORK_POLICIES = Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
