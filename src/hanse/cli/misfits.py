"""What of a manifest in a file no API server would take: checked before a command reads it as if one had."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from hanse.api.kubefed.hosting import kubefed_definitions
from hanse.api.pieces import PIECE_CRD
from hanse.api.placed_children import PLACED_CHILD_CRD
from hanse.api.planetscale.definitions import PLANETSCALE_CRDS
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.vitess.definitions import VITESS_CRDS
from hanse.cli.control_plane import HOST_CRDS
from hanse.kube.manifest import Obj
from hanse.kube.resources import gvk
from hanse.kube.schemas import Schema, schema_for, schema_from_crd
from hanse.kube.schemas.builtin import definition
from hanse.kube.schemas.decoding import decode_errors
from hanse.kube.schemas.structural import drop_nulls
from hanse.kube.schemas.validation import validate

_KUBEFED = ("kubefed.io", "kubefed.k8s.io", "federation.k8s.io")
_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
# A person writes these by hand; what is only wrong by its value is told by whoever reads the value.
_SHAPE = ("FieldValueTypeInvalid", "FieldValueRequired")


def misfit_of(obj: Obj) -> str:
    """Return what is wrong with a manifest's form, field and fix in one sentence; "" where nothing is.

    Of a kind that is not known here only the metadata are looked at.
    """
    if not isinstance(obj.get("apiVersion", ""), str):
        return "apiVersion: it must be a text"
    builtin = schema_for(*gvk(obj))
    if builtin is not None:
        return decode_errors(builtin, obj).refusal
    if refusal := decode_errors(definition(_METADATA), obj["metadata"]).refusal:
        return f"metadata: {refusal}"
    own = _own_schema(*gvk(obj))
    return _own_misfit(own, obj) if own is not None else ""


def _own_misfit(schema: Schema, obj: Obj) -> str:
    drop_nulls(schema, obj)
    return next((f"{error.path}: {error.message}" for error in validate(schema, obj) if error.reason in _SHAPE), "")


@cache
def _own_schema(group: str, version: str, kind: str) -> Schema | None:
    for crd in _definitions(group):
        spec: dict[str, Any] = crd["spec"]
        if (spec["group"], spec["names"]["kind"]) == (group, kind):
            for each in spec["versions"]:
                if each["name"] == version:
                    return schema_from_crd(each["schema"]["openAPIV3Schema"])
    return None


def _definitions(group: str) -> Iterator[Obj]:
    yield from (*HOST_CRDS, PIECE_CRD, PLACED_CHILD_CRD, *SHIPPER_CRDS, *VITESS_CRDS, *PLANETSCALE_CRDS)
    if group.endswith(_KUBEFED):
        yield from _federated()


@cache
def _federated() -> list[Obj]:
    # Made from the schemas of all that can be federated, which takes a moment.
    return kubefed_definitions()
