"""Every kind that Hanse serves beside Kubernetes' own, with its schema."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from hanse.api.admiralty.definitions import ADMIRALTY_CRDS
from hanse.api.cluster_forms import FORM_CRDS
from hanse.api.kubefed.hosting import kubefed_definitions
from hanse.api.mcs import MCS_CRDS
from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS
from hanse.api.pieces import PIECE_CRD
from hanse.api.placed_children import PLACED_CHILD_CRD
from hanse.api.planetscale.definitions import PLANETSCALE_CRDS
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.vitess.definitions import VITESS_CRDS
from hanse.cli.control_plane import HOST_CRDS
from hanse.kube.schemas import Schema, schema_from_crd

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OwnKind:
    """A kind in one of its versions."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    schema: Schema

    def path(self, namespace: str) -> str:
        """Return the path of the kind's collection."""
        return f"/apis/{self.api_version}/{f'namespaces/{namespace}/' if self.namespaced else ''}{self.plural}"


@cache
def definitions() -> tuple[Obj, ...]:
    """Return all definitions, each name once."""
    every = (
        *HOST_CRDS,
        *FORM_CRDS,
        *SHIPPER_CRDS,
        PIECE_CRD,
        PLACED_CHILD_CRD,
        *METACONTROLLER_CRDS,
        *ADMIRALTY_CRDS,
        *MCS_CRDS,
        *VITESS_CRDS,
        *PLANETSCALE_CRDS,
        *kubefed_definitions(),
    )
    return tuple({crd["metadata"]["name"]: crd for crd in every}.values())


@cache
def own_kinds() -> tuple[OwnKind, ...]:
    """Return all kinds in all their versions."""
    found = []
    for crd in definitions():
        spec = crd["spec"]
        for version in spec["versions"]:
            schema = schema_from_crd(version["schema"]["openAPIV3Schema"])
            api_version = f"{spec['group']}/{version['name']}"
            names = spec["names"]
            found.append(OwnKind(api_version, names["kind"], names["plural"], spec["scope"] == "Namespaced", schema))
    return tuple(found)
