"""Kubernetes' own kinds that the operator writes, beside those that `hanse.kube.resources` names."""

from __future__ import annotations

from hanse.kube.resources import Resource

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
JOBS = Resource("batch", "v1", "jobs", "Job")
