"""Templates that nobody's server has stored, in the form in which a server keeps them."""

from __future__ import annotations

from base64 import b64encode

from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import SECRETS, SERVICES, Resource
from hanse.kube.schemas.go_shape import without_zeros
from hanse.propagation.scale import Path

# A Service's own addresses are given once by its cluster, and cannot be changed.
_ADDRESSES: tuple[Path, ...] = (("spec", "clusterIP"), ("spec", "clusterIPs"), ("spec", "healthCheckNodePort"))


def as_stored(manifest: Obj) -> Obj:
    """Return a manifest as a server keeps it where that is not as it is written.

    A Secret's texts are in its data, and values that say no more than silence does are not there.
    """
    spoken = without_zeros(manifest)
    texts = spoken.get("stringData")
    if spoken["kind"] != SECRETS.kind or not isinstance(texts, dict):
        return spoken
    encoded = {name: b64encode(str(text).encode()).decode() for name, text in texts.items()}
    kept = {name: value for name, value in spoken.items() if name != "stringData"}
    return {**kept, "data": {**(spoken.get("data") or {}), **encoded}}


def given_by_cluster(target: Resource, manifest: Obj) -> tuple[Path, ...]:
    """Return the fields in which clusters keep what they have given, although a template says something about them."""
    return tuple(path for path in (_ADDRESSES if target == SERVICES else ()) if dig(manifest, *path) is not None)
