"""The JSONPath of printer columns: fields, indexes, wildcards, filters and recursive descent."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Step = Callable[[Any], list[Any]]
_TOKEN = re.compile(
    r"""\.\.(?P<deep>[\w-]+|\*)
      | \.(?P<field>(?:\\.|[^.\[\]\\'"()\s])+)
      | \[(?P<index>-?\d+)\]
      | \[(?P<slice>-?\d*:-?\d*)\]
      | \[(?P<star>\*)\]
      | \[\?\((?P<filter>[^)]*)\)\]
      | \[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]""",
    re.VERBOSE,
)
_FILTER = re.compile(r"""@(?P<path>[^=!<>\s]+)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<value>.+))?""")


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A parsed path; finding with it never fails, what is absent is just not found."""

    steps: tuple[Step, ...]

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """Read a path such as `.status.conditions[?(@.type=="Ready")].status`; raises ValueError."""
        text = text.strip()
        if text.startswith("{") and text.endswith("}"):
            text = text[1:-1]
        text = text.removeprefix("$")
        steps: list[Step] = []
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise ValueError(f"unrecognized character in path at {text[place:]!r}")
            steps.append(_step(found))
            place = found.end()
        return cls(tuple(steps))

    def find(self, obj: Any) -> list[Any]:
        """Return everything that the path leads to."""
        found = [obj]
        for step in self.steps:
            found = [result for one in found for result in step(one)]
        return found


def _step(token: re.Match[str]) -> Step:
    if token["index"] is not None:
        index = int(token["index"])
        return lambda value: [value[index]] if isinstance(value, list) and -len(value) <= index < len(value) else []
    if token["slice"] is not None:
        start, _, end = token["slice"].partition(":")
        cut = slice(int(start) if start else None, int(end) if end else None)
        return lambda value: value[cut] if isinstance(value, list) else []
    if token["star"] is not None or token["field"] == "*":
        return _children
    if token["filter"] is not None:
        return _filter(token["filter"])
    if token["deep"] is not None:
        return _descent(token["deep"])
    name = re.sub(r"\\(.)", r"\1", token["field"]) if token["field"] is not None else token["quoted"]
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _descent(name: str) -> Step:
    def descend(value: Any) -> list[Any]:
        found = [value[name]] if isinstance(value, dict) and name in value else []
        if name == "*":
            found = _children(value)
        for child in _children(value):
            found += descend(child)
        return found

    return descend


def _filter(text: str) -> Step:
    parsed = _FILTER.fullmatch(text.strip())
    if parsed is None:
        raise ValueError(f"unrecognized filter {text!r}")
    path = JsonPath.parse(parsed["path"])
    operator, wanted = parsed["operator"], _literal(parsed["value"] or "")

    def chosen(one: Any) -> bool:
        found = path.find(one)
        if operator is None:
            return bool(found)
        return bool(found) and _compare(found[0], operator, wanted)

    return lambda value: [one for one in _children(value) if chosen(one)]


def _literal(text: str) -> Any:
    text = text.strip()
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def _compare(has: Any, operator: str, wanted: Any) -> bool:
    if operator == "==":
        return bool(has == wanted)
    if operator == "!=":
        return bool(has != wanted)
    if not isinstance(has, int | float) or not isinstance(wanted, int | float):
        return False
    return {"<": has < wanted, "<=": has <= wanted, ">": has > wanted, ">=": has >= wanted}[operator]
