"""One request of the contract's script, and the short forms in which the script's tables write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

JSON = "application/json"
YAML = "application/yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One request. `<<name>>` in path, headers and body stands for what an earlier step saved under that name.

    `until` repeats the request until the answer has that code and, if given, `until_shows` in its text. A watch reads
    `events` events and hangs up, or with 0 reads until the server ends it; one with `opens` is left open for later
    steps, which read from it by `reads`.
    """

    name: str
    method: str = "GET"
    path: str = "/"
    body: Any = None
    content: str = JSON
    accept: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    save: Mapping[str, str] = field(default_factory=dict)
    until: int = 0
    until_shows: str = ""
    watch: bool = False
    events: int = 0
    opens: str = ""
    reads: str = ""


def get(name: str, path: str, **more: Any) -> Step:
    """Read an object or a collection."""
    return Step(name, "GET", path, **more)


def post(name: str, path: str, body: Any, **more: Any) -> Step:
    """Create."""
    return Step(name, "POST", path, body, **more)


def put(name: str, path: str, body: Any, **more: Any) -> Step:
    """Replace."""
    return Step(name, "PUT", path, body, **more)


def merge(name: str, path: str, body: Any, **more: Any) -> Step:
    """Change by a merge patch."""
    return Step(name, "PATCH", path, body, MERGE_PATCH, **more)


def strategic(name: str, path: str, body: Any, **more: Any) -> Step:
    """Change by a strategic merge patch."""
    return Step(name, "PATCH", path, body, STRATEGIC_PATCH, **more)


def json_patch(name: str, path: str, body: Any, **more: Any) -> Step:
    """Change by a JSON patch."""
    return Step(name, "PATCH", path, body, JSON_PATCH, **more)


def apply(name: str, path: str, body: Any, **more: Any) -> Step:
    """Change by server-side apply."""
    return Step(name, "PATCH", path, body, APPLY, **more)


def delete(name: str, path: str, body: Any = None, **more: Any) -> Step:
    """Delete an object or a collection."""
    return Step(name, "DELETE", path, body, **more)


def watch(name: str, path: str, **more: Any) -> Step:
    """Follow a collection."""
    joined = "&" if "?" in path else "?"
    return Step(name, "GET", f"{path}{joined}watch=true", watch=True, **more)


def read(name: str, stream: str, events: int) -> Step:
    """Read from a watch that an earlier step opened."""
    return Step(name, watch=True, reads=stream, events=events)


def manifest(api_version: str, kind: str, name: str, **more: Any) -> Obj:
    """Return a manifest; `labels`, `annotations` and other metadata go by `metadata`."""
    metadata = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def config(name: str, data: Any = None, **metadata: Any) -> Obj:
    """Return a ConfigMap."""
    return manifest("v1", "ConfigMap", name, metadata=metadata, data={"a": "1"} if data is None else data)


def template(app: str, **container: Any) -> Obj:
    """Return a pod template with one container."""
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "app", "image": "nginx:1.27", **container}]},
    }


def deployment(name: str, **spec: Any) -> Obj:
    """Return a Deployment."""
    selector = {"matchLabels": {"app": name}}
    return manifest("apps/v1", "Deployment", name, spec={"selector": selector, "template": template(name), **spec})


def namespace(name: str) -> list[Step]:
    """Make a namespace for a section, and wait for what a cluster puts into it by itself."""
    path = f"/api/v1/namespaces/{name}"
    return [
        post(f"{name}/namespace", "/api/v1/namespaces", manifest("v1", "Namespace", name)),
        get(f"{name}/root certificate", f"{path}/configmaps/kube-root-ca.crt", until=200),
        get(f"{name}/default service account", f"{path}/serviceaccounts/default", until=200),
    ]
