"""Rules of the variables that a container gets, and of the fields of its pod that it may look at."""

from __future__ import annotations

import re
from typing import Any

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.status import FieldProblem, invalid_value, required_value, unsupported_value
from hanse.kube.manifest import Obj
from hanse.kube.selectors import qualified_name_problems

_VARIABLE = re.compile(r"[ -<>-~]+")
_VARIABLE_RULE = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ONE_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_ONE_FIELD = "may not have more than one field specified at a time"
_IN_VARIABLES = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
IN_FILES = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_READABLE = {*_IN_VARIABLES, *IN_FILES, "spec.restartPolicy", "spec.schedulerName", "spec.host", "status.phase"}
_KEYED = re.compile(r"(metadata\.(?:labels|annotations))\['(.*)'\]")
_AMOUNTS = tuple(f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory"))
_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


def environment_problems(container: Obj, field: str) -> list[FieldProblem]:
    """Check a container's variables."""
    problems = []
    for place, variable in enumerate(container.get("env") or ()):
        if isinstance(variable, dict):
            problems += _variable(variable, f"{field}.env[{place}]")
    for place, source in enumerate(container.get("envFrom") or ()):
        if isinstance(source, dict):
            problems += _source_of_many(source, f"{field}.envFrom", place)
    return problems


def _variable(variable: Obj, field: str) -> list[FieldProblem]:
    name = str(variable.get("name") or "")
    problems = [] if name else [required_value(f"{field}.name")]
    if name and not _VARIABLE.fullmatch(name):
        problems.append(invalid_value(f"{field}.name", name, _VARIABLE_RULE))
    source = variable.get("valueFrom")
    if not isinstance(source, dict):
        return problems
    at = f"{field}.valueFrom"
    given = [one for one in _SOURCES if isinstance(source.get(one), dict)]
    for one in given:
        problems += _value_source(one, source[one], f"{at}.{one}")
    if not given:
        problems.append(invalid_value(at, "", _ONE_SOURCE))
    elif variable.get("value"):
        problems.append(invalid_value(at, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        problems.append(invalid_value(at, "", _ONE_FIELD))
    return problems


def _value_source(kind: str, source: Obj, field: str) -> list[FieldProblem]:
    match kind:
        case "fieldRef":
            return field_path_problems(source, field, _IN_VARIABLES)
        case "resourceFieldRef":
            return amount_problems(source, field)
        case "configMapKeyRef" | "secretKeyRef":
            return field_rules.named(f"{field}.name", source.get("name")) + _key(source, field)
    return []


def _key(source: Obj, field: str) -> list[FieldProblem]:
    key = str(source.get("key") or "")
    if not key:
        return [required_value(f"{field}.key")]
    return [] if _KEY.fullmatch(key) else [invalid_value(f"{field}.key", key, _KEY_RULE)]


def field_path_problems(source: Obj, field: str, allowed: tuple[str, ...]) -> list[FieldProblem]:
    """Check a reference to one of the pod's own fields."""
    path, at = str(source.get("fieldPath") or ""), f"{field}.fieldPath"
    if not path:
        return [required_value(at)]
    keyed = _KEYED.fullmatch(path)
    if keyed:
        key = keyed[2].lower() if keyed[1].endswith("annotations") else keyed[2]
        return [invalid_value(at, path, told) for told in qualified_name_problems(key)]
    if path not in _READABLE:
        return [invalid_value(at, path, f"error converting fieldPath: field label not supported: {path}")]
    return [] if path in allowed else [unsupported_value(at, path, sorted(allowed))]


def amount_problems(source: Obj, field: str) -> list[FieldProblem]:
    """Check a reference to a container's limits or requests."""
    resource = str(source.get("resource") or "")
    if not resource:
        return [required_value(f"{field}.resource")]
    if resource in _AMOUNTS or resource.startswith(("limits.hugepages-", "requests.hugepages-")):
        return []
    return [unsupported_value(f"{field}.resource", resource, _AMOUNTS)]


def _source_of_many(source: Obj, field: str, place: int) -> list[FieldProblem]:
    problems = []
    prefix: Any = source.get("prefix")
    if prefix and not _VARIABLE.fullmatch(prefix):
        problems.append(invalid_value(f"{field}[{place}].prefix", prefix, _VARIABLE_RULE))
    given = [one for one in ("configMapRef", "secretRef") if isinstance(source.get(one), dict)]
    for one in given:
        name, at = source[one].get("name"), f"{field}[{place}].{one}.name"
        problems += field_rules.named(at, name) if name else [required_value(at)]
    if not given:
        problems.append(invalid_value(field, "", "must specify one of: `configMapRef` or `secretRef`"))
    elif len(given) > 1:
        problems.append(invalid_value(field, "", _ONE_FIELD))
    return problems
