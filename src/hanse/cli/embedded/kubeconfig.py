"""The kubeconfig of an embedded federation: one context for the federation and one for each cluster."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import yaml

from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj


def kubeconfig_for(endpoints: Mapping[str, Endpoint], current: str) -> bytes:
    """Write a kubeconfig whose contexts, clusters and users bear the same names, so that it merges well."""
    document: Obj = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in endpoints],
        "clusters": [{"name": name, "cluster": _cluster(endpoint)} for name, endpoint in endpoints.items()],
        "users": [{"name": name, "user": _user(endpoint)} for name, endpoint in endpoints.items()],
    }
    return yaml.safe_dump(document, sort_keys=False).encode()


def _cluster(endpoint: Endpoint) -> Obj:
    return {"server": endpoint.server, "certificate-authority-data": _base64(endpoint.ca)}


def _user(endpoint: Endpoint) -> Obj:
    return {
        "client-certificate-data": _base64(endpoint.client_certificate),
        "client-key-data": _base64(endpoint.client_key),
    }


def _base64(content: bytes | None) -> str:
    return base64.b64encode(content or b"").decode()
