"""Whether the rules of a CustomResourceDefinition can become too costly for any object that its schema allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hanse.apiserver.cel.validations import Validation
from hanse.apiserver.status import FieldProblem, forbidden_value
from hanse.kube.cel.costs import DeclaredSizes, estimate
from hanse.kube.cel.costs.amounts import MOST
from hanse.kube.cel.costs.declared_sizes import extent_of, repetitions
from hanse.kube.schemas import Schema

EXPRESSION_LIMIT = 10_000_000
DEFINITION_LIMIT = 100_000_000
_NAMED = 4
_HINT = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"  # noqa: E501 - one sentence of upstream's
_TOTAL = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
_SHARE = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"


@dataclass(slots=True)
class CostChecks:
    """The estimates of one schema's rules, added up as the rules are visited."""

    settled: bool = False
    """Whether the schema is stored already, so that no single rule is held against it any more."""
    _total: int = 0
    _dearest: list[tuple[int, str]] = field(default_factory=list)

    def rule_problems(
        self, validation: Validation, schema: Schema, at: str, *, root: bool, times: int | None
    ) -> Iterator[FieldProblem]:
        """Yield what is too costly in a rule; `times` is how often its place can occur, None for without limit."""
        extent = extent_of(schema, root=root or schema.embedded_resource)
        if extent is None:
            return
        sizes = DeclaredSizes(extent)
        often = times if times is not None else repetitions(extent)
        cost = min(estimate(validation.rule.cost.tree, sizes).most * often, MOST)
        yield from self._observe(cost, f"{at}.rule", "estimated rule cost")
        if validation.message_rule is not None:
            cost = estimate(validation.message_rule.cost.tree, sizes).most
            yield from self._observe(cost, f"{at}.messageExpression", "estimated messageExpression cost")

    def total_problems(self, at: str) -> Iterator[FieldProblem]:
        """Yield the problem of rules that are too costly together, after those that contribute most."""
        if self._total <= DEFINITION_LIMIT:
            return
        for _, place in sorted(self._dearest, key=lambda one: -one[0])[:_NAMED]:
            yield forbidden_value(place, _SHARE)
        yield forbidden_value(at, _exceeded(_TOTAL, self._total, DEFINITION_LIMIT))

    def _observe(self, cost: int, at: str, named: str) -> Iterator[FieldProblem]:
        self._total = min(self._total + cost, MOST)
        if cost >= DEFINITION_LIMIT // 100:
            self._dearest.append((cost, at))
        if cost > EXPRESSION_LIMIT and not self.settled:
            yield forbidden_value(at, _exceeded(named, cost, EXPRESSION_LIMIT))


def multiplied(times: int | None, schema: Schema) -> int | None:
    """Return how often what is inside of a list or map can occur, if that itself can `times`; None without limit."""
    limit = schema.max_items if schema.type == "array" else schema.max_properties
    return None if times is None or limit is None else min(times * max(limit, 0), MOST)


def _exceeded(named: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{named} exceeds budget by factor of {shown} {_HINT}"
