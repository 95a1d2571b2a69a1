"""Writing kubeconfigs: endpoints into one document, and one document into another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from hanse.clusters.credentials import encoded
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj

HIDDEN = "<hidden>"
_SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}
_SECRET_FIELDS = ("token", "password", "client-key-data", "client-certificate-data")


def kubeconfig_document(endpoints: Mapping[str, Endpoint], current: str = "") -> Obj:
    """Return a kubeconfig whose contexts, clusters and users bear the same names, so that it merges well."""
    document: Obj = {"apiVersion": "v1", "kind": "Config"}
    if current:
        document["current-context"] = current
    document["clusters"] = [{"name": name, "cluster": _cluster(each)} for name, each in endpoints.items()]
    document["users"] = [{"name": name, "user": _user(each)} for name, each in endpoints.items()]
    document["contexts"] = [{"name": name, "context": {"cluster": name, "user": name}} for name in endpoints]
    return document


def minified(name: str, endpoint: Endpoint) -> str:
    """Return a kubeconfig with this one endpoint in it and nothing else of the user's file, as text."""
    return yaml.safe_dump(kubeconfig_document({name: endpoint}, name), sort_keys=False)


def without_secrets(document: Obj) -> Obj:
    """Return a kubeconfig that may be shown to anybody."""
    users = [
        {**entry, "user": {key: HIDDEN if key in _SECRET_FIELDS else value for key, value in entry["user"].items()}}
        for entry in document["users"]
    ]
    return {**document, "users": users}


def merged(into: Obj, document: Obj) -> tuple[Obj, list[str]]:
    """Return `into` with the entries of a document, and which of them were there already and said something else.

    Entries of other names, the current context and everything else in the file stay as they are.
    """
    result = {**into}
    result.setdefault("apiVersion", "v1")
    result.setdefault("kind", "Config")
    if document.get("current-context") and not into.get("current-context"):
        result["current-context"] = document["current-context"]
    clashes: list[str] = []
    for section in _SECTIONS:
        fresh = {entry["name"]: entry for entry in document[section]}
        kept: list[Any] = []
        for entry in into.get(section) or []:
            other = fresh.pop(entry.get("name"), None)
            if other is not None and other != entry:
                clashes.append(f"{section}[{entry['name']}]")
            kept.append(entry if other is None else other)
        result[section] = [*kept, *fresh.values()]
    return result, clashes


def _cluster(endpoint: Endpoint) -> Obj:
    cluster: Obj = {"server": endpoint.server}
    if endpoint.ca:
        cluster["certificate-authority-data"] = encoded(endpoint.ca)
    if endpoint.insecure:
        cluster["insecure-skip-tls-verify"] = True
    if endpoint.tls_server_name:
        cluster["tls-server-name"] = endpoint.tls_server_name
    if endpoint.proxy_url:
        cluster["proxy-url"] = endpoint.proxy_url
    return cluster


def _user(endpoint: Endpoint) -> Obj:
    user: Obj = {}
    if endpoint.client_certificate and endpoint.client_key:
        user["client-certificate-data"] = encoded(endpoint.client_certificate)
        user["client-key-data"] = encoded(endpoint.client_key)
    if endpoint.token:
        user["token"] = endpoint.token
    if endpoint.username:
        user |= {"username": endpoint.username, "password": endpoint.password}
    return user
