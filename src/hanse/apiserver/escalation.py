"""Nobody grants more than they hold: what stands between the right to write roles and every other right.

Writing a role needs all of its rules, or the verb `escalate`; binding one needs all of its rules, or the verb `bind`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from hanse.apiserver import status
from hanse.apiserver.authorization import Attributes, authorize, rules_for, rules_of_role
from hanse.apiserver.core import Call
from hanse.apiserver.registry import Served
from hanse.kube.manifest import Obj

_RBAC = "rbac.authorization.k8s.io"
_ROLES, _BINDINGS = ("clusterroles", "roles"), ("clusterrolebindings", "rolebindings")
_EVERYTHING: list[Obj] = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
_NAMES = {
    "apiGroups": "APIGroups",
    "resources": "Resources",
    "nonResourceURLs": "NonResourceURLs",
    "resourceNames": "ResourceNames",
    "verbs": "Verbs",
}


def check_escalation(call: Call, kind: Served, new: Obj, old: Obj | None) -> None:
    """Refuse a role or binding that would give away what its writer does not hold."""
    resource = kind.resource
    if resource.group != _RBAC or call.identity.is_master or (old is not None and _only_lifecycle(new, old)):
        return
    if resource.plural in _ROLES:
        _check_role(call, kind, new, old)
    elif resource.plural in _BINDINGS:
        _check_binding(call, kind, new)


def uncovered(owned: list[Obj], wanted: list[Obj]) -> list[Obj]:
    """Return what of the wanted rules the owned ones do not give, in pieces of one resource, or URL, and verb."""
    return [piece for rule in wanted for piece in _pieces(rule) if not any(_covers(one, piece) for one in owned)]


def _check_role(call: Call, kind: Served, new: Obj, old: Obj | None) -> None:
    resource = kind.resource
    asked = Attributes("escalate", _RBAC, resource.plural, "", call.namespace, call.path.name)
    if authorize(call.core, call.identity, asked).allowed:
        return
    _confirm(call, kind, new, new.get("rules") or [])
    if _aggregates(new) or (old is not None and _aggregates(old)):
        held = [rule for rule, _ in rules_for(call.core, call.identity, call.namespace)]
        if uncovered(held, _EVERYTHING):
            told = "must have cluster-admin privileges to use the aggregationRule"
            raise status.forbidden(resource, new["metadata"].get("name", ""), told)


def _check_binding(call: Call, kind: Served, new: Obj) -> None:
    role: Obj = new.get("roleRef") or {}
    plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(str(role.get("kind")), "")
    if not plural or not role.get("name"):
        # No role is named: validation says what is wrong with that.
        return
    asked = Attributes("bind", str(role.get("apiGroup") or _RBAC), plural, "", call.namespace, str(role["name"]))
    if authorize(call.core, call.identity, asked).allowed:
        return
    rules = rules_of_role(call.core, role, call.namespace)
    if rules is None:
        raise status.not_found(kind.resource, str(role["name"]))
    _confirm(call, kind, new, rules)


def _confirm(call: Call, kind: Served, new: Obj, rules: list[Obj]) -> None:
    held = [rule for rule, _ in rules_for(call.core, call.identity, call.namespace)]
    missing = uncovered(held, rules)
    if not missing:
        return
    groups = " ".join(f'"{one}"' for one in call.identity.all_groups())
    shown = "\n".join(sorted({_shown(rule) for rule in _compacted(missing)}))
    told = (
        f'user "{call.identity.user}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently '
        f"held:\n{shown}"
    )
    raise status.forbidden(kind.resource, new["metadata"].get("name", ""), told)


def _aggregates(role: Obj) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _only_lifecycle(new: Obj, old: Obj) -> bool:
    """Tell whether an update changes nothing but what garbage collection needs to change."""
    skipped = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")

    def rest(obj: Obj) -> Obj:
        return {**obj, "metadata": {name: value for name, value in obj["metadata"].items() if name not in skipped}}

    return rest(new) == rest(old)


def _pieces(rule: Obj) -> Iterator[Obj]:
    groups, resources, verbs = rule.get("apiGroups") or (), rule.get("resources") or (), rule.get("verbs") or ()
    for group, resource, verb in product(groups, resources, verbs):
        piece = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
        names = rule.get("resourceNames") or ()
        yield from ({**piece, "resourceNames": [name]} for name in names)
        if not names:
            yield piece
    for url, verb in product(rule.get("nonResourceURLs") or (), verbs):
        yield {"nonResourceURLs": [url], "verbs": [verb]}


def _covers(owned: Obj, piece: Obj) -> bool:
    if not _has(owned.get("verbs"), piece["verbs"][0]):
        return False
    if "nonResourceURLs" in piece:
        return any(_url_covers(one, piece["nonResourceURLs"][0]) for one in owned.get("nonResourceURLs") or ())
    names = owned.get("resourceNames") or []
    named = piece.get("resourceNames")
    return (
        _has(owned.get("apiGroups"), piece["apiGroups"][0])
        and _resource_covers(owned.get("resources") or [], piece["resources"][0])
        and (not names or (named is not None and named[0] in names))
    )


def _has(values: list[str] | None, wanted: str) -> bool:
    return values is not None and ("*" in values or wanted in values)


def _resource_covers(owned: list[str], resource: str) -> bool:
    _, slash, part = resource.partition("/")
    return _has(owned, resource) or (bool(slash) and f"*/{part}" in owned)


def _url_covers(owned: str, url: str) -> bool:
    return owned == url or (owned.endswith("*") and url.startswith(owned.rstrip("*")))


def _compacted(pieces: list[Obj]) -> list[Obj]:
    """Put the verbs of each resource together again; URLs stay apart."""
    merged: dict[tuple[str, str, str], Obj] = {}
    apart = []
    for piece in pieces:
        if "nonResourceURLs" in piece:
            apart.append(piece)
            continue
        key = (piece["apiGroups"][0], piece["resources"][0], str(piece.get("resourceNames")))
        if key in merged:
            merged[key]["verbs"] += piece["verbs"]
        else:
            merged[key] = {**piece, "verbs": list(piece["verbs"])}
    return [*apart, *merged.values()]


def _shown(rule: Obj) -> str:
    parts = [
        f"{shown}:[" + " ".join(f'"{one}"' for one in rule[name]) + "]"
        for name, shown in _NAMES.items()
        if rule.get(name)
    ]
    return "{" + ", ".join(parts) + "}"
