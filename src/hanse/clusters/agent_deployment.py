"""What a cluster that fetches its work has inside: the agent's account, its kubeconfig of the host, and its pod.

Written for `kubectl apply`, by somebody who may do that there; Hanse itself never signs in.
"""

from __future__ import annotations

from collections.abc import Iterable

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.clusters.account import MEMBER_LABEL, ROLE_BINDINGS, ROLES, Account, account_manifests
from hanse.clusters.credentials import KUBECONFIG_KEY, encoded
from hanse.clusters.host_credentials import AGENT_SECRET
from hanse.kube.manifest import Obj
from hanse.kube.resources import DEPLOYMENTS, SECRETS, Resource

_AGENT = "hanse-agent"


def agent_deployment_manifests(
    name: str, federation: str, kinds: Iterable[Resource], kubeconfig: str, image: str
) -> list[Obj]:
    """Return everything that runs an agent in a cluster, in an order in which it can be applied."""
    account = Account(name)
    labels = {MEMBER_LABEL: name}
    metadata = {"namespace": SYSTEM_NAMESPACE, "labels": labels}
    secret = {
        "apiVersion": "v1",
        "kind": SECRETS.kind,
        "metadata": {"name": AGENT_SECRET.name, **metadata},
        "type": "Opaque",
        "data": {KUBECONFIG_KEY: encoded(kubeconfig)},
    }
    own_secret = {
        "apiGroups": [""],
        "resources": [SECRETS.plural],
        "resourceNames": [AGENT_SECRET.name],
        "verbs": ["get", "patch"],
    }
    role = {
        "apiVersion": ROLES.api_version,
        "kind": ROLES.kind,
        "metadata": {"name": _AGENT, **metadata},
        "rules": [own_secret],
    }
    binding = {
        "apiVersion": ROLE_BINDINGS.api_version,
        "kind": ROLE_BINDINGS.kind,
        "metadata": {"name": _AGENT, **metadata},
        "roleRef": {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": _AGENT},
        "subjects": [{"kind": "ServiceAccount", "name": account.name, "namespace": SYSTEM_NAMESPACE}],
    }
    return [*account_manifests(account, federation, kinds), secret, role, binding, _deployment(name, account, image)]


def _deployment(name: str, account: Account, image: str) -> Obj:
    labels = {"app.kubernetes.io/name": _AGENT, MEMBER_LABEL: name}
    container = {
        "name": "agent",
        "image": image,
        "args": ["agent"],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    return {
        "apiVersion": DEPLOYMENTS.api_version,
        "kind": DEPLOYMENTS.kind,
        "metadata": {"name": _AGENT, "namespace": SYSTEM_NAMESPACE, "labels": labels},
        "spec": {
            # Two may run at a time during an update; the Lease lets one of them act.
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": account.name,
                    "automountServiceAccountToken": True,
                    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                    "containers": [container],
                },
            },
        },
    }
