"""What Hanse's account may do in a cluster whose VitessClusters it runs, as manifests. Pure."""

from __future__ import annotations

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.api.planetscale.kinds import GROUP, VITESS_DOOR
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Account
from hanse.clusters.joining import owned_by_object
from hanse.kube.manifest import Obj
from hanse.pods.installing.rights import door_labels
from hanse.pods.installing.rules import rule
from hanse.vitess.operator.controllers import LAYERS

_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", *_READ, "patch", "update")
_STATUS = ("get", "patch", "update")


def _rules() -> list[Obj]:
    """Return the rights to exactly the kinds that the operator reads and writes."""
    ours = sorted({layer.parent.plural for layer in LAYERS} | {"vitessbackups"})
    groups: dict[str, set[str]] = {}
    for layer in LAYERS:
        for kind in layer.children:
            if kind.group != GROUP:
                groups.setdefault(kind.group, set()).add(kind.plural)
    return [
        rule([GROUP], ours, _WRITE),
        rule([GROUP], [f"{plural}/{part}" for plural in ours for part in ("status", "finalizers")], _STATUS),
        *(rule([group], sorted(plurals), _WRITE) for group, plurals in sorted(groups.items())),
        rule([""], ["events"], ["create", "patch"]),
    ]


def vitess_rights(account: Account, role: Obj) -> list[Obj]:
    """Return the rights of Hanse's account in a cluster; they go with `role`, its own."""
    name = f"{account.role}:{VITESS_DOOR}"
    metadata = {
        "name": name,
        "labels": door_labels(account.cluster, VITESS_DOOR),
        "ownerReferences": [owned_by_object(role, CLUSTER_ROLES)],
    }
    subject = {"kind": "ServiceAccount", "name": account.name, "namespace": SYSTEM_NAMESPACE}
    reference = {"apiGroup": CLUSTER_ROLES.group, "kind": CLUSTER_ROLES.kind, "name": name}
    return [
        {
            "apiVersion": CLUSTER_ROLES.api_version,
            "kind": CLUSTER_ROLES.kind,
            "metadata": metadata,
            "rules": _rules(),
        },
        {
            "apiVersion": CLUSTER_ROLE_BINDINGS.api_version,
            "kind": CLUSTER_ROLE_BINDINGS.kind,
            "metadata": metadata,
            "roleRef": reference,
            "subjects": [subject],
        },
    ]
