"""Joining a cluster: what is written to the host, and writing it.

The credentials go into a Secret of Hanse's own namespace; the Cluster object only points there.
"""

from __future__ import annotations

import base64

import yaml

from hanse.api.clusters import CLUSTERS, cluster_manifest
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.clusters.member import KUBECONFIG_KEY
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj
from hanse.kube.resources import NAMESPACES, SECRETS


def joining_manifests(name: str, endpoint: Endpoint, labels: dict[str, str]) -> list[Obj]:
    """Return what must exist on the host for a cluster to be a member: Namespace, Secret, Cluster."""
    secret = Key(SYSTEM_NAMESPACE, f"cluster-{name}")
    ca = base64.b64encode(endpoint.ca).decode() if endpoint.ca else ""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": secret.name, "namespace": secret.namespace},
            "type": "Opaque",
            "data": {KUBECONFIG_KEY: base64.b64encode(_minified(name, endpoint).encode()).decode()},
        },
        cluster_manifest(name, server=endpoint.server, ca_bundle=ca, secret=secret, labels=labels),
    ]


async def join(host: Client, manifests: list[Obj]) -> bool:
    """Write the manifests; labels of a cluster that is there already are left as they are. True if it is new."""
    namespace, secret, cluster = manifests
    try:
        await host.create(NAMESPACES, namespace)
    except AlreadyExists:
        pass
    await host.apply(SECRETS, secret)
    try:
        await host.create(CLUSTERS, cluster)
    except AlreadyExists:
        patch = {"spec": cluster["spec"]}
        await host.patch(CLUSTERS, cluster["metadata"]["name"], patch)
        return False
    return True


def _minified(name: str, endpoint: Endpoint) -> str:
    """Write a kubeconfig with this one endpoint in it and nothing else of the user's file."""
    cluster: Obj = {"server": endpoint.server}
    if endpoint.ca:
        cluster["certificate-authority-data"] = base64.b64encode(endpoint.ca).decode()
    if endpoint.insecure:
        cluster["insecure-skip-tls-verify"] = True
    if endpoint.tls_server_name:
        cluster["tls-server-name"] = endpoint.tls_server_name
    if endpoint.proxy_url:
        cluster["proxy-url"] = endpoint.proxy_url
    user: Obj = {}
    if endpoint.client_certificate and endpoint.client_key:
        user["client-certificate-data"] = base64.b64encode(endpoint.client_certificate).decode()
        user["client-key-data"] = base64.b64encode(endpoint.client_key).decode()
    if endpoint.token:
        user["token"] = endpoint.token
    if endpoint.token_file:
        user["tokenFile"] = endpoint.token_file
    if endpoint.username:
        user |= {"username": endpoint.username, "password": endpoint.password}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
    return yaml.safe_dump(document, sort_keys=False)
