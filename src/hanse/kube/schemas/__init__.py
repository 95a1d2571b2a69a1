"""What manifests may hold: schemas of built-in kinds and of CRDs, and what follows from them.

`schema_for` and `schema_from_crd` give a `Schema`; `structural` prunes, fills defaults and validates with it.
"""

from hanse.kube.schemas.builtin import openapi_definitions, schema_for
from hanse.kube.schemas.crds import schema_from_crd
from hanse.kube.schemas.schema import Schema

__all__ = ["Schema", "openapi_definitions", "schema_for", "schema_from_crd"]
