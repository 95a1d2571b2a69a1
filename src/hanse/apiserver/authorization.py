"""Role-based access control: may this identity do that?

The evaluator reads roles and bindings from storage at the moment of asking; `system:masters` is never limited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from hanse.apiserver.core import Core
from hanse.apiserver.identity import Identity
from hanse.kube.manifest import Obj

_RBAC = "rbac.authorization.k8s.io"
_SERVICE_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked: a verb on a resource, or on a path that is none."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        """The resource as rules name it, with its subresource."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something is allowed, and by which binding."""

    allowed: bool
    reason: str = ""


def authorize(core: Core, identity: Identity, asked: Attributes) -> Decision:
    """Decide whether an identity may do something."""
    if identity.is_master:
        return Decision(allowed=True)
    for rule, reason in rules_for(core, identity, asked.namespace):
        if _allows(rule, asked):
            return Decision(allowed=True, reason=reason)
    return Decision(allowed=False)


def refusal(identity: Identity, asked: Attributes) -> str:
    """Say why a request is forbidden, in upstream's words."""
    user = f'User "{identity.user}"'
    if asked.path:
        return f'{user} cannot {asked.verb} path "{asked.path}"'
    told = f'{user} cannot {asked.verb} resource "{asked.full_resource}" in API group "{asked.group}"'
    return f'{told} in the namespace "{asked.namespace}"' if asked.namespace else f"{told} at the cluster scope"


def rules_for(core: Core, identity: Identity, namespace: str) -> Iterator[tuple[Obj, str]]:
    """Yield every rule that applies to an identity in a namespace, with the sentence that names its binding."""
    for record in core.storage.scan(f"{_RBAC}/clusterrolebindings"):
        binding = orjson.loads(record.value)
        if _binds(binding, identity, ""):
            for rule in _rules(core, binding, ""):
                yield rule, _told("ClusterRoleBinding", binding, identity)
    if not namespace:
        return
    for record in core.storage.scan(f"{_RBAC}/rolebindings", f"{namespace}/"):
        binding = orjson.loads(record.value)
        if _binds(binding, identity, namespace):
            for rule in _rules(core, binding, namespace):
                yield rule, _told("RoleBinding", binding, identity)


def _told(kind: str, binding: Obj, identity: Identity) -> str:
    metadata, role = binding["metadata"], binding["roleRef"]
    named = f"{metadata['name']}/{metadata['namespace']}" if "namespace" in metadata else metadata["name"]
    subject: Obj = next((one for one in binding.get("subjects") or [] if _is_subject(one, identity, "")), {})
    shown = f'{subject.get("kind", "User")} "{subject.get("name", identity.user)}"'
    return f'RBAC: allowed by {kind} "{named}" of {role["kind"]} "{role["name"]}" to {shown}'


def _binds(binding: Obj, identity: Identity, namespace: str) -> bool:
    return any(_is_subject(subject, identity, namespace) for subject in binding.get("subjects") or [])


def _is_subject(subject: Obj, identity: Identity, namespace: str) -> bool:
    match subject.get("kind"):
        case "User":
            return bool(subject["name"] == identity.user)
        case "Group":
            return subject["name"] in identity.all_groups()
        case "ServiceAccount":
            return identity.user == f"{_SERVICE_ACCOUNT}{subject.get('namespace') or namespace}:{subject['name']}"
    return False


def _rules(core: Core, binding: Obj, namespace: str) -> list[Obj]:
    role = binding["roleRef"]
    if role.get("kind") == "ClusterRole":
        record = core.storage.get(f"{_RBAC}/clusterroles", role["name"])
    else:
        record = core.storage.get(f"{_RBAC}/roles", f"{namespace}/{role['name']}")
    return (orjson.loads(record.value).get("rules") or []) if record else []


def _allows(rule: Obj, asked: Attributes) -> bool:
    if not _covers(rule.get("verbs"), asked.verb):
        return False
    if asked.path:
        return any(_path_matches(pattern, asked.path) for pattern in rule.get("nonResourceURLs") or [])
    names = rule.get("resourceNames") or []
    return (
        _covers(rule.get("apiGroups"), asked.group)
        and _covers_resource(rule.get("resources") or [], asked)
        and (not names or asked.name in names)
    )


def _covers(values: list[str] | None, wanted: str) -> bool:
    return values is not None and ("*" in values or wanted in values)


def _covers_resource(resources: list[str], asked: Attributes) -> bool:
    if "*" in resources or asked.full_resource in resources:
        return True
    return bool(asked.subresource) and f"*/{asked.subresource}" in resources


def _path_matches(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern[:-1]))
