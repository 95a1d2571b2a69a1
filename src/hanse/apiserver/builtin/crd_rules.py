"""CustomResourceDefinitions: defaults, rules, and the approval that *.k8s.io groups need."""

from __future__ import annotations

from typing import Any

from hanse.apiserver.builtin.crd_schemas import schema_problems
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.cel.definition_checks import rule_problems
from hanse.apiserver.status import FieldProblem, invalid_value, required_value
from hanse.kube.manifest import Obj, dig
from hanse.kube.names import name_problems

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
APPROVAL = "api-approved.kubernetes.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_PROTECTED = ("k8s.io", "kubernetes.io")


def defaults(obj: Obj) -> None:
    """Fill in a definition."""
    spec = obj.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = str(names.get("kind") or "")
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {}).setdefault("strategy", "None")


def prepare_create(obj: Obj) -> None:
    """Begin without conditions; the versions that may be stored are told from the start."""
    versions = dig(obj, "spec", "versions", default=[])
    stored = [one.get("name") for one in versions if isinstance(one, dict) and one.get("storage")]
    obj["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}


def prepare_update(new: Obj, old: Obj) -> None:
    """Remember every version that was ever the stored one."""
    told = new.setdefault("status", {})
    stored = list(told.get("storedVersions") or dig(old, "status", "storedVersions", default=[]))
    for version in dig(new, "spec", "versions", default=[]):
        if version.get("storage") and version.get("name") not in stored:
            stored.append(version.get("name"))
    new["status"] = {**told, "storedVersions": stored}


def validate(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    """Check a definition."""
    spec = obj.get("spec") or {}
    names = spec.get("names") or {}
    group, plural = str(spec.get("group") or ""), str(names.get("plural") or "")
    problems = []
    expected = f"{plural}.{group}"
    if obj["metadata"].get("name") != expected:
        told = 'must be spec.names.plural+"."+spec.group'
        problems.append(invalid_value("metadata.name", obj["metadata"].get("name"), told))
    problems += _approval_problems(obj, group, old)
    if not group:
        problems.append(required_value("spec.group"))
    elif len(group.split(".")) < 2:
        problems.append(invalid_value("spec.group", group, "should be a domain with at least one dot"))
    problems += _name_problems(names)
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        told = (
            "Required value"
            if not spec.get("scope")
            else (f'Unsupported value: "{spec.get("scope")}": supported values: "Cluster", "Namespaced"')
        )
        reason = "FieldValueRequired" if not spec.get("scope") else "FieldValueNotSupported"
        problems.append(FieldProblem("spec.scope", reason, told))
    problems += _version_problems(spec, (old or {}).get("spec") or {})
    if old is not None and _is_established(old):
        problems += [
            invalid_value(f"spec.{'.'.join(path)}", dig(spec, *path), "field is immutable")
            for path in (("group",), ("scope",), ("names", "plural"), ("names", "kind"))
            if dig(spec, *path) != dig(old["spec"], *path)
        ]
    return problems


def _is_established(obj: Obj) -> bool:
    conditions = dig(obj, "status", "conditions", default=[])
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)


def _approval_problems(obj: Obj, group: str, old: Obj | None) -> list[FieldProblem]:
    protected = any(group == one or group.endswith(f".{one}") for one in _PROTECTED)
    if not protected or old is not None:
        return []
    value = dig(obj, "metadata", "annotations", default={}).get(APPROVAL, "")
    if value.startswith(("unapproved", "http://", "https://")):
        return []
    if not value:
        told = (
            'protected groups must have approval annotation "api-approved.kubernetes.io", '
            "see https://github.com/kubernetes/enhancements/pull/1111"
        )
        return [required_value(f"metadata.annotations[{APPROVAL}]", told)]
    told = (
        f'protected groups must have approval annotation "{APPROVAL}" with either a URL or a reason starting with '
        '"unapproved", see https://github.com/kubernetes/enhancements/pull/1111'
    )
    return [invalid_value(f"metadata.annotations[{APPROVAL}]", value, told)]


def _name_problems(names: Obj) -> list[FieldProblem]:
    problems = []
    for name in ("plural", "singular", "kind", "listKind"):
        value = str(names.get(name) or "")
        if not value:
            problems.append(required_value(f"spec.names.{name}"))
        else:
            told = name_problems(value.lower() if name in ("kind", "listKind") else value, "service")
            problems += [invalid_value(f"spec.names.{name}", value, one) for one in told]
    return problems


def _version_problems(spec: Obj, before: Obj) -> list[FieldProblem]:
    versions: list[Any] = spec.get("versions") or []
    accepted = [dig(version, "schema", "openAPIV3Schema") for version in before.get("versions") or ()]
    problems = []
    if not versions:
        problems.append(required_value("spec.versions"))
    stored = [one for one in versions if one.get("storage")]
    if versions and len(stored) != 1:
        told = "must have exactly one version marked as storage version"
        problems.append(invalid_value("spec.versions", versions, told))
    problems += _column_problems(versions)
    schemas = [dig(version, "schema", "openAPIV3Schema") for version in versions]
    # Upstream keeps a schema that all versions share in one place, and names that place.
    shared = all(schema == schemas[0] for schema in schemas)
    for place, schema in enumerate(schemas[:1] if shared else schemas):
        field = f"spec.{'validation' if shared and schema is not None else f'versions[{place}].schema'}.openAPIV3Schema"
        settled = schema in accepted
        problems += [required_value(field)] if schema is None else _schema_problems(schema, field, settled=settled)
    return problems


def _column_problems(versions: list[Any]) -> list[FieldProblem]:
    listed = [version.get("additionalPrinterColumns") or [] for version in versions]
    # As with schemas: what all versions share is named in one place.
    shared = all(columns == listed[0] for columns in listed)
    problems = []
    for place, columns in enumerate(listed[:1] if shared else listed):
        above = "spec" if shared else f"spec.versions[{place}]"
        for at, column in enumerate(columns):
            problems += _one_column(column, f"{above}.additionalPrinterColumns[{at}]")
    return problems


def _one_column(column: Obj, field: str) -> list[FieldProblem]:
    problems = [required_value(f"{field}.{name}") for name in ("name", "type") if not column.get(name)]
    if column.get("type") and column["type"] not in _COLUMN_TYPES:
        told = f"must be one of {','.join(_COLUMN_TYPES)}"
        problems.append(invalid_value(f"{field}.type", column["type"], told))
    if not column.get("jsonPath"):
        problems.append(required_value(f"{field}.jsonPath"))
    return problems


def _schema_problems(schema: Obj, field: str, *, settled: bool) -> list[FieldProblem]:
    return list(schema_problems(schema, field)) or rule_problems(schema, field, settled=settled)


STRATEGY = Strategy(
    defaults, validate, prepare_create=prepare_create, prepare_update=prepare_update, counts_generation=True
)
