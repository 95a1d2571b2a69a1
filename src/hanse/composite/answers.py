"""The fields of a hook's answer, each checked when it is taken out, in sentences for the author of the hook."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from hanse.api.cluster_kind import record, text
from hanse.api.metacontroller.definitions import LABEL_SELECTOR
from hanse.kube.manifest import Obj
from hanse.kube.schemas import Schema, schema_from_crd
from hanse.kube.schemas.structural import drop_nulls, prune, validate

# Seconds beyond any that somebody would wait; what is no number is not below it either.
_AGES = 1e12
_RULE = record(
    {
        "apiVersion": text(minLength=1),
        "resource": text(minLength=1),
        "labelSelector": LABEL_SELECTOR,
        "namespaceSelector": LABEL_SELECTOR,
        "namespace": text(),
        "names": {"type": "array", "items": text()},
    },
    required=["apiVersion", "resource"],
)
_NAMES = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a string",
    dict: "an object",
    list: "a list",
}


class AnswerProblem(Exception):
    """What is wrong with an answer, as a sentence."""


class Answers:
    """The answer of a hook, of which some fields are known; null in any of them is as good as no field."""

    def __init__(self, body: Any, known: Sequence[str], *, strict: bool) -> None:
        if not isinstance(body, dict):
            raise AnswerProblem(f"the answer must be an object with {_listed(known)}, and is {_named(body)}")
        unknown = [name for name in body if name not in known]
        if strict and unknown:
            raise AnswerProblem(f"the answer has the unknown field {unknown[0]}; known are {_listed(known)}")
        self._body = body
        self._strict = strict

    def objects(self, name: str) -> tuple[Obj, ...]:
        """Return a list of objects, which are judged as manifests by whoever writes them; null is passed over."""
        items = self._list(name)
        for index, item in enumerate(items):
            if item is not None:
                _of_type(item, dict, f"{name}[{index}]")
        return tuple(item for item in items if item is not None)

    def references(self, name: str) -> tuple[Obj, ...]:
        """Return a list of manifests that say at least which objects they are."""
        items = self.objects(name)
        for index, item in enumerate(items):
            metadata = item.get("metadata")
            given = (
                item.get("apiVersion"),
                item.get("kind"),
                metadata.get("name") if isinstance(metadata, dict) else "",
            )
            if not all(isinstance(value, str) and value for value in given):
                raise AnswerProblem(f"{name}[{index}] must have apiVersion, kind and metadata.name")
        return items

    def mapping(self, name: str) -> Obj | None:
        """Return an object of any form."""
        value = self._body.get(name)
        return None if value is None else _of_type(value, dict, name)

    def changes(self, name: str) -> Mapping[str, str | None]:
        """Return strings by their keys, of which null ones are to be taken away."""
        found = self.mapping(name) or {}
        for key, value in found.items():
            if value is not None:
                _check_text(value, f"{name}.{key}")
        return found

    def seconds(self, name: str) -> float | None:
        """Return a time that is to pass; None where none is, or none that lies ahead."""
        value = self._body.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not -_AGES < value < _AGES:
            raise AnswerProblem(f"{name} must be a number of seconds, and is {_shown(value)}")
        return float(value) if value > 0 else None

    def flag(self, name: str, *, needed: bool = False) -> bool:
        """Return true or false; false where it is not said and need not be."""
        value = self._body.get(name)
        if value is None and needed:
            raise AnswerProblem(f"{name} must be true or false, and is not given")
        return bool(value is not None and _of_type(value, bool, name))

    def text(self, name: str) -> str:
        """Return a string, "" where there is none."""
        value = self._body.get(name)
        return "" if value is None else str(_of_type(value, str, name))

    def rules(self, name: str) -> tuple[Obj, ...]:
        """Return a list of rules about related objects."""
        # A copy, since what was answered may be kept by its ETag.
        rules = copy.deepcopy(self._list(name))
        for index, rule in enumerate(rules):
            where = f"{name}[{index}]"
            _of_type(rule, dict, where)
            drop_nulls(_rule_schema(), rule)
            if problems := validate(_rule_schema(), rule):
                raise AnswerProblem(f"{where}.{problems[0]}")
            if (unknown := prune(_rule_schema(), rule)) and self._strict:
                raise AnswerProblem(f"{where}.{unknown[0]} is an unknown field")
        return tuple(rules)

    def _list(self, name: str) -> list[Any]:
        value = self._body.get(name)
        if value is None:
            return []
        found: list[Any] = _of_type(value, list, name)
        return found


@cache
def _rule_schema() -> Schema:
    # Read as a field, so that nothing is said of metadata.
    return schema_from_crd(record({"rule": _RULE})).properties["rule"]


def _check_text(value: Any, where: str) -> None:
    if not isinstance(value, str):
        raise AnswerProblem(f"{where} must be a string, and is {_shown(value)}: put it in quotes")


def _of_type(value: Any, wanted: type, where: str) -> Any:
    if not isinstance(value, wanted):
        raise AnswerProblem(f"{where} must be {_NAMES[wanted]}, and is {_named(value)}")
    return value


def _named(value: Any) -> str:
    return _NAMES.get(type(value), f"a {type(value).__name__}")


def _shown(value: Any) -> str:
    # A value may be secret, or long; a number or a boolean is neither.
    return str(value) if isinstance(value, bool | int | float) else _named(value)


def _listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
