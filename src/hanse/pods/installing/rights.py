"""The rights of Hanse's account in clusters that send pods and in those that run them, as manifests."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.api.admiralty.keys import PODS_DOOR
from hanse.api.clusters import CLUSTERS
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.clusters.access import VERB
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, MEMBER_LABEL, ROLE_BINDINGS, ROLES, Account
from hanse.clusters.joining import owned_by_object
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource
from hanse.pods.installing.rules import (
    CLIENT_AUTHORITY_RULES,
    NODE_LEASE_RULES,
    SOURCE_RULES,
    TARGET_LEASE_RULES,
    TARGET_RULES,
    rule,
)

# The group to which every author of a pod in a source belongs, as the federation's own RBAC sees them.
AUTHOR_GROUP = "pods.hanse.dev:{source}"
# On what was made for a door: which one, or that it is for the pods of other clusters.
DOOR_LABEL = "hanse.dev/door"
TARGET_SIDE = "pods-target"


def source_rights(account: Account, role: Obj) -> list[Obj]:
    """Return what Hanse's account may do in a cluster whose pods run elsewhere; it goes with `role`, its own."""
    name = f"{account.role}:pods-source"
    return [
        *_bound(account, role, name, SOURCE_RULES),
        *_bound(account, role, name, NODE_LEASE_RULES, "kube-node-lease"),
        *_bound(account, role, name, CLIENT_AUTHORITY_RULES, "kube-system"),
    ]


def target_rights(account: Account, role: Obj) -> list[Obj]:
    """Return what Hanse's account may do in a cluster in which others' pods run; it goes with `role`, its own."""
    name = f"{account.role}:pods-target"
    made = [
        *_bound(account, role, name, TARGET_RULES),
        *_bound(account, role, name, TARGET_LEASE_RULES, SYSTEM_NAMESPACE),
    ]
    return [labelled(each, account.cluster, TARGET_SIDE) for each in made]


def host_role(source: str) -> str:
    """Return the name of the ClusterRole of the host that says which clusters pods of a source may use."""
    return f"hanse:{source}:pods"


def host_rights(source: str, targets: Sequence[str], cluster: Obj) -> list[Obj]:
    """Return what lets pods of a source run in registered clusters; it goes with `cluster`, the source's own."""
    name = host_role(source)
    metadata = {
        "name": name,
        "labels": door_labels(source),
        "ownerReferences": [owned_by_object(cluster, CLUSTERS)],
    }
    group = {"apiGroup": CLUSTER_ROLES.group, "kind": "Group", "name": AUTHOR_GROUP.format(source=source)}
    used = rule([CLUSTERS.group], [CLUSTERS.plural], [VERB], sorted(targets))
    return [
        # A rule without names would be a right to every cluster.
        {**_of(CLUSTER_ROLES), "metadata": metadata, "rules": [used] if targets else []},
        {**_of(CLUSTER_ROLE_BINDINGS), "metadata": metadata, "roleRef": _ref(CLUSTER_ROLES, name), "subjects": [group]},
    ]


def door_labels(cluster: str, side: str = PODS_DOOR) -> dict[str, str]:
    """Return the labels of what was made for a door, by which it is found again."""
    return {MEMBER_LABEL: cluster, DOOR_LABEL: side}


def labelled(manifest: Obj, cluster: str, side: str = PODS_DOOR) -> Obj:
    """Return a manifest as one of those that were made for the door of a cluster."""
    return {**manifest, "metadata": {**manifest["metadata"], "labels": door_labels(cluster, side)}}


def _bound(account: Account, role: Obj, name: str, rules: Sequence[Obj], namespace: str = "") -> list[Obj]:
    kind, binding = (ROLES, ROLE_BINDINGS) if namespace else (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)
    metadata = {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "labels": door_labels(account.cluster),
        "ownerReferences": [owned_by_object(role, CLUSTER_ROLES)],
    }
    subject = {"kind": "ServiceAccount", "name": account.name, "namespace": SYSTEM_NAMESPACE}
    return [
        {**_of(kind), "metadata": metadata, "rules": [dict(each) for each in rules]},
        {**_of(binding), "metadata": metadata, "roleRef": _ref(kind, name), "subjects": [subject]},
    ]


def _of(resource: Resource) -> Obj:
    return {"apiVersion": resource.api_version, "kind": resource.kind}


def _ref(resource: Resource, name: str) -> Obj:
    return {"apiGroup": resource.group, "kind": resource.kind, "name": name}
