"""From a Cluster and its Secret to ways of reaching the member: pure, and every fault is one sentence.

A Secret holds a kubeconfig (`kubeconfig`, or the key that the Cluster names), or a token (`token`, `ca.crt`), or a
client certificate (`tls.crt`, `tls.key`, `tls.ca`): what Hanse, KubeFed, Shipper, Admiralty and federation v1 write.
The Cluster says where the API server is; the Secret says who we are there.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace

from hanse.api.clusters import PROXY_ANNOTATION, Cluster
from hanse.clusters.addresses import usable_addresses
from hanse.kube.kubeconfig import Endpoint, Kubeconfig, KubeconfigError
from hanse.kube.manifest import Obj, annotations_of

KUBECONFIG_KEY = "kubeconfig"
_SHIPPER_INSECURE_ANNOTATION = "shipper.booking.com/cluster-secret.insecure-tls-skip-verify"


def endpoints_of(cluster: Cluster, secret: Obj, client: str = "") -> tuple[Endpoint, ...]:
    """Return the ways to a member, best first; raises KubeconfigError. `client` is our own address, "" if unknown."""
    endpoint = _endpoint(cluster, secret)
    servers = usable_addresses(cluster.addresses, client)
    if cluster.addresses and not servers:
        raise KubeconfigError(
            f"no address in spec.kubernetesApiEndpoints.serverEndpoints is meant for {client}; "
            "add one whose clientCIDR holds it"
        )
    if not servers and not endpoint.server:
        raise KubeconfigError("spec.kubernetesApiEndpoints.serverEndpoints names no serverAddress; add one")
    return tuple(replace(endpoint, server=server.rstrip("/")) for server in servers) or (endpoint,)


def _endpoint(cluster: Cluster, secret: Obj) -> Endpoint:
    where = f"secret {secret['metadata'].get('namespace')}/{secret['metadata']['name']} of cluster {cluster.name}"
    data = secret.get("data") or {}
    key = cluster.credentials_key or KUBECONFIG_KEY
    bundle = _bytes(cluster.ca_bundle, "spec.kubernetesApiEndpoints.caBundle") if cluster.ca_bundle else None
    if data.get(key):
        text = decoded(data[key], where, key)
        endpoint = Kubeconfig.parse(text, source=where).endpoint(cluster.credentials_context)
        return endpoint if endpoint.ca or endpoint.insecure else replace(endpoint, ca=bundle)
    if data.get("token"):
        authority = _content(data, "ca.crt", where) or bundle
        if authority is None and not cluster.insecure:
            raise KubeconfigError(
                f"{where} has a token and no 'ca.crt', and the Cluster no caBundle; whom to trust must be said in one"
            )
        token = decoded(data["token"], where, "token").strip()
        trust = None if cluster.insecure else authority
        return Endpoint(
            server=cluster.server, ca=trust, insecure=cluster.insecure, token=token, proxy_url=_proxy(cluster)
        )
    if data.get("tls.crt") and data.get("tls.key"):
        insecure = annotations_of(secret).get(_SHIPPER_INSECURE_ANNOTATION, "").lower() in ("1", "t", "true")
        return Endpoint(
            server=cluster.server,
            ca=None if insecure else _content(data, "tls.ca", where) or bundle,
            insecure=insecure,
            client_certificate=_content(data, "tls.crt", where),
            client_key=_content(data, "tls.key", where),
        )
    raise KubeconfigError(f"{where} has no key {key!r}, nor 'token' with 'ca.crt', nor 'tls.crt' with 'tls.key'")


def _proxy(cluster: Cluster) -> str:
    if cluster.proxy_url and not cluster.proxy_url.startswith("http://"):
        raise KubeconfigError(f"annotation {PROXY_ANNOTATION}: only an http:// proxy is supported")
    return cluster.proxy_url


def secret_token(secret: Obj) -> str:
    """Return the token with which a Secret signs in, "" where it does so by other means or cannot be read."""
    try:
        return _endpoint(Cluster(name="", server="https://unknown"), secret).token
    except KubeconfigError:
        return ""


def encoded(content: bytes | str) -> str:
    """Return content as a Secret's data holds it."""
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()


def _content(data: Obj, key: str, where: str) -> bytes | None:
    return _bytes(data[key], f"{where}: its key {key!r}") if data.get(key) else None


def _bytes(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise KubeconfigError(f"{where} is not base64") from error


def decoded(text: str, where: str, key: str) -> str:
    """Return the text that a Secret's data hold under a key; `where` names the Secret in what KubeconfigError says."""
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise KubeconfigError(f"{where}: its key {key!r} is not base64 of text") from error
