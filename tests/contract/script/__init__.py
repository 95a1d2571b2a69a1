"""The whole script, section by section; each has its own namespace."""

from tests.contract.script import (
    access,
    applying,
    custom_kinds,
    deleting,
    expressions,
    fixed_fields,
    kinds,
    mistakes,
    objects,
    patching,
    plain_paths,
    pods,
    rules,
    selecting,
    watching,
)
from tests.contract.step import Step

STEPS: list[Step] = [
    *plain_paths.STEPS,
    *objects.STEPS,
    *selecting.STEPS,
    *patching.STEPS,
    *applying.STEPS,
    *watching.STEPS,
    *kinds.STEPS,
    *rules.STEPS,
    *mistakes.STEPS,
    *fixed_fields.STEPS,
    *pods.STEPS,
    *custom_kinds.STEPS,
    *expressions.STEPS,
    *deleting.STEPS,
    *access.STEPS,
]
