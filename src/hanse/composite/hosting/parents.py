"""The parents of a controller: whose turn a change is, and which of them an orphan could belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hanse.kube.cache import Change
from hanse.kube.manifest import Key, Obj, annotations_of, controller_of, dig, is_deleting, labels_of, namespace_of
from hanse.kube.resources import Resource
from hanse.kube.selectors import LabelSelector

SelectorOf = Callable[[Obj], LabelSelector | str]


def matters(change: Change, *, ignore_status: bool) -> bool:
    """Tell whether a change of a parent calls for its hook: with `ignore_status`, one of its status alone does not."""
    old, new = change.old, change.new
    if not ignore_status or old is None or new is None or is_deleting(new):
        return True
    return _said(old) != _said(new)


def _said(parent: Obj) -> tuple[object, ...]:
    return dig(parent, "metadata", "generation"), labels_of(parent), annotations_of(parent)


def owners_of(change: Change, parent: Resource) -> Iterator[Key]:
    """Yield the parents of a kind that control what changed, or did before it."""
    for obj in (change.old, change.new):
        if obj is not None and (owner := owner_of(obj, parent)) is not None:
            yield owner


def owner_of(obj: Obj, parent: Resource) -> Key | None:
    """Return the parent of a kind that controls an object; None where somebody else does, or nobody."""
    controller = controller_of(obj)
    if controller is None or not _is_of(controller, parent):
        return None
    return Key(namespace_of(obj) if parent.namespaced else "", controller["name"])


def _is_of(reference: Obj, parent: Resource) -> bool:
    group = reference["apiVersion"].rpartition("/")[0]
    return bool(reference["kind"] == parent.kind and group == parent.group)


class Selectors:
    """What each parent selects, read once a change of the parent."""

    def __init__(self, selector_of: SelectorOf) -> None:
        self._selector_of = selector_of
        self._selectors: dict[Key, LabelSelector] = {}

    def changed(self, change: Change) -> None:
        """Take in a change of a parent."""
        parent = change.new
        selector = None if parent is None else self._selector_of(parent)
        if isinstance(selector, LabelSelector):
            self._selectors[change.key] = selector
        else:
            self._selectors.pop(change.key, None)

    def of_orphan(self, orphan: Obj) -> Iterator[Key]:
        """Yield the parents whose selector matches an object that nobody controls."""
        labels, namespace = labels_of(orphan), namespace_of(orphan)
        for key, selector in self._selectors.items():
            if key.namespace in ("", namespace) and selector.matches(labels):
                yield key
