"""Joining a cluster: what is written to the host, and writing it.

The credentials go into a Secret of Hanse's own namespace; the Cluster object only points there.
"""

from __future__ import annotations

import base64

import yaml

from hanse.api.clusters import CLUSTERS, cluster_manifest, parse_cluster
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.clusters.member import KUBECONFIG_KEY
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists
from hanse.kube.kubeconfig import Endpoint, KubeconfigError
from hanse.kube.manifest import Key, Obj, owner_reference
from hanse.kube.resources import NAMESPACES, SECRETS


def joining_manifests(name: str, endpoint: Endpoint, labels: dict[str, str]) -> list[Obj]:
    """Return what must exist on the host for a cluster to be a member: Namespace, Secret, Cluster.

    Raises KubeconfigError for credentials that cannot travel: the control plane has neither the file nor the command.
    """
    if endpoint.token_file or endpoint.exec_plugin or endpoint.impersonation:
        raise KubeconfigError(
            f"the credentials for {endpoint.server} (a token file, a command or impersonation) only work on this "
            "machine; join with a client certificate or a token"
        )
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
    """Write the manifests; labels of a cluster that is there already are left as they are. True if it is new.

    The Secret belongs to the Cluster and goes with it.
    """
    namespace, secret, cluster = manifests
    try:
        await host.create(NAMESPACES, namespace)
    except AlreadyExists:
        pass
    try:
        written, new = await host.create(CLUSTERS, cluster), True
    except AlreadyExists:
        patch = {"spec": cluster["spec"]}
        written, new = await host.patch(CLUSTERS, cluster["metadata"]["name"], patch), False
    owner = owner_reference({**written, "apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind}, controller=False)
    del owner["blockOwnerDeletion"], owner["controller"]
    await host.apply(SECRETS, {**secret, "metadata": {**secret["metadata"], "ownerReferences": [owner]}})
    return new


async def already_another(host: Client, name: str, uid: str) -> str:
    """Return the address of another cluster that is a member under this name, "" where there is none."""
    obj = await host.find(CLUSTERS, name)
    if obj is None:
        return ""
    known = parse_cluster(obj)
    return known.server if known.uid and uid and known.uid != uid else ""


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
