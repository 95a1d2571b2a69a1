"""Keeping a child as it is: what was last asked for of it is asked for again."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.composite.applying import as_applied, last_applied
from hanse.kube.manifest import Obj, annotations_of


def kept(live: Obj) -> Obj:
    """Return the wish that changes nothing about a child."""
    return last_applied(live) or as_applied(live)


def kept_with(live: Obj, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Obj:
    """Return the wish that changes nothing about a child but its labels and annotations."""
    wish = kept(live)
    metadata = {**wish["metadata"], "labels": {**(wish["metadata"].get("labels") or {}), **labels}}
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {**wish, "metadata": metadata}


def asked_annotations(live: Obj) -> dict[str, str]:
    """Return the annotations of a child that were asked for, and not those that others added."""
    return dict(annotations_of(kept(live)))
