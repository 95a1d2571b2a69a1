"""The pods that run elsewhere by their labels, namespace by namespace: whether a Service selects any, and whose.

Pods of one owner carry mostly the same labels, so that few profiles stand for many pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION
from hanse.kube.cache import Change
from hanse.kube.manifest import Key, Obj, annotations_of, labels_of
from hanse.kube.resources import PODS
from hanse.pods.placeholder.reading import is_placeholder

Labels: TypeAlias = frozenset[tuple[str, str]]


class _Profile(NamedTuple):
    """What counts of a placeholder: its labels, and who had it made."""

    labels: Labels
    author: str
    groups: str


class Elected:
    """Knows the placeholders of a source."""

    def __init__(self, pods: Iterable[tuple[Key, Obj]] = ()) -> None:
        self._profiles: dict[Key, _Profile] = {}
        self._counts: dict[str, Counter[_Profile]] = {}
        for key, pod in pods:
            self._note(key, pod)

    def take_in(self, change: Change) -> list[Labels]:
        """Note how a pod changed; returns the labels that it had and has, where that changes who selects whom."""
        before = self._profiles.get(change.key)
        after = self._note(change.key, change.new)
        return [] if before == after else [each.labels for each in (before, after) if each is not None]

    def has(self, namespace: str, selector: Mapping[str, str]) -> bool:
        """Tell whether a selector selects a placeholder of a namespace; one that asks for nothing selects none."""
        return any(selects(selector, each.labels) for each in self._counts.get(namespace, ()))

    def voices(self, namespace: str, selector: Mapping[str, str]) -> tuple[Obj, ...]:
        """Return a pod for each of those who had the selected placeholders made: what they may not do, these say."""
        chosen = (each for each in self._counts.get(namespace, ()) if selects(selector, each.labels))
        return tuple(_voice(namespace, *author) for author in sorted({(each.author, each.groups) for each in chosen}))

    def _note(self, key: Key, pod: Obj | None) -> _Profile | None:
        after = _profile_of(pod) if pod is not None and is_placeholder(pod) else None
        before = self._profiles.pop(key, None)
        counts = self._counts.setdefault(key.namespace, Counter())
        if after is not None:
            self._profiles[key] = after
            counts[after] += 1
        if before is not None:
            counts[before] -= 1
            if not counts[before]:
                del counts[before]
        if not counts:
            del self._counts[key.namespace]
        return after


def selects(selector: Mapping[str, str], labels: Labels) -> bool:
    """Tell whether a selector selects pods of these labels; one that asks for nothing selects none."""
    return bool(selector) and labels.issuperset(selector.items())


def _profile_of(pod: Obj) -> _Profile:
    annotations = annotations_of(pod)
    return _Profile(
        frozenset(labels_of(pod).items()),
        annotations.get(AUTHOR_ANNOTATION, ""),
        annotations.get(AUTHOR_GROUPS_ANNOTATION, ""),
    )


def _voice(namespace: str, author: str, groups: str) -> Obj:
    told = {name: text for name, text in ((AUTHOR_ANNOTATION, author), (AUTHOR_GROUPS_ANNOTATION, groups)) if text}
    metadata = {"name": "selected", "namespace": namespace, "annotations": told}
    return {"apiVersion": PODS.api_version, "kind": PODS.kind, "metadata": metadata}
