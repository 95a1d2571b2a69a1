"""The kubeconfig of an embedded federation: one context for the federation and one for each cluster."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from hanse.cli.failures import Failure
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj

_LISTS = ("clusters", "contexts", "users")


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


def users_kubeconfig(environment: Mapping[str, str]) -> Path:
    """Return the kubeconfig that kubectl would write to: the first of $KUBECONFIG, else ~/.kube/config."""
    for name in environment.get("KUBECONFIG", "").split(os.pathsep):
        if name:
            return Path(name)
    return Path.home() / ".kube" / "config"


def merge_into(path: Path, own: bytes) -> list[str]:
    """Put the contexts of our kubeconfig into a user's; returns their names.

    Entries of the same names are replaced where they are this federation's of before (they have its authority);
    anybody else's stay, and Failure says which is in the way. The current context stays as well.
    """
    ours: Obj = yaml.safe_load(own)
    theirs = _read(path)
    _check_names(path, theirs, ours)
    for kind in _LISTS:
        names = {entry["name"] for entry in ours[kind]}
        kept = [entry for entry in theirs.get(kind) or [] if entry.get("name") not in names]
        theirs[kind] = [*kept, *ours[kind]]
    if not theirs.get("current-context"):
        theirs["current-context"] = ours["current-context"]
    _write(path, yaml.safe_dump(theirs, sort_keys=False).encode())
    return [entry["name"] for entry in ours["contexts"]]


def _read(path: Path) -> Obj:
    try:
        document: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        document = None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Failure(f"the kubeconfig {path} cannot be read, so nothing was merged into it: {error}") from error
    if document is None:
        return {"apiVersion": "v1", "kind": "Config"}
    if not isinstance(document, dict):
        raise Failure(f"{path} is not a kubeconfig, so nothing was merged into it")
    return document


def _check_names(path: Path, theirs: Obj, ours: Obj) -> None:
    authorities = {entry["name"]: entry["cluster"]["certificate-authority-data"] for entry in ours["clusters"]}
    known = {entry.get("name"): entry.get("cluster") or {} for entry in theirs.get("clusters") or []}
    for kind in _LISTS:
        for entry in theirs.get(kind) or []:
            name = entry.get("name")
            if name in authorities and known.get(name, {}).get("certificate-authority-data") != authorities[name]:
                raise Failure(
                    f"{path} has an entry {name!r} in its {kind} already that is not this federation's, so nothing was "
                    "merged into it; rename that one, or the cluster"
                )


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # What others made a link to stays a link.
        target = path.resolve()
        partial = target.with_name(f".{target.name}.hanse")
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        partial.replace(target)
    except OSError as error:
        raise Failure(f"the kubeconfig {path} cannot be written: {error.strerror}") from error


def _cluster(endpoint: Endpoint) -> Obj:
    return {"server": endpoint.server, "certificate-authority-data": _base64(endpoint.ca)}


def _user(endpoint: Endpoint) -> Obj:
    return {
        "client-certificate-data": _base64(endpoint.client_certificate),
        "client-key-data": _base64(endpoint.client_key),
    }


def _base64(content: bytes | None) -> str:
    return base64.b64encode(content or b"").decode()
