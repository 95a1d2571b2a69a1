"""APIServices: every group and version that this server serves, each as one that is local and available.

There is no aggregation here, so nothing can be added: they are told, not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hanse.apiserver.registry import Registry
from hanse.kube.manifest import Obj

API_SERVICES = "apiregistration.k8s.io/apiservices"
_CORE_PRIORITY, _HIGHEST_PRIORITY, _CUSTOM_PRIORITY = 18000, 17900, 1000
_BETWEEN_GROUPS = 100
_VERSION_PRIORITY = 15


def api_services(registry: Registry, started: str) -> Callable[[str], Iterable[Obj]]:
    """Return the function that tells what is served at the moment."""

    def told(namespace: str) -> Iterable[Obj]:  # noqa: ARG001 - the shape of every such function
        for place, (group, versions) in enumerate(registry.groups().items()):
            for number, version in enumerate(versions):
                priority = (
                    max(_HIGHEST_PRIORITY - _BETWEEN_GROUPS * place, _CUSTOM_PRIORITY) if group else _CORE_PRIORITY
                )
                yield _api_service(group, version, priority, _VERSION_PRIORITY - number, started)

    return told


def _api_service(group: str, version: str, group_priority: int, version_priority: int, started: str) -> Obj:
    spec: Obj = {
        "groupPriorityMinimum": group_priority,
        "version": version,
        "versionPriority": max(version_priority, 1),
    }
    if group:
        spec["group"] = group
    available = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": started,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{version}.{group}", "creationTimestamp": started},
        "spec": spec,
        "status": {"conditions": [available]},
    }
