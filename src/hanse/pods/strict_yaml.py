"""Reading YAML that a stranger wrote into an annotation.

It says no more than JSON can, and no more than it shows: a page of YAML with anchors can mean more than a machine
holds, and one that nests deeply breaks whoever walks through it. So what would cost too much is refused before anything
is built of it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

DEEPEST = 24
# Several times what large pods have.
_MOST_VALUES = 10_000
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class BadYaml(ValueError):
    """A text that is not read, and why, in a sentence."""


class _Loader(yaml.CSafeLoader):
    """Reads what JSON can say too: no dates, and no key twice."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - how PyYAML is told
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        found: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise BadYaml(f"a key must be a text, and {key!r} is none")
            if key in found:
                raise BadYaml(f"{key} is there twice")
            found[key] = self.construct_object(value_node, deep=True)
        return found


def read_yaml(text: str, longest_bytes: int) -> Any:
    """Return what a text means: mappings, lists and plain values; raises BadYaml."""
    if len(text.encode(errors="replace")) > longest_bytes:
        raise BadYaml(f"it must not be longer than {longest_bytes // 1024} KiB")
    try:
        _check_shape(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise BadYaml(f"it must be YAML: {' '.join(str(error).split())}") from error
    except (OverflowError, UnicodeError) as error:
        raise BadYaml("it must be YAML: a value in it cannot be read") from error
    except BadYaml:
        raise
    except ValueError as error:
        # Numbers of thousands of digits, and what else Python would not take for one.
        raise BadYaml("it must be YAML: a number in it cannot be read") from error


def is_deep(value: Any) -> bool:
    """Tell whether a value nests deeper than anything in Kubernetes does, whatever it was read from."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _within(each)]
        if not level:
            return False
    return True


def _within(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in inner if isinstance(each, dict | list)]


def _check_shape(text: str) -> None:
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise BadYaml("it must not use anchors; write each part out where it belongs")
        if getattr(event, "tag", None) is not None:
            raise BadYaml("it must not use tags")
        if count > _MOST_VALUES:
            raise BadYaml(f"it must not have more than {_MOST_VALUES} values")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise BadYaml(f"it must not be nested more than {DEEPEST} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
