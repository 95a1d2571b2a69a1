"""What must be done in a member: its object compared with what it shall be.

A member may add to what was rendered: defaults, fields of its own controllers, entries of keyed lists. Only a rendered
field that is missing or different counts, or a digest that says that the rendering itself has changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hanse.api.names import MANAGED_LABELS, OWNER_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, dig, is_deleting, labels_of, uid_of, version_of
from hanse.kube.quantities import parse_quantity
from hanse.kube.schemas import Schema
from hanse.propagation.removal import DELETED, Removal
from hanse.propagation.rendering import owned_by, rendered_digest
from hanse.propagation.revision import revised

_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


@dataclass(frozen=True, slots=True)
class Present:
    """A member shall have this manifest, as the copy of that source.

    A `shared` one (a namespace) is used as it is where the member already has its own. Where `mend` is False, what
    somebody changed in the member stays until the manifest itself changes. The member keeps what it has in the fields
    to `retain`. With `adopt` an object of that name that is nobody's copy becomes this one's; the copies of sources
    from which it `inherits` are its own.
    """

    manifest: Obj
    source_uid: str
    shared: bool = False
    mend: bool = True
    retain: tuple[tuple[str, ...], ...] = ()
    adopt: bool = False
    inherits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A member shall keep its copy of that source as it is, but for these numbers (each with its path).

    A copy that the source inherits is marked as its own.
    """

    source_uid: str
    numbers: tuple[tuple[tuple[str, ...], int], ...] = ()
    inherits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Absent:
    """A member shall no longer have the copy of that source, which is removed in this way."""

    source_uid: str
    inherits: tuple[str, ...] = ()
    removal: Removal = DELETED


@dataclass(frozen=True, slots=True)
class Released:
    """A member shall keep its object, which is no longer Hanse's."""

    source_uid: str


Wanted = Present | Kept | Absent | Released


@dataclass(frozen=True, slots=True)
class Create:
    """Make the object, or with `adopt` take over one that is nobody's copy."""

    manifest: Obj
    adopt: bool = False


@dataclass(frozen=True, slots=True)
class Apply:
    """Bring the object's fields to what was rendered."""

    manifest: Obj
    observed: Obj


@dataclass(frozen=True, slots=True)
class Revise:
    """Write the object whole, on top of the version that was seen; where that is refused, apply."""

    whole: Obj
    otherwise: Apply


@dataclass(frozen=True, slots=True)
class Renumber:
    """Change some numbers of exactly this object, or whose copy it is, and nothing else of it."""

    uid: str
    patch: Obj


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove exactly this object, as it was when it was judged to be that source's copy."""

    uid: str
    version: str
    removal: Removal = DELETED


@dataclass(frozen=True, slots=True)
class Release:
    """Take Hanse's marks off the object."""

    uid: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do nothing, and say why: in a sentence, and in one word."""

    message: str
    reason: str


Action = Create | Apply | Revise | Renumber | Delete | Release | Refuse


def compare(
    wanted: Wanted, observed: Obj | None, schema: Schema | None, last: Obj | None = None, *, whole: bool = False
) -> Action | None:
    """Return the one thing to do, None where all is as it shall be.

    `last` is the rendering that the object was last brought to, where that is known; `whole` says that all of the
    object was observed, so that it may be written whole.
    """
    if isinstance(wanted, Kept):
        return _renumber(wanted, observed)
    if not isinstance(wanted, Present):
        if observed is None or not is_copy(wanted, observed) or is_deleting(observed):
            return None
        if isinstance(wanted, Released):
            return Release(uid_of(observed))
        return Delete(uid_of(observed), version_of(observed), wanted.removal)
    if observed is None:
        return Create(wanted.manifest, wanted.adopt)
    if not is_copy(wanted, observed):
        if wanted.shared:
            return None
        owner = annotations_of(observed).get(OWNER_ANNOTATION, "somebody else")
        return Refuse(f"an object of this name is there already and belongs to {owner}", "AlreadyExists")
    if is_deleting(observed):
        return Refuse("its former copy is still being deleted", "WaitingForRemoval")
    if label := declined_by(observed):
        return Refuse(f'it is labelled {label}: "false" in the cluster and is left alone', "ManagedLabelFalse")
    same_rendering = rendered_digest(observed) == rendered_digest(wanted.manifest)
    if same_rendering and (not wanted.mend or covers(observed, wanted.manifest, schema)):
        return None
    apply = Apply(wanted.manifest, observed)
    before = wanted.manifest if same_rendering else last
    if schema is None or not whole or before is None or rendered_digest(before) != rendered_digest(observed):
        return apply
    return Revise(revised(observed, before, wanted.manifest, schema), apply)


def declined_by(observed: Obj) -> str:
    """Return the label by which somebody in a member keeps an object for themselves, "" where there is none."""
    labels = labels_of(observed)
    return next((label for label in MANAGED_LABELS if labels.get(label) == "false"), "")


def is_copy(wanted: Wanted, observed: Obj) -> bool:
    """Tell whether a member's object is the one that a wish speaks of."""
    inherits = () if isinstance(wanted, Released) else wanted.inherits
    return owned_by(observed, wanted.source_uid, inherits)


def _renumber(kept: Kept, observed: Obj | None) -> Renumber | None:
    if observed is None or not is_copy(kept, observed) or is_deleting(observed):
        return None
    patch: Obj = {}
    if annotations_of(observed)[OWNER_ANNOTATION] != kept.source_uid:
        patch["metadata"] = {"annotations": {OWNER_ANNOTATION: kept.source_uid}}
    for path, number in kept.numbers:
        if dig(observed, *path) != number:
            inner = patch
            for name in path[:-1]:
                inner = inner.setdefault(name, {})
            inner[path[-1]] = number
    return Renumber(uid_of(observed), patch) if patch else None


def covers(observed: Any, rendered: Any, schema: Schema | None) -> bool:
    """Tell whether everything that was rendered is in what was observed."""
    if isinstance(rendered, dict):
        if not isinstance(observed, dict):
            return not rendered and observed is None
        return _covers_fields(observed, rendered, schema)
    if isinstance(rendered, list):
        return _covers_list(observed, rendered, schema)
    return _is_same(observed, rendered)


def _covers_fields(observed: Obj, rendered: Obj, schema: Schema | None) -> bool:
    # Every copy passes here after every write: only what is nested is worth a call and a look at the schema.
    for name, value in rendered.items():
        have = observed.get(name)
        if isinstance(value, dict | list):
            if not covers(have, value, None if schema is None else schema.child(name)):
                return False
        elif not _is_same(have, value) and not _is_same_amount(have, value, schema and schema.child(name)):
            return False
    return True


def _is_same(observed: Any, rendered: Any) -> bool:
    if rendered is None:
        return True
    return bool(observed == rendered) and isinstance(observed, bool) == isinstance(rendered, bool)


def _is_same_amount(observed: Any, rendered: Any, schema: Schema | None) -> bool:
    """Tell whether two quantities are the same amount: a server keeps 1024Mi as 1Gi."""
    if schema is None or schema.name != _QUANTITY:
        return False
    try:
        return parse_quantity(observed) == parse_quantity(rendered)
    except ValueError:
        return False


def _covers_list(observed: Any, rendered: list[Any], schema: Schema | None) -> bool:
    if not isinstance(observed, list):
        return not rendered and observed is None
    items = schema.items if schema is not None else None
    if schema is not None and schema.list_type == "map":
        by_key = {schema.entry_key(item): item for item in observed}
        return all(covers(by_key.get(schema.entry_key(item)), item, items) for item in rendered)
    if schema is not None and schema.list_type == "set":
        return all(item in observed for item in rendered)
    return len(observed) == len(rendered) and all(
        covers(have, want, items) for have, want in zip(observed, rendered, strict=True)
    )
