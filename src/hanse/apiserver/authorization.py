"""Role-based access control: may this identity do that?

The evaluator reads roles and bindings from storage at the moment of asking; `system:masters` is never limited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import orjson

from hanse.apiserver import status
from hanse.apiserver.core import Core
from hanse.apiserver.identity import Identity, service_account_user
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj

_RBAC = "rbac.authorization.k8s.io"
# Roles and bindings are read with every request of an ordinary user and change rarely.
_PARSED = 4096


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


def forbidden(identity: Identity, asked: Attributes) -> ApiError:
    """Return the refusal of a request that no rule allows."""
    told = refusal(identity, asked)
    if asked.path:
        return status.failure(403, "Forbidden", f"forbidden: {told}", {})
    subject = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    if asked.name:
        subject += f' "{asked.name}"'
    details = {"name": asked.name, "group": asked.group, "kind": asked.resource}
    return status.failure(
        403, "Forbidden", f"{subject} is forbidden: {told}", {name: value for name, value in details.items() if value}
    )


def rules_for(core: Core, identity: Identity, namespace: str) -> Iterator[tuple[Obj, str]]:
    """Yield every rule that applies to an identity in a namespace, with the sentence that names its binding."""
    for record in core.storage.scan(f"{_RBAC}/clusterrolebindings"):
        yield from _granted(core, _parsed(record.value), identity, "")
    if not namespace:
        return
    for record in core.storage.scan(f"{_RBAC}/rolebindings", f"{namespace}/"):
        yield from _granted(core, _parsed(record.value), identity, namespace)


def rules_of_role(core: Core, role: Obj, namespace: str) -> list[Obj] | None:
    """Return the rules of the role that a binding refers to; None where there is no such role."""
    if role.get("kind") == "ClusterRole":
        record = core.storage.get(f"{_RBAC}/clusterroles", str(role.get("name")))
    else:
        record = core.storage.get(f"{_RBAC}/roles", f"{namespace}/{role.get('name')}")
    return (_parsed(record.value).get("rules") or []) if record else None


@lru_cache(maxsize=_PARSED)
def _parsed(value: bytes) -> Obj:
    parsed: Obj = orjson.loads(value)
    return parsed


def _granted(core: Core, binding: Obj, identity: Identity, namespace: str) -> Iterator[tuple[Obj, str]]:
    subjects = binding.get("subjects") or []
    subject = next((one for one in subjects if _is_subject(one, identity, namespace)), None)
    if subject is None:
        return
    reason = _told(binding, subject, namespace)
    for rule in rules_of_role(core, binding["roleRef"], namespace) or ():
        yield rule, reason


def _told(binding: Obj, subject: Obj, namespace: str) -> str:
    role, name = binding["roleRef"], binding["metadata"]["name"]
    bound = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
    shown = str(subject["name"])
    if subject["kind"] == "ServiceAccount":
        shown = f"{shown}/{subject.get('namespace') or namespace}"
    return f'RBAC: allowed by {bound} of {role["kind"]} "{role["name"]}" to {subject["kind"]} "{shown}"'


def _is_subject(subject: Obj, identity: Identity, namespace: str) -> bool:
    match subject.get("kind"):
        case "User":
            return bool(subject["name"] == identity.user)
        case "Group":
            return subject["name"] in identity.all_groups()
        case "ServiceAccount":
            home = subject.get("namespace") or namespace
            return bool(home) and identity.user == service_account_user(home, subject["name"])
    return False


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
