"""In what two releases differ: what they are made of, and what they become in the clusters. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import yaml

from hanse.api.pieces import parse_piece
from hanse.api.shipper.kinds import HASH_LABEL
from hanse.cli.changes import hidden
from hanse.kube.manifest import Obj, labels_of, name_of

# What stands for a release's own name, hash and uid: its objects have them, and two releases never the same.
_NAME, _HASH, _UID = "RELEASE", "HASH", "UID"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which two releases differ: `environment` or an object, and a unified diff."""

    title: str
    diff: str


@dataclass(frozen=True, slots=True)
class Side:
    """One release with its Pieces."""

    release: Obj
    pieces: Sequence[Obj]

    @property
    def title(self) -> str:
        """The release's name."""
        return name_of(self.release)


def differences(one: Side, other: Side) -> list[Difference]:
    """Return in what two releases differ, what they are made of first."""
    was, becomes = (_lines(each.release["spec"]["environment"]) for each in (one, other))
    titles = (one.title, other.title)
    found = [Difference("environment", _diff(was, becomes, *titles))]
    before, after = _manifests(one), _manifests(other)
    for title in sorted(before.keys() | after.keys()):
        had, has = before.get(title), after.get(title)
        was, becomes = _lines(hidden(had, has, "before")), _lines(hidden(has, had, "after"))
        found.append(Difference(title, _diff(was, becomes, *titles)))
    return [each for each in found if each.diff]


def _manifests(side: Side) -> dict[str, Obj]:
    """Return a release's manifests by kind and name, its own name, hash and uid replaced everywhere in them."""
    digest, uid = labels_of(side.release).get(HASH_LABEL, ""), side.release["metadata"].get("uid", "")
    names = {side.title: _NAME, digest: _HASH, uid: _UID}
    return {_title(manifest): manifest for manifest in _neutral_templates(side.pieces, names)}


def _neutral_templates(pieces: Iterable[Obj], names: dict[str, str]) -> Iterator[Obj]:
    for piece in pieces:
        resource, manifest = parse_piece(piece).resource, neutral(parse_piece(piece).template, names)
        yield {"apiVersion": resource.api_version, "kind": resource.kind, **manifest}


def neutral(value: Obj, names: dict[str, str]) -> Obj:
    """Return a manifest with a release's own names replaced, wherever they are part of a text."""

    def replaced(text: str) -> str:
        for name, word in names.items():
            text = text.replace(name, word) if name else text
        return text

    def walk(node: object) -> object:
        if isinstance(node, dict):
            return {replaced(str(key)): walk(inner) for key, inner in node.items()}
        if isinstance(node, list):
            return [walk(inner) for inner in node]
        return replaced(node) if isinstance(node, str) else node

    result = walk(value)
    return result if isinstance(result, dict) else {}


def _title(manifest: Obj) -> str:
    return f"{manifest['kind']}/{name_of(manifest)}"


def _lines(obj: Obj | None) -> list[str]:
    return yaml.safe_dump(obj, sort_keys=True).splitlines() if obj is not None else []


def _diff(before: list[str], after: list[str], one: str, other: str) -> str:
    return "\n".join(difflib.unified_diff(before, after, one, other, n=3, lineterm=""))
