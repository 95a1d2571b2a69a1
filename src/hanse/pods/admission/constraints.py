"""Reading the constraints that a user writes into an annotation, as strictly as an API server reads a pod."""

from __future__ import annotations

from functools import lru_cache

from hanse.kube.manifest import Obj
from hanse.kube.schemas.builtin import definition
from hanse.kube.schemas.decoding import decode_errors
from hanse.pods.strict_yaml import BadYaml, read_yaml

CONSTRAINT_FIELDS = ("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints")
LONGEST_BYTES = 8 * 1024
# The same annotation is on every pod of a workload.
_REMEMBERED = 256
_POD = "io.k8s.api.core.v1.Pod"


class BadConstraints(ValueError):
    """Constraints that cannot be read, and why, in a sentence."""


@lru_cache(maxsize=_REMEMBERED)
def read_constraints(text: str) -> Obj:
    """Return the constraints in a text, which are not to be changed; raises BadConstraints."""
    try:
        found = read_yaml(text, LONGEST_BYTES)
    except BadYaml as error:
        raise BadConstraints(str(error)) from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BadConstraints(f"it must be a mapping with some of {', '.join(CONSTRAINT_FIELDS)}")
    for name in found:
        if name not in CONSTRAINT_FIELDS:
            raise BadConstraints(f"{name} does not choose a cluster; it must be one of {', '.join(CONSTRAINT_FIELDS)}")
    _check_types(found)
    return {name: value for name, value in found.items() if value is not None}


def _check_types(found: Obj) -> None:
    errors = decode_errors(definition(_POD), {"apiVersion": "v1", "kind": "Pod", "spec": found})
    if errors.refusal:
        raise BadConstraints(errors.refusal)
    if errors.unknown:
        raise BadConstraints(f"there is no field {errors.unknown[0].removeprefix('spec.')} in a pod's spec")
