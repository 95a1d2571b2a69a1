"""Whose children are whose: what a parent selects, and what it owns, takes over and gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hanse.api.metacontroller.kinds import CONTROLLER_UID_LABEL, DECORATOR_ANNOTATION
from hanse.composite.children import Observed
from hanse.composite.spec import ControllerSpec, Sort
from hanse.kube.manifest import (
    Obj,
    annotations_of,
    controller_of,
    dig,
    is_deleting,
    labels_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from hanse.kube.resources import Resource
from hanse.kube.selectors import LabelSelector


def selector_of(parent: Obj, spec: ControllerSpec) -> LabelSelector | str:
    """Return which objects a parent takes for its children; a sentence where it does not say so."""
    if spec.generate_selector:
        return LabelSelector.from_labels({CONTROLLER_UID_LABEL: uid_of(parent)})
    selector = stored_selector(parent)
    if isinstance(selector, LabelSelector) and selector.empty:
        return (
            "spec.selector: must be given and must not be empty, since it says which children are this object's; "
            f"or set spec.generateSelector of {spec.sort} {spec.name}"
        )
    return selector


def stored_selector(parent: Obj) -> LabelSelector | str:
    """Return what a parent's own selector matches, everything where it has none; a sentence where it is unreadable."""
    try:
        return LabelSelector.from_object(dig(parent, "spec", "selector") or {})
    except ValueError as problem:
        return f"spec.selector: {problem}"
    except (AttributeError, TypeError):
        return "spec.selector: must have matchLabels (an object of strings) or matchExpressions (a list)"


@dataclass(frozen=True, slots=True)
class Claims:
    """What becomes of the candidates: those that are the parent's, those to take over, those to give back."""

    own: Observed
    adopt: tuple[tuple[Resource, Obj], ...] = ()
    release: tuple[tuple[Resource, Obj], ...] = ()


def claim(parent: Obj, candidates: Observed, selector: LabelSelector) -> Claims:
    """Decide which candidates are a parent's children, as Kubernetes' own controllers do.

    A parent that is being deleted neither takes over nor gives back. What somebody else controls is left alone.
    """
    own: dict[Resource, Sequence[Obj]] = {}
    adopt: list[tuple[Resource, Obj]] = []
    release: list[tuple[Resource, Obj]] = []
    for resource, objects in candidates.items():
        within = [obj for obj in objects if _is_within_reach(parent, obj)]
        owned = [obj for obj in within if is_controlled_by(obj, parent)]
        own[resource] = [obj for obj in owned if selector.matches(labels_of(obj))]
        if is_deleting(parent):
            continue
        release += [(resource, obj) for obj in owned if not selector.matches(labels_of(obj))]
        adopt += [(resource, obj) for obj in within if _is_adoptable(obj, selector)]
    return Claims(own, tuple(adopt), tuple(release))


def attached(target: Obj, candidates: Observed, controller: str, annotation: str = DECORATOR_ANNOTATION) -> Observed:
    """Return what one controller, named in an annotation, attached to an object; nobody else's attachments."""

    def is_ours(obj: Obj) -> bool:
        return is_controlled_by(obj, target) and annotations_of(obj).get(annotation) == controller

    return _filtered(candidates, is_ours)


def may_adopt(parent: Obj, fresh: Obj | None) -> bool:
    """Tell whether a parent, read anew past any cache, is still there to take an orphan over."""
    return fresh is not None and uid_of(fresh) == uid_of(parent) and not is_deleting(fresh)


def adopted(orphan: Obj, parent: Obj) -> Obj:
    """Return an orphan with its new parent."""
    return _with_owners(orphan, [*_others(orphan, parent), owner_reference(parent)])


def released(child: Obj, parent: Obj) -> Obj:
    """Return a child without its parent."""
    return _with_owners(child, _others(child, parent))


def is_controlled_by(obj: Obj, parent: Obj) -> bool:
    """Tell whether exactly this parent, and none of that name before it, controls an object."""
    controller = controller_of(obj)
    return controller is not None and controller.get("uid") == uid_of(parent)


def generated_labels(parent: Obj, spec: ControllerSpec) -> dict[str, str]:
    """Return the labels that children get so that a generated selector finds them."""
    return {CONTROLLER_UID_LABEL: uid_of(parent)} if spec.generate_selector and spec.sort is Sort.COMPOSITE else {}


def _is_within_reach(parent: Obj, obj: Obj) -> bool:
    return not namespace_of(parent) or namespace_of(obj) == namespace_of(parent)


def _is_adoptable(obj: Obj, selector: LabelSelector) -> bool:
    return controller_of(obj) is None and not is_deleting(obj) and selector.matches(labels_of(obj))


def _filtered(candidates: Observed, keep: Callable[[Obj], bool]) -> Observed:
    return {resource: [obj for obj in objects if keep(obj)] for resource, objects in candidates.items()}


def _others(obj: Obj, parent: Obj) -> list[Obj]:
    owners: list[Obj] = obj["metadata"].get("ownerReferences") or []
    return [owner for owner in owners if owner.get("uid") != uid_of(parent)]


def _with_owners(obj: Obj, owners: list[Obj]) -> Obj:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "ownerReferences"}
    return {**obj, "metadata": metadata | ({"ownerReferences": owners} if owners else {})}
