"""The expressions of webhooks and policies: which variables they may use, and what each of those is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from hanse.apiserver.cel.literals import as_maps, as_types
from hanse.kube.cel.declared import DYNAMIC, Declarations, TypeName, type_name
from hanse.kube.cel.rule import CompileError, Rule, WrongType, compile_rule
from hanse.kube.manifest import Obj

_TEXT: TypeName = {"type_name": "string"}
_TEXTS: TypeName = {"type_name": "list", "params": [_TEXT]}
_TEXT_MAP: TypeName = {"type_name": "map", "params": [_TEXT, _TEXT]}
_TIME: TypeName = {"type_name": "timestamp"}
_NUMBER: TypeName = {"type_name": "int"}
_MESSAGES: dict[str, dict[str, TypeName]] = {
    "GroupVersionKind": dict.fromkeys(("group", "version", "kind"), _TEXT),
    "GroupVersionResource": dict.fromkeys(("group", "version", "resource"), _TEXT),
    "UserInfo": {"username": _TEXT, "uid": _TEXT, "groups": _TEXTS, "extra": DYNAMIC},
    "AdmissionRequest": {
        "kind": {"type_name": "GroupVersionKind"},
        "resource": {"type_name": "GroupVersionResource"},
        "subResource": _TEXT,
        "requestKind": {"type_name": "GroupVersionKind"},
        "requestResource": {"type_name": "GroupVersionResource"},
        "requestSubResource": _TEXT,
        "name": _TEXT,
        "namespace": _TEXT,
        "operation": _TEXT,
        "userInfo": {"type_name": "UserInfo"},
        "dryRun": {"type_name": "bool"},
        "options": DYNAMIC,
    },
    "NamespaceMetadata": {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), _TEXT),
        **dict.fromkeys(("labels", "annotations"), _TEXT_MAP),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), _NUMBER),
        "finalizers": _TEXTS,
    },
    "NamespaceSpec": {"finalizers": _TEXTS},
    "NamespaceStatus": {"phase": _TEXT, "conditions": DYNAMIC},
    "Namespace": {
        "metadata": {"type_name": "NamespaceMetadata"},
        "spec": {"type_name": "NamespaceSpec"},
        "status": {"type_name": "NamespaceStatus"},
    },
}

JSON_PATCH, APPLY_CONFIGURATION = "LIST<JSONPatch>", "Object"
_UPSTREAM = {"NULL": "null_type", JSON_PATCH: "list(JSONPatch)", APPLY_CONFIGURATION: "Object"}
_PATCH_FIELDS: dict[str, TypeName] = {**dict.fromkeys(("op", "path", "from"), _TEXT), "value": DYNAMIC}


@dataclass(frozen=True, slots=True)
class Scope:
    """Which variables an expression may use beside object, oldObject, request and namespaceObject."""

    params: bool = False
    authorizer: bool = True
    variables: tuple[tuple[str, str], ...] | None = None
    """Names and types of a policy's own variables; None where it has none."""


@lru_cache(maxsize=1024)
def expression(source: str, gives: tuple[str, ...], scope: Scope) -> Rule | CompileError:
    """Compile an expression of a webhook or policy; an error is a value, since it is met again with every request."""
    names: dict[str, TypeName] = {
        "object": DYNAMIC,
        "oldObject": DYNAMIC,
        "request": {"type_name": "AdmissionRequest"},
        "namespaceObject": {"type_name": "Namespace"},
    }
    typed = as_types(source)
    messages = {**_MESSAGES, "JSONPatch": _PATCH_FIELDS}
    messages |= {name: dict.fromkeys(sorted(fields), DYNAMIC) for name, fields in typed.fields.items()}
    if scope.params:
        names["params"] = DYNAMIC
    if scope.authorizer:
        names |= {"authorizer": DYNAMIC, "authorizer.requestResource": DYNAMIC}
    if scope.variables is not None:
        names["variables"] = {"type_name": "Variables"}
        messages["Variables"] = {name: _variable_type(kind) for name, kind in scope.variables}
    try:
        rule = compile_rule(typed.source, Declarations(names, messages), gives=gives, evaluated=as_maps(source))
    except WrongType as error:
        kinds = [_UPSTREAM.get(one, one.lower()) for one in gives]
        wanted = kinds[0] if len(kinds) == 1 else f"one of [{' '.join(kinds)}]"
        return CompileError(f"must evaluate to {wanted} but got {_as_written(error.found)}")
    except CompileError as error:
        return CompileError(_as_given(str(error), typed.source, source))
    return replace(rule, source=source)


def _variable_type(kind: str) -> TypeName:
    """Return the type of a policy's variable, which may be one that only mutating policies have."""
    if kind == "Object":
        return {"type_name": kind}
    return {"type_name": "list", "params": [{"type_name": "JSONPatch"}]} if kind == JSON_PATCH else type_name(kind)


def _as_written(kind: str) -> str:
    return re.sub(r"\bObject_\w+", lambda found: found.group().replace("_", "."), kind)


def _as_given(message: str, checked: str, source: str) -> str:
    """Return a compiler's message with the lines that people wrote in the place of those that were checked."""
    for ours, theirs in zip(checked.split("\n"), source.split("\n"), strict=True):
        message = message.replace(f" | {ours}\n", f" | {theirs}\n")
    return _as_written(message)


def scope_of(spec: Obj, *, authorizer: bool = True, before: int | None = None) -> Scope:
    """Return what a policy's expressions may use; a variable may use those `before` it."""
    variables: list[Obj] = spec.get("variables") or []
    params = bool(spec.get("paramKind"))
    if not variables:
        return Scope(params, authorizer)
    known: tuple[tuple[str, str], ...] = ()
    for variable in variables[:before]:
        name = str(variable.get("name") or "")
        found = expression(str(variable.get("expression") or ""), (), Scope(params, variables=known))
        if name.isidentifier() and name.isascii():
            known = (*known, (name, found.kind if isinstance(found, Rule) else "DYN"))
    return Scope(params, authorizer, known)


def compile_error(source: str, gives: tuple[str, ...], scope: Scope) -> str:
    """Return what is wrong with an expression; "" where it compiles. Raises EngineMissing."""
    found = expression(source, gives, scope)
    return str(found) if isinstance(found, CompileError) else ""
