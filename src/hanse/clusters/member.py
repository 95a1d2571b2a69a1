"""One member of the federation as the control plane holds it: a name and a way to reach it."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint, Kubeconfig, KubeconfigError
from hanse.kube.manifest import Obj, dig

KUBECONFIG_KEY = "kubeconfig"


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A joined cluster."""

    name: str
    client: Client


def endpoint_from_secret(secret: Obj, cluster: str) -> Endpoint:
    """Read how to reach a cluster from its Secret; raises KubeconfigError."""
    encoded = dig(secret, "data", KUBECONFIG_KEY)
    where = f"secret {secret['metadata'].get('namespace')}/{secret['metadata']['name']} of cluster {cluster}"
    if not encoded:
        raise KubeconfigError(f"{where} has no key {KUBECONFIG_KEY!r}")
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise KubeconfigError(f"{where}: its key {KUBECONFIG_KEY!r} is not base64 of text") from error
    return Kubeconfig.parse(text, source=where).endpoint()
