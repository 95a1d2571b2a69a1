"""The variables of one request's expressions, and matchConditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson

from hanse.apiserver.admission.attributes import Attributes, admission_request
from hanse.apiserver.authorization import Attributes as Asked
from hanse.apiserver.authorization import authorize
from hanse.apiserver.cel.admission_expressions import Scope, expression
from hanse.apiserver.core import Core
from hanse.apiserver.identity import Identity, service_account_groups, split_service_account
from hanse.kube.cel.costs import CONDITIONS_BUDGET, OBJECT_BUDGET, Budget
from hanse.kube.cel.library.authorizer import Check, answering, question
from hanse.kube.cel.rule import CompileError, CostError, EngineMissing, EvaluationError, Rule
from hanse.kube.manifest import Obj


class Activation:
    """The variables of one request; `variables` are evaluated when an expression first needs them."""

    def __init__(self, core: Core, attributes: Attributes, asked: Attributes, namespace: Obj | None) -> None:
        self._check = _check_for(core, attributes.identity)
        self._lost: dict[str, str] = {}
        self._budget: Budget | None = None
        group, _, plural = attributes.resource
        parts = {"group": group, "resource": plural, "subresource": attributes.subresource}
        parts |= {"namespace": attributes.namespace, "name": attributes.name}
        self._values: dict[str, Any] = {
            "object": attributes.object,
            "oldObject": attributes.old,
            "request": admission_request(attributes, asked),
            "namespaceObject": namespace,
            "params": None,
            "authorizer": question(),
            "authorizer.requestResource": question(**{name: value for name, value in parts.items() if value}),
            "variables": {},
        }

    def bind(self, **values: Any) -> None:
        """Set variables."""
        self._values |= values

    @contextmanager
    def hiding(self, variable: str) -> Iterator[None]:
        """Have a variable hold nothing for the length of a block."""
        value, self._values[variable] = self._values[variable], None
        try:
            yield
        finally:
            self._values[variable] = value

    def new_budget(self, allowed: int = OBJECT_BUDGET) -> Budget:
        """Return a budget for expressions about this request."""
        seen = [self._values[name] for name in ("object", "oldObject", "params", "namespaceObject", "variables")]
        return Budget(len(orjson.dumps(seen, default=str, option=orjson.OPT_NON_STR_KEYS)), allowed)

    def lose(self, variable: str, why: str) -> None:
        """Note that one of the policy's variables has no value: those that use it have none either."""
        self._lost[variable] = why

    def evaluate(self, rule: Rule | CompileError, budget: Budget | None = None) -> Any:
        """Return an expression's value; raises EvaluationError, also for one that never compiled.

        Without a `budget` of its own it is paid from the one that all of the request's expressions share.
        """
        if isinstance(rule, CompileError):
            raise EvaluationError(str(rule))
        if budget is None:
            self._budget = budget = self._budget or self.new_budget()
        with answering(self._check):
            try:
                return rule.evaluate(self._values, budget)
            except EvaluationError as error:
                if isinstance(error, CostError) and not error.alone:
                    raise
                told = self._lost.get(str(error).removeprefix("no such key: "), str(error))
                raise EvaluationError(f"expression '{rule.source}' resulted in error: {told}") from None


def _check_for(core: Core, identity: Identity) -> Check:
    def check(parts: Mapping[str, str]) -> tuple[bool, str]:
        who = _service_account(parts["user"]) if "user" in parts else identity
        if "path" in parts:
            asked = Asked(parts["verb"], path=parts["path"])
        else:
            named = ("group", "resource", "subresource", "namespace", "name")
            asked = Asked(parts["verb"], **{name: parts.get(name, "") for name in named})
        decision = authorize(core, who, asked)
        return decision.allowed, decision.reason

    return check


def _service_account(user: str) -> Identity:
    named = split_service_account(user)
    return Identity(user, service_account_groups(named[0]) if named else ())


def conditions_hold(conditions: list[Obj], activation: Activation, scope: Scope) -> bool:
    """Tell whether all matchConditions are true: one that is false decides, before any that fails; raises then.

    A condition may name the namespace and finds none: a kube-apiserver gives it to validations alone.
    """
    if not conditions:
        return True
    failures = []
    budget = activation.new_budget(CONDITIONS_BUDGET)
    with activation.hiding("namespaceObject"):
        for condition in conditions:
            try:
                if activation.evaluate(expression(str(condition["expression"]), ("BOOL",), scope), budget) is False:
                    return False
            except (EvaluationError, EngineMissing) as error:
                failures.append(str(error))
    if failures:
        told = failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
        raise EvaluationError(told)
    return True
