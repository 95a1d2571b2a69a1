"""The `variables` of a policy: expressions with names, that later ones may use."""

from __future__ import annotations

from typing import Any

from hanse.apiserver.admission.conditions import Activation
from hanse.apiserver.cel.admission_expressions import expression, scope_of
from hanse.kube.cel.rule import EvaluationError
from hanse.kube.manifest import Obj


def bind_variables(activation: Activation, spec: Obj) -> None:
    """Evaluate a policy's variables in their order; one without a value is missed only by those who use it."""
    values: dict[str, Any] = {}
    for place, variable in enumerate(spec.get("variables") or ()):
        rule = expression(str(variable["expression"]), (), scope_of(spec, before=place))
        name = str(variable["name"])
        try:
            values[name] = activation.evaluate(rule)
        except EvaluationError as error:
            activation.lose(name, f'composited variable "{name}" fails to evaluate: {error}')
        activation.bind(variables=dict(values))
