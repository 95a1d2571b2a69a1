"""What makes a configuration unfit for server-side apply: undeclared fields, elements that cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hanse.kube.manifest import Obj
from hanse.kube.patches.field_sets import readable
from hanse.kube.patches.field_types import FieldType, UntypedError
from hanse.kube.resources import gvk


def check_config(config: Obj, kind: FieldType) -> None:
    """Raise UntypedError, with the server's sentence, for a configuration that its schema cannot hold."""
    problems = list(_problems(config, kind, "", open_ended=False))
    if not problems:
        return
    metadata = config.get("metadata") or {}
    group, version, name = gvk(config)
    where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {group}/{version}, Kind={name}"
    text = problems[0] if len(problems) == 1 else "errors:\n" + "\n".join(f"  {problem}" for problem in problems)
    raise UntypedError(f"failed to create typed patch object ({where}): {text}")


def _problems(value: Any, kind: FieldType, path: str, *, open_ended: bool) -> Iterator[str]:
    """Yield what is wrong at and below a value; below a node that preserves unknown fields all of them are known."""
    schema = kind.schema
    open_ended = schema.preserve_unknown or (open_ended and not schema.name)
    if isinstance(value, dict):
        free = open_ended or schema.additional is not None or not schema.properties
        for key, inner in value.items():
            step = f"f:{key}"
            if free or kind.declares(step):
                yield from _problems(inner, kind.at(step), f"{path}.{key}", open_ended=open_ended)
            else:
                yield f"{path}.{key}: field not declared in schema"
    elif isinstance(value, list):
        yield from _list_problems(value, kind, path, open_ended=open_ended)


def _list_problems(value: list[Any], kind: FieldType, path: str, *, open_ended: bool) -> Iterator[str]:
    seen: set[str] = set()
    for index, element in enumerate(value):
        where = f"[{index}]"
        if not kind.atomic_list:
            try:
                step = kind.element_step(element)
            except UntypedError as error:
                yield f"{path}: element {index}: {error}"
                continue
            where = readable((step,))
            if step in seen:
                yield f"{path}: duplicate entries for key {where}"
            seen.add(step)
        yield from _problems(element, kind.element, f"{path}{where}", open_ended=open_ended)
