"""Who may send pods to a cluster, and what that lets them do there: manifests, pure.

A sender never makes a pod and never reads one but to find the pod of a chaperon of its own; the cluster's keeper makes
it under the cluster's own rules. Rights in a namespace are the whole namespace's: a namespace each for senders that do
not trust each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hanse.api.admiralty.kinds import CLUSTER_SOURCES, CLUSTER_SUMMARIES, GROUP, POD_CHAPERONS, SOURCES
from hanse.api.admiralty.names import joined
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS
from hanse.kube.manifest import Key, Obj, dig, is_deleting, key_of
from hanse.kube.resources import SERVICE_ACCOUNTS, Resource

SENDER_ROLE = "admiralty-source"
VIEWER_ROLE = "admiralty-cluster-summary-viewer"
# On what was made for senders, by which it is found again; and on bindings, for whom: KIND/NAMESPACE/NAME.
SENDER_LABEL = "pods.hanse.dev/sender"
SENDER_ANNOTATION = "pods.hanse.dev/sender"

_RBAC = CLUSTER_ROLES.group
_LONGEST = 253
_VIEWER_TAIL = "cluster-summary-viewer"
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", *_READ, "patch", "update"]


@dataclass(frozen=True, slots=True, order=True)
class Sender:
    """A Source by its namespace and name; a ClusterSource has no namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.resource.kind}/{self.namespace}/{self.name}"

    @property
    def resource(self) -> Resource:
        """The kind in which it is written."""
        return SOURCES if self.namespace else CLUSTER_SOURCES


def sender_named(text: str) -> Sender | None:
    """Return the sender that a binding was made for, None where it does not say."""
    kind, _, rest = text.partition("/")
    namespace, _, name = rest.partition("/")
    sender = Sender(namespace, name)
    return sender if name and sender.resource.kind == kind else None


def sender_of(source: Obj) -> Sender:
    """Return a Source or ClusterSource by its name."""
    return Sender(*key_of(source))


def account_of(source: Obj) -> Key | None:
    """Return the service account that a Source or ClusterSource names, None where it names none or a user."""
    spec = source.get("spec")
    if namespace := key_of(source).namespace:
        name = _word(dig(spec, "serviceAccountName"))
    else:
        namespace, name = _word(dig(spec, "serviceAccount", "namespace")), _word(dig(spec, "serviceAccount", "name"))
    return Key(namespace, name) if namespace and name else None


def bindings_of(source: Obj | None) -> list[Obj]:
    """Return the bindings that a sender shall have; none where it is going, gone, or names nobody."""
    if source is None or is_deleting(source):
        return []
    subjects = list(_subjects(source))
    if not subjects:
        return []
    sender = sender_of(source)
    viewing = _binding(CLUSTER_ROLE_BINDINGS, _viewer_name(sender), sender, VIEWER_ROLE, subjects)
    if sender.namespace:
        name = joined("admiralty-source", parts=(sender.name,), limit=_LONGEST)
        return [_binding(ROLE_BINDINGS, name, sender, SENDER_ROLE, subjects), viewing]
    name = joined("admiralty-cluster-source", parts=(sender.name,), limit=_LONGEST)
    return [_binding(CLUSTER_ROLE_BINDINGS, name, sender, SENDER_ROLE, subjects), viewing]


def account_manifest(key: Key) -> Obj:
    """Return the service account of a sender, for a cluster that has none of that name."""
    return {
        "apiVersion": SERVICE_ACCOUNTS.api_version,
        "kind": SERVICE_ACCOUNTS.kind,
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": {SENDER_LABEL: "true"}},
        "automountServiceAccountToken": False,
    }


def sender_roles() -> list[Obj]:
    """Return the two roles that senders are bound to."""
    return [_role(SENDER_ROLE, sender_rules()), _role(VIEWER_ROLE, viewer_rules())]


def sender_rules() -> list[Obj]:
    """Return what a sender may do in its namespace, or everywhere as a ClusterSource."""
    return [
        # The one pod of each placeholder, by its chaperon.
        _rule([GROUP], [POD_CHAPERONS.plural], _WRITE),
        # What goes with pods.
        _rule([""], ["configmaps", "persistentvolumeclaims", "secrets", "serviceaccounts", "services"], _WRITE),
        _rule(["networking.k8s.io"], ["ingresses"], _WRITE),
        # Whole Jobs.
        _rule(["batch"], ["jobs"], _WRITE),
        # kubectl logs, exec, attach and port-forward on placeholders.
        _rule([""], ["pods"], ["get", "list"]),
        _rule([""], ["pods/log"], ["get"]),
        _rule([""], ["pods/attach", "pods/exec", "pods/portforward"], ["create", "get"]),
    ]


def viewer_rules() -> list[Obj]:
    """Return what a sender may do in the whole cluster: see how much room there is."""
    return [_rule([GROUP], [CLUSTER_SUMMARIES.plural], _READ)]


def _subjects(source: Obj) -> Sequence[Obj]:
    account = account_of(source)
    user = _word(dig(source, "spec", "userName"))
    found: list[Obj] = []
    if account is not None:
        found.append({"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace})
    if user:
        found.append({"apiGroup": _RBAC, "kind": "User", "name": user})
    return found


def _viewer_name(sender: Sender) -> str:
    if sender.namespace:
        parts = (sender.namespace, sender.name)
        return joined("admiralty-source", parts=parts, limit=_LONGEST, tail=_VIEWER_TAIL)
    return joined("admiralty-cluster-source", parts=(sender.name,), limit=_LONGEST, tail=_VIEWER_TAIL)


def _binding(resource: Resource, name: str, sender: Sender, role: str, subjects: list[Obj]) -> Obj:
    metadata: Obj = {
        "name": name,
        "labels": {SENDER_LABEL: "true"},
        "annotations": {SENDER_ANNOTATION: str(sender)},
    }
    if resource.namespaced:
        metadata["namespace"] = sender.namespace
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": CLUSTER_ROLES.kind, "name": role},
        "subjects": subjects,
    }


def _role(name: str, rules: list[Obj]) -> Obj:
    metadata = {"name": name, "labels": {SENDER_LABEL: "true"}}
    return {"apiVersion": CLUSTER_ROLES.api_version, "kind": CLUSTER_ROLES.kind, "metadata": metadata, "rules": rules}


def _rule(groups: list[str], resources: list[str], verbs: list[str]) -> Obj:
    return {"apiGroups": groups, "resources": resources, "verbs": sorted(verbs)}


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
