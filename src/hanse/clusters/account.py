"""Who Hanse is inside a member: a service account that may do what the federated kinds ask for, and no more.

Everything hangs on one ClusterRole: whoever deletes it has removed the rest, by the member's own garbage collector.
That is how a member is left clean by somebody whose rights end with the first thing that goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.kube.manifest import Obj
from hanse.kube.resources import ENDPOINT_SLICES, NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS, Resource

# On the host's Secret: the member's service account whose token it holds, NAMESPACE/NAME.
SERVICE_ACCOUNT_ANNOTATION = "hanse.dev/service-account"
# On what is made in a member: the uid of the federation that made it.
FEDERATION_ANNOTATION = "hanse.dev/federation"
# On what is made in a member: the name under which it has joined.
MEMBER_LABEL = "hanse.dev/member"

_RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES = Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
ROLES = Resource(_RBAC, "v1", "roles", "Role")
ROLE_BINDINGS = Resource(_RBAC, "v1", "rolebindings", "RoleBinding")

RESOURCE_OF = {
    each.kind: each
    for each in (NAMESPACES, SERVICE_ACCOUNTS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS)
}

_WRITE = ["create", "delete", "get", "list", "patch", "update", "watch"]
_READ = ["get", "list", "watch"]


@dataclass(frozen=True, slots=True)
class Account:
    """The names of what Hanse has in the member that joined as `cluster`."""

    cluster: str

    @property
    def name(self) -> str:
        """The service account."""
        return f"hanse-{self.cluster}"

    @property
    def role(self) -> str:
        """The roles and their bindings."""
        return f"hanse:{self.cluster}"

    @property
    def path(self) -> str:
        """The service account with its namespace."""
        return f"{SYSTEM_NAMESPACE}/{self.name}"


def account_manifests(account: Account, federation: str, kinds: Iterable[Resource]) -> list[Obj]:
    """Return what is made in a member, the ClusterRole first: the others will name it as their owner."""
    subject = {"kind": "ServiceAccount", "name": account.name, "namespace": SYSTEM_NAMESPACE}

    def made(resource: Resource, name: str, namespace: str = "", **content: object) -> Obj:
        metadata: Obj = {"name": name}
        if namespace:
            metadata["namespace"] = namespace
        metadata |= {"labels": {MEMBER_LABEL: account.cluster}, "annotations": {FEDERATION_ANNOTATION: federation}}
        return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **content}

    def bound(kind: str) -> Obj:
        role = {"apiGroup": _RBAC, "kind": kind, "name": account.role}
        return {"roleRef": role, "subjects": [subject]}

    return [
        made(CLUSTER_ROLES, account.role, rules=cluster_rules(account, kinds)),
        made(CLUSTER_ROLE_BINDINGS, account.role, **bound("ClusterRole")),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE, "labels": {MEMBER_LABEL: ""}}},
        made(SERVICE_ACCOUNTS, account.name, SYSTEM_NAMESPACE, automountServiceAccountToken=False),
        made(ROLES, account.role, SYSTEM_NAMESPACE, rules=[_renew_own_token(account)]),
        made(ROLE_BINDINGS, account.role, SYSTEM_NAMESPACE, **bound("Role")),
    ]


def cluster_rules(account: Account, kinds: Iterable[Resource]) -> list[Obj]:
    """Return what Hanse may do in the whole member, as RBAC rules."""
    written: dict[str, set[str]] = {}
    for kind in kinds:
        written.setdefault(kind.group, set()).add(kind.plural)
    read = {each.plural for each in (NODES, PODS)} - written.get("", set())
    rules: list[Obj] = [_rule([group], sorted(plurals), _WRITE) for group, plurals in sorted(written.items())]
    if read:
        rules.append(_rule([""], sorted(read), _READ))
    if PODS.plural in read:
        # A rollout leads clients to pods by a label of theirs. RBAC knows no smaller right than to change the pod.
        rules.append(_rule([""], [PODS.plural], ["patch"]))
    # Clients are led to clusters whose Services have endpoints that are ready.
    rules.append(_rule([ENDPOINT_SLICES.group], [ENDPOINT_SLICES.plural], _READ))
    # Leaving is one request: it takes away the right to make a second one.
    rules.append(_rule([_RBAC], ["clusterroles"], ["delete", "get"], names=[account.role]))
    rules.append({"nonResourceURLs": ["/readyz", "/version", "/api", "/api/*", "/apis", "/apis/*"], "verbs": ["get"]})
    return rules


def _renew_own_token(account: Account) -> Obj:
    return _rule([""], ["serviceaccounts/token"], ["create"], names=[account.name])


def _rule(groups: Sequence[str], resources: Sequence[str], verbs: Sequence[str], names: Sequence[str] = ()) -> Obj:
    rule: Obj = {"apiGroups": list(groups), "resources": list(resources), "verbs": list(verbs)}
    return {**rule, "resourceNames": list(names)} if names else rule
