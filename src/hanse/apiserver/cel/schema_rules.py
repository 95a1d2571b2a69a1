"""The rules of a CRD's schema applied to its objects: each at its place, with the former value if there is one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from hanse.apiserver.cel.validations import Validation, compile_validation
from hanse.apiserver.cel.values import visible
from hanse.apiserver.status import FieldProblem
from hanse.kube.cel.costs import Budget
from hanse.kube.cel.declared import self_type
from hanse.kube.cel.rule import CostError, EvaluationError
from hanse.kube.manifest import Obj
from hanse.kube.schemas import Schema

_ROOT = "<nil>"


@dataclass(frozen=True, slots=True)
class RuleTree:
    """The rules at a node of the schema and the branches below it that have any."""

    schema: Schema
    rules: tuple[Validation, ...] = ()
    properties: Mapping[str, RuleTree] = field(default_factory=dict)
    items: RuleTree | None = None
    additional: RuleTree | None = None
    all_of: tuple[RuleTree, ...] = ()


@dataclass(slots=True)
class Findings:
    """What the rules say of one object."""

    budget: Budget
    problems: list[FieldProblem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class _Stopped(Exception):
    """No further rule is asked."""


def rule_tree(schema: Schema, *, root: bool = True) -> RuleTree | None:
    """Compile the rules of a custom kind's schema; None where it has none. Raises CompileError, EngineMissing.

    `root` says that it is the schema of whole objects, not of a part of them.
    """
    return _tree(schema, schema, root=root)


def _tree(schema: Schema, typed: Schema, *, root: bool = False) -> RuleTree | None:
    """Build the tree of `schema`, whose values have the type that `typed` declares."""
    children = {}
    for name, child in schema.properties.items():
        declared = typed.properties.get(name)
        found = _tree(child, declared) if declared is not None else None
        if found is not None:
            children[name] = found
    items = _tree(schema.items, typed.items) if schema.items is not None and typed.items is not None else None
    both = schema.additional is not None and typed.additional is not None
    additional = _tree(schema.additional, typed.additional) if both else None  # type: ignore[arg-type]
    branches = [_tree(branch, typed, root=root) for branch in schema.all_of]
    all_of = tuple(branch for branch in branches if branch is not None)
    if not (schema.rules or children or items or additional or all_of):
        return None
    return RuleTree(typed, _compiled(schema.rules, typed, root=root), children, items, additional, all_of)


def _compiled(rules: tuple[Obj, ...], schema: Schema, *, root: bool) -> tuple[Validation, ...]:
    kind, messages = self_type(schema, root=root) if rules else (None, {})
    if kind is None:
        return ()
    return tuple(compile_validation(entry, schema, kind, messages) for entry in rules)


def apply_rules(tree: RuleTree, obj: Obj, old: Obj | None) -> Findings:
    """Ask every rule about an object and its former state."""
    weight = len(orjson.dumps(obj)) + (len(orjson.dumps(old)) if old is not None else 0)
    findings = Findings(Budget(weight))
    with suppress(_Stopped):
        _visit(tree, obj, old, "", findings, unchanged=old is not None and obj == old)
    return findings


def _visit(tree: RuleTree, value: Any, old: Any, path: str, findings: Findings, *, unchanged: bool) -> None:
    if value is None:
        return
    if tree.rules:
        _ask(tree, value, old, path, findings, unchanged=unchanged)
    for branch in tree.all_of:
        _visit(branch, value, old, path, findings, unchanged=False)
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for name, inner in value.items():
            child = tree.properties.get(name)
            where = f"{path}.{name}" if path else name
            if child is None and tree.additional is not None and name not in tree.schema.properties:
                child, where = tree.additional, f"{path}[{name}]"
            if child is not None:
                same = unchanged or (name in before and before[name] == inner)
                _visit(child, inner, before.get(name), where, findings, unchanged=same)
    elif isinstance(value, list) and tree.items is not None:
        _visit_items(tree, tree.items, value, old, path, findings, unchanged=unchanged)


def _visit_items(
    tree: RuleTree, items: RuleTree, values: list[Any], old: Any, path: str, findings: Findings, *, unchanged: bool
) -> None:
    keys = tree.schema.list_map_keys if tree.schema.list_type == "map" else ()
    before = (
        {_identity(one, keys): one for one in old if isinstance(one, dict)} if keys and isinstance(old, list) else {}
    )
    for index, inner in enumerate(values):
        # Only the elements of a keyed list can be told apart from one another, and so have a former value.
        former = before.get(_identity(inner, keys)) if keys and isinstance(inner, dict) else None
        same = unchanged or (former is not None and former == inner)
        _visit(items, inner, former, f"{path}[{index}]", findings, unchanged=same)


def _identity(element: Obj, keys: tuple[str, ...]) -> bytes:
    return orjson.dumps([element.get(key) for key in keys])


def _ask(tree: RuleTree, value: Any, old: Any, path: str, findings: Findings, *, unchanged: bool) -> None:
    seen, before = visible(value, tree.schema), visible(old, tree.schema)
    for rule in tree.rules:
        if rule.uses_old and old is None and not rule.optional_old:
            continue
        try:
            if rule.holds(seen, before, findings.budget):
                continue
        except CostError as error:
            findings.problems.append(_unaffordable(path, tree.schema.type, rule, error))
            raise _Stopped from None
        except EvaluationError as error:
            findings.problems.append(_unanswered(path, tree.schema.type, rule, str(error)))
            continue
        problem = _refused(path, tree.schema, value, rule, rule.explain(seen, before, findings.budget))
        if unchanged and not rule.uses_old:
            # What was stored before the rule came is not held against those who change something else.
            findings.warnings.append(f"{problem.field}: {problem.message}")
        else:
            findings.problems.append(problem)


def _unaffordable(path: str, kind: str, rule: Validation, error: CostError) -> FieldProblem:
    told = str(error)
    if error.alone:
        why = "no further validation rules will be run due to call cost exceeds limit for rule"
        told = f"'{told}': {why}: {rule.name}"
    return FieldProblem(path or _ROOT, "FieldValueInvalid", f'Invalid value: "{kind}": {told}')


def _unanswered(path: str, kind: str, rule: Validation, error: str) -> FieldProblem:
    if error.startswith("no such overload"):
        told = f"'{error}': call arguments did not match a supported operator, function or macro signature for rule: "
    else:
        told = f"{error} evaluating rule: "
    return FieldProblem(path or _ROOT, "FieldValueInvalid", f'Invalid value: "{kind}": {told}{rule.name}')


def _refused(path: str, schema: Schema, value: Any, rule: Validation, told: str) -> FieldProblem:
    where = f"{path or _ROOT}{rule.below}"
    # A large value says nothing that its path does not.
    shown = "" if schema.type in ("object", "array") else f"{orjson.dumps(value).decode()}: "
    match rule.reason:
        case "FieldValueForbidden":
            message = f"Forbidden: {told}"
        case "FieldValueRequired":
            message = f"Required value: {told}"
        case "FieldValueDuplicate":
            message = f"Duplicate value{': ' if shown else ''}{shown.removesuffix(': ')}"
        case _:
            message = f"Invalid value: {shown}{told}"
    return FieldProblem(where, rule.reason, message)
