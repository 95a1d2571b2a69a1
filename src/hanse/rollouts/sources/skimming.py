"""The few fields that matter out of a very long index.yaml, read as a stream. Pure.

A repository's index may have tens of megabytes, most of it descriptions. A reader that first builds everything would
hold the interpreter for seconds on end; this one passes over what nobody asks for, piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_FIELDS = frozenset({"version", "urls", "digest"})
_STARTS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
# No index is so deep; each level more makes every later piece dearer to read.
_DEEPEST = 100


class Skimming:
    """Reads one index; every scalar is a text, so that a version 1.10 does not become a number."""

    def __init__(self, text: bytes) -> None:
        self._events: Iterator[Any] = yaml.parse(text, Loader=_Loader)

    def document(self) -> Any:
        """Return `apiVersion` and, of `entries`, the version, addresses and digest of each; raises YAMLError."""
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                found = self._value(next(self._events), self._top)
                for _ in self._events:
                    pass  # what comes behind must be YAML too
                return found
        return None

    def _top(self, field: str, event: Any) -> Any:
        if field == "entries":
            return self._value(event, lambda _name, versions: self._value(versions, self._version))
        return self._value(event, self._nothing)

    def _version(self, field: str, event: Any) -> Any:
        return self._value(event, self._nothing) if field in _FIELDS else self._pass_over(event)

    def _nothing(self, _field: str, event: Any) -> Any:
        return self._pass_over(event)

    def _value(self, event: Any, take: Any) -> Any:
        """Return a text, a list, or a mapping whose fields are taken as `take` says; what an alias names is not."""
        if isinstance(event, yaml.ScalarEvent):
            return event.value
        if isinstance(event, yaml.SequenceStartEvent):
            return [self._value(each, take) for each in self._until(yaml.SequenceEndEvent)]
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(take)
        return None

    def _mapping(self, take: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key in self._until(yaml.MappingEndEvent):
            if isinstance(key, yaml.ScalarEvent):
                found[key.value] = take(key.value, next(self._events))
            else:
                self._pass_over(key)
                self._pass_over(next(self._events))
        return found

    def _until(self, end: type[Any]) -> Iterator[Any]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event

    def _pass_over(self, event: Any) -> None:
        depth = int(isinstance(event, _STARTS))
        while depth:
            event = next(self._events)
            depth += isinstance(event, _STARTS) - isinstance(event, _ENDS)
            if depth > _DEEPEST:
                raise yaml.YAMLError(f"it is more than {_DEEPEST} levels deep")
