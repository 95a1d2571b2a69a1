"""The operator's controllers as objects: which parents, which children, how those change, and where the hooks are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS, HOME_NAMESPACE
from hanse.api.vitess.kinds import (
    ETCD_CLUSTERS,
    VITESS_CELLS,
    VITESS_CLUSTERS,
    VITESS_KEYSPACES,
    VITESS_SHARDS,
)
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

# Where the hooks are, in Metacontroller's namespace.
HOOKS_CONFIG_MAP = "vitess-operator-hooks"

# From a controller's layer and the hook's name to where its code is.
Code = Callable[[str, str], Obj]

_HOOKS = ("sync", "postUpdateChild")
_READY_AND_UPDATED = (("Ready", None), ("Updated", None))
_ROLLED_OUT = (("Available", None), ("Progressing", "NewReplicaSetAvailable"))
_JSONNET_FILES = {"preUpdateChild": "pre-update-tablet.jsonnet", "postUpdateChild": "post-update-child.jsonnet"}
_PYTHON_FUNCTIONS = {
    "preUpdateChild": ("reparent", "pre_update_child"),
    "postUpdateChild": ("levels", "post_update_child"),
}


def in_jsonnet(layer: str, hook: str) -> Obj:
    """Say where the code of a hook is in the ConfigMap."""
    key = _JSONNET_FILES.get(hook, f"sync-{layer}.jsonnet")
    named = {"name": HOOKS_CONFIG_MAP, "namespace": HOME_NAMESPACE, "key": key}
    return {"jsonnet": {"configMap": named}}


def in_python(layer: str, hook: str) -> Obj:
    """Say which function of this room a hook is."""
    module, function = _PYTHON_FUNCTIONS.get(hook, (layer, hook))
    return {"python": {"module": f"hanse.vitess.first.{module}", "function": function}}


def vitess_controllers(code: Code) -> tuple[Obj, ...]:
    """Return a controller for each layer of a VitessCluster, and that of EtcdClusters."""
    return (
        _controller("cluster", VITESS_CLUSTERS, [_rolling(VITESS_CELLS, *_READY_AND_UPDATED)], code),
        _controller(
            "cell",
            VITESS_CELLS,
            [
                _child("v1", "services", "InPlace"),
                _child("v1", "configmaps", "InPlace"),
                _child("apps/v1", "deployments", "RollingInPlace", *_ROLLED_OUT),
                _child("batch/v1", "jobs", "Recreate"),
                _rolling(ETCD_CLUSTERS, ("Available", None)),
                _rolling(VITESS_KEYSPACES, *_READY_AND_UPDATED),
            ],
            code,
        ),
        _controller("keyspace", VITESS_KEYSPACES, [_rolling(VITESS_SHARDS, *_READY_AND_UPDATED)], code),
        _controller(
            "shard",
            VITESS_SHARDS,
            [
                _child("v1", "pods", "RollingRecreate", ("Ready", None)),
                _child("v1", "persistentvolumeclaims", "OnDelete"),
                _child("batch/v1", "jobs", "OnDelete"),
            ],
            code,
            hooks=("sync", "preUpdateChild", "postUpdateChild"),
        ),
        _controller(
            "etcd",
            ETCD_CLUSTERS,
            [
                _child("v1", "services", "InPlace"),
                _child("v1", "persistentvolumeclaims", "OnDelete"),
                _child("v1", "pods", "RollingRecreate", ("Ready", None)),
            ],
            code,
            generateSelector=True,
        ),
    )


def _controller(
    layer: str, parent: Resource, children: list[Obj], code: Code, *, hooks: tuple[str, ...] = _HOOKS, **more: Any
) -> Obj:
    return {
        "apiVersion": COMPOSITE_CONTROLLERS.api_version,
        "kind": COMPOSITE_CONTROLLERS.kind,
        "metadata": {"name": f"{parent.kind.lower()}-controller"},
        "spec": {
            **more,
            "parentResource": {"apiVersion": parent.api_version, "resource": parent.plural},
            "childResources": children,
            "hooks": {hook: code(layer, hook) for hook in hooks},
        },
    }


def _rolling(resource: Resource, *checks: tuple[str, str | None]) -> Obj:
    return _child(resource.api_version, resource.plural, "RollingInPlace", *checks)


def _child(api_version: str, plural: str, method: str, *checks: tuple[str, str | None]) -> Obj:
    strategy: Obj = {"method": method}
    if checks:
        conditions = [
            {"type": kind, "status": "True", **({"reason": reason} if reason else {})} for kind, reason in checks
        ]
        strategy["statusChecks"] = {"conditions": conditions}
    return {"apiVersion": api_version, "resource": plural, "updateStrategy": strategy}
