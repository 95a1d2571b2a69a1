"""Reading many objects of a real cluster often, over HTTP: a kubectl for every look costs more than what it shows."""

from __future__ import annotations

import json
import ssl
import urllib.parse
import urllib.request
from collections.abc import Iterable
from functools import cache

from tests.kubernetes.kubefed.examples import Obj
from tests.kubernetes.real import RealCluster

_SECONDS = 60.0
_CORE = ("namespaces", "configmaps", "secrets", "serviceaccounts", "services")
_TARGETS = (*_CORE, "deployments", "replicasets", "jobs", "ingresses", "clusterroles")
MEMBER_PATHS = (
    *(f"/api/v1/{plural}" for plural in _CORE),
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/apis/batch/v1/jobs",
    "/apis/networking.k8s.io/v1/ingresses",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
)
POD_PATH = "/api/v1/pods"
FEDERATED_PATHS = tuple(f"/apis/types.kubefed.io/v1beta1/federated{plural}" for plural in _TARGETS)
PREFERENCE_PATH = "/apis/scheduling.kubefed.io/v1alpha1/replicaschedulingpreferences"
VERSION_PATHS = tuple(
    f"/apis/core.kubefed.io/v1alpha1/{plural}" for plural in ("propagatedversions", "clusterpropagatedversions")
)


def read_objects(cluster: RealCluster, paths: Iterable[str], selector: str = "") -> list[Obj]:
    """Return the objects of some kinds in all namespaces, those that a label selector chooses."""
    query = f"?{urllib.parse.urlencode({'labelSelector': selector})}" if selector else ""
    return [obj for path in paths for obj in _listed(cluster, path + query)]


def _listed(cluster: RealCluster, path: str) -> list[Obj]:
    request = urllib.request.Request(cluster.server + path, headers={"Authorization": f"Bearer {cluster.token}"})
    with urllib.request.urlopen(request, timeout=_SECONDS, context=_trust(str(cluster.folder / "ca.crt"))) as answer:
        found = json.load(answer)
    kind = {"apiVersion": found["apiVersion"], "kind": found["kind"].removesuffix("List")}
    return [{**kind, **obj} for obj in found["items"]]


@cache
def _trust(authority: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority)
