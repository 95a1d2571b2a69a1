"""Bodies against their kind's schema: wrong types, unknown fields, defaults and rules of custom kinds."""

from __future__ import annotations

from hanse.apiserver import status
from hanse.apiserver.core import Call
from hanse.apiserver.registry import Served
from hanse.apiserver.status import FieldProblem
from hanse.kube.manifest import Obj


def check_shape(call: Call, obj: Obj) -> None:
    """Refuse what the kind cannot hold and drop what it does not know, as fieldValidation says."""


def fill_custom_defaults(kind: Served, obj: Obj) -> None:
    """Fill in the defaults of a custom kind's schema."""


def custom_problems(kind: Served, obj: Obj) -> list[FieldProblem]:
    """Check a custom object against its schema."""
    return []
