"""What Hanse's account may do in a cluster whose lambda controllers it runs, as manifests. Pure.

RBAC cannot know what a controller will name one day. So whoever opens the door names the kinds of parents and children,
and the namespaces whose Secrets and ConfigMaps hooks may read; what comes later is added by ClusterRoles with a label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hanse.api.metacontroller.kinds import (
    COMPOSITE_CONTROLLERS,
    COMPOSITES_DOOR,
    CONTROLLER_REVISIONS,
    DECORATOR_CONTROLLERS,
    GROUP,
    MAP_CONTROLLERS,
)
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, Account
from hanse.clusters.joining import owned_by_object
from hanse.kube.manifest import Obj
from hanse.kube.resources import CRDS, Resource
from hanse.pods.installing.rights import door_labels
from hanse.pods.installing.rules import rule

# On a ClusterRole of a cluster: what it allows, lambda controllers of that cluster may do.
RIGHTS_LABEL = "hanse.dev/composites"
RIGHTS_VALUE = "rights"

_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", *_READ, "patch", "update")
_CONTROLLERS = [kind.plural for kind in (COMPOSITE_CONTROLLERS, DECORATOR_CONTROLLERS, MAP_CONTROLLERS)]
_OWN_RULES: tuple[Obj, ...] = (
    rule([GROUP], _CONTROLLERS, _READ),
    rule([GROUP], [f"{plural}/status" for plural in _CONTROLLERS], ["patch", "update"]),
    # Revisions of parents, while a rolling update is under way; their owners may be kept from going before them.
    rule([GROUP], [CONTROLLER_REVISIONS.plural], _WRITE),
    rule([""], ["events"], ["create", "patch"]),
    # Whose the kinds are: Hanse's, or a Metacontroller's that is left alone.
    rule([CRDS.group], [CRDS.plural], ["get"], [COMPOSITE_CONTROLLERS.group_resource]),
)
_HOOK_RULES: tuple[Obj, ...] = (
    # Credentials are read when a hook is opened, code is followed while it is.
    rule([""], ["secrets"], ["get"]),
    rule([""], ["configmaps"], _READ),
)


@dataclass(frozen=True, slots=True)
class NamedKind:
    """A kind as people name it: `deployments.apps`, `pods`."""

    plural: str
    group: str = ""

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def parse_kind(word: str) -> NamedKind:
    """Read `deployments.apps`; raises ValueError for what names no kind, or every kind."""
    plural, _, group = word.partition(".")
    if not plural or not word.replace(".", "").replace("-", "").isalnum() or word != word.lower():
        raise ValueError(f"{word!r} names no kind; write its plural and its group, such as deployments.apps or pods")
    return NamedKind(plural, group)


def composite_rights(
    account: Account, role: Obj, kinds: Sequence[NamedKind], hook_namespaces: Sequence[str]
) -> list[Obj]:
    """Return the rights of Hanse's account in a cluster; they go with `role`, its own."""
    rights = _Rights(account, role)
    name = f"{account.role}:composites"
    return [
        *rights.bound(name, {"rules": list(_OWN_RULES)}),
        *rights.bound(
            f"{name}-kinds",
            {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {RIGHTS_LABEL: RIGHTS_VALUE}}]}},
        ),
        rights.role(CLUSTER_ROLES, f"{name}-named", {"rules": _kind_rules(kinds)}, {RIGHTS_LABEL: RIGHTS_VALUE}),
        *(each for place in hook_namespaces for each in rights.bound(name, {"rules": list(_HOOK_RULES)}, place)),
    ]


def _kind_rules(kinds: Sequence[NamedKind]) -> list[Obj]:
    """Return the rights to whole kinds: read, write, and report the status of; owners may be kept from going."""
    groups: dict[str, list[str]] = {}
    for kind in sorted(set(kinds), key=str):
        groups.setdefault(kind.group, []).append(kind.plural)
    found = []
    for group, plurals in groups.items():
        found += [
            rule([group], plurals, _WRITE),
            rule([group], [f"{plural}/status" for plural in plurals], ["get", "patch", "update"]),
            rule([group], [f"{plural}/finalizers" for plural in plurals], ["update"]),
        ]
    return found


class _Rights:
    def __init__(self, account: Account, role: Obj) -> None:
        self._account = account
        self._owner = owned_by_object(role, CLUSTER_ROLES)

    def bound(self, name: str, content: Obj, namespace: str = "") -> list[Obj]:
        kind, binding = (ROLES, ROLE_BINDINGS) if namespace else (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)
        subject = {"kind": "ServiceAccount", "name": self._account.name, "namespace": SYSTEM_NAMESPACE}
        reference = {"apiGroup": kind.group, "kind": kind.kind, "name": name}
        return [
            self.role(kind, name, content, namespace=namespace),
            self.role(binding, name, {"roleRef": reference, "subjects": [subject]}, namespace=namespace),
        ]

    def role(
        self, kind: Resource, name: str, content: Obj, labels: dict[str, str] | None = None, namespace: str = ""
    ) -> Obj:
        metadata: Obj = {
            "name": name,
            "labels": {**door_labels(self._account.cluster, COMPOSITES_DOOR), **(labels or {})},
            "ownerReferences": [self._owner],
        }
        if namespace:
            metadata["namespace"] = namespace
        return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **content}
