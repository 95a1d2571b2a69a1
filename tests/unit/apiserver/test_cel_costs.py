"""What expressions cost: estimates from a schema's limits, and budgets at evaluation."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from hanse.apiserver.cel.definition_checks import rule_problems
from hanse.apiserver.cel.schema_rules import apply_rules, rule_tree
from hanse.kube.cel import CostError, compile_rule
from hanse.kube.cel.costs import Budget, DeclaredSizes, estimate
from hanse.kube.cel.costs.declared_sizes import extent_of
from hanse.kube.cel.declared import DYNAMIC, Declarations, self_type
from hanse.kube.manifest import Obj
from hanse.kube.schemas import schema_from_crd

NUMBER: Obj = {"type": "number"}
TEXT: Obj = {"type": "string"}
SHORT: Obj = {"type": "string", "maxLength": 10}
DATE_TIME: Obj = {"type": "string", "format": "date-time"}


def array(items: Obj, **limits: int) -> Obj:
    return {"type": "array", "items": items, **limits}


def mapping(values: Obj, **limits: int) -> Obj:
    return {"type": "object", "additionalProperties": values, **limits}


def record(**properties: Obj) -> Obj:
    return {"type": "object", "properties": properties}


NAMED: Obj = {**record(required=TEXT, optional=TEXT), "required": ["required"]}


# The figures are those that upstream's own tests hold its estimates to.
@pytest.mark.parametrize(
    ("schema", "rule", "cost"),
    [
        (array(NUMBER), "self.all(x, true)", 4718591),
        (array(NUMBER, maxItems=10), "self.all(x, true)", 32),
        (array(TEXT), "self.all(x, true)", 3145727),
        (array({"type": "boolean"}), "self.all(x, true)", 1887437),
        (array(NAMED), "self.all(x, true)", 555128),
        (mapping(NUMBER), "self.all(x, true)", 1348169),
        (mapping(TEXT, maxProperties=3), "self.all(x, true)", 11),
        (TEXT, "self.contains('test')", 314574),
        (SHORT, "self.contains('test')", 5),
        (TEXT, "self.startsWith('test')", 2),
        (TEXT, "size(self + 'hello') > size('hello')", 314578),
        (array(TEXT), "self[1] == self[1]", 314577),
        (array(NUMBER, maxItems=10), "self.all(x, self.all(y, self.all(z, true)))", 3552),
        (TEXT, "self.matches('x')", 314574),
        ({**TEXT, "maxLength": 50}, "self.matches('x')", 22),
        (TEXT, "''.matches('(((((((((())))))))))[0-9]')", 7),
        (array(NUMBER), "self.all(x, x == 0.0)", 6291454),
        (mapping(TEXT), "self.all(x, x.contains(self[x]))", 2752507),
        (array({"x-kubernetes-int-or-string": True}), "self[0] == 5", 3),
        (array(array(NUMBER)), "self[0][0] == -1.0", 3),
        (array(mapping(NUMBER)), "self.all(x, x.y == 25.2)", 6291452),
        (array({"type": "string", "format": "duration"}), "self[0].getHours() == 2", 4),
        (array({"type": "string", "format": "date"}), "self.all(x, true)", 725936),
        (mapping(DATE_TIME), "self['a'] == self['b']", 8),
        (TEXT, "self.find('[0-9]+') == ''", 629147),
        (array(TEXT), "self.join(' ') == 'aa bb'", 329853068905),
        (array(SHORT, maxItems=10), "self.join(' ') == 'aa bb'", 43),
        (array(SHORT, maxItems=10), "self.isSorted() == true", 52),
        (TEXT, "self.lowerAscii() == 'lower!'", 314575),
        (mapping({"type": "integer"}), "oldSelf.size() == self.size()", 5),
        (
            record(str=TEXT, before={**TEXT, "maxLength": 2}, after={**TEXT, "maxLength": 4}),
            "self.str.replace(self.before, self.after) == 'does not matter'",
            629154,
        ),
        (record(str=TEXT, separator=TEXT), "self.str.split(self.separator) == []", 629160),
    ],
)
def test_an_expression_is_estimated_as_upstream_estimates_it(schema: Obj, rule: str, cost: int) -> None:
    parsed = schema_from_crd(schema)
    kind, messages = self_type(parsed, root=False)
    extent = extent_of(parsed)
    assert kind is not None
    assert extent is not None
    compiled = compile_rule(rule, Declarations({"self": kind, "oldSelf": kind}, messages))

    assert estimate(compiled.cost.tree, DeclaredSizes(extent)).most == cost


def definition(schema: Obj, *rules: str, **more: Any) -> Obj:
    return record(spec={**schema, "x-kubernetes-validations": [{"rule": rule, **more} for rule in rules]})


HINT = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"  # noqa: E501 - one sentence
NESTED = "self.all(x, self.all(y, x == y))"


@pytest.mark.parametrize(
    ("schema", "problems"),
    [
        (definition(array(NUMBER, maxItems=100), NESTED), []),
        (
            definition(array(NUMBER), NESTED),
            [
                ("$.properties[spec].x-kubernetes-validations[0].rule", "estimated rule cost", "more than 100x"),
                ("$.properties[spec].x-kubernetes-validations[0].rule", "contributed to estimated rule cost", ""),
                ("$", "x-kubernetes-validations estimated rule cost total", "more than 100x"),
            ],
        ),
        (
            definition(array(NUMBER, maxItems=1500), "self.all(x, self.all(y, x <= y))"),
            [("$.properties[spec].x-kubernetes-validations[0].rule", "estimated rule cost", "1.350750x")],
        ),
        (
            definition(array(TEXT), "true", messageExpression="self.join('')"),
            [
                ("$.properties[spec].x-kubernetes-validations[0].messageExpression", "estimated messageExpression", ""),
                ("$.properties[spec].x-kubernetes-validations[0].messageExpression", "contributed to", ""),
                ("$", "x-kubernetes-validations estimated rule cost total", "more than 100x"),
            ],
        ),
        (
            definition({**array(record()), "items": {**TEXT, "x-kubernetes-validations": [{"rule": "self == 'a'"}]}}),
            [],
        ),
        (
            definition({**array(record()), "items": {**TEXT, "x-kubernetes-validations": [{"rule": "self == self"}]}}),
            [
                ("$.properties[spec].items.x-kubernetes-validations[0].rule", "estimated rule cost", "more than 100x"),
                ("$.properties[spec].items.x-kubernetes-validations[0].rule", "contributed to", ""),
                ("$", "x-kubernetes-validations estimated rule cost total", "more than 100x"),
            ],
        ),
    ],
)
def test_a_rule_that_can_become_too_costly_is_refused_with_its_definition(
    schema: Obj, problems: list[tuple[str, str, str]]
) -> None:
    found = rule_problems(schema, "$")

    assert [problem.field for problem in found] == [field for field, _, _ in problems]
    for problem, (_, told, factor) in zip(found, problems, strict=True):
        assert problem.message.startswith(f"Forbidden: {told}")
        if factor:
            assert problem.message.endswith(f"exceeds budget by factor of {factor} {HINT}")


def test_a_costly_rule_that_was_accepted_before_is_not_held_against_its_schema() -> None:
    schema = definition(array(NUMBER, maxItems=1500), "self.all(x, self.all(y, x <= y))")

    assert rule_problems(schema, "$")
    assert not rule_problems(schema, "$", settled=True)


def test_what_was_found_once_is_found_again_until_the_schema_changes() -> None:
    schema: Obj = {"type": "object", "x-kubernetes-validations": [{"rule": "self.missing > 1"}]}
    found = rule_problems(schema, "$")
    again = rule_problems(schema, "$")
    again.clear()

    assert found
    assert rule_problems(schema, "$") == found
    schema["x-kubernetes-validations"][0]["rule"] = "true"
    assert rule_problems(schema, "$") == []


@pytest.mark.parametrize("place", ["allOf", "anyOf", "oneOf", "not"])
def test_rules_in_a_branch_are_refused(place: str) -> None:
    branch = {"properties": {"spec": {"x-kubernetes-validations": [{"rule": "true"}]}}}
    schema = {**record(spec=record()), place: branch if place == "not" else [branch]}
    at = place if place == "not" else f"{place}[0]"

    assert [(problem.field, problem.message) for problem in rule_problems(schema, "$")] == [
        (f"$.{at}.properties[spec].x-kubernetes-validations", "Forbidden: must be empty to be structural")
    ]


def doubled(times: int) -> str:
    source = f"v{times}.size() > 0"
    for place in range(times, 0, -1):
        former = "self.text" if place == 1 else f"v{place - 1}"
        source = f"cel.bind(v{place}, {former} + {former}, {source})"
    return source


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("self.list.all(x, self.text.matches('(a|aa)+$b?'))", {"list": [1] * 9000, "text": "a" * 100_000}),
        ("self.list.all(x, self.list.all(y, self.list.all(z, x + y + z > 0)))", {"list": [1] * 60}),
        (doubled(28), {"text": "x" * 100}),
        (
            "self.list.map(x, self.text + self.text).join('').contains(self.text)",
            {"list": [1] * 99, "text": "x" * 9999},
        ),
    ],
)
def test_a_hostile_expression_is_not_evaluated(source: str, value: Any) -> None:
    rule = compile_rule(source, Declarations({"self": DYNAMIC}))
    with pytest.raises(CostError, match="actual cost limit exceeded"):
        rule.evaluate({"self": value}, Budget(len(orjson.dumps(value))))


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("self.list.all(x, self.list.exists_one(y, x == y))", {"list": list(range(90)), "text": "x" * 100_000}),
        ("self.text.split(',').all(x, x.matches('[a-z]+'))", {"text": "abc," * 200 + "d"}),
        ("self.list.map(x, x * 2).sum() == 90", {"list": list(range(10)), "text": "x" * 2_000_000}),
    ],
)
def test_a_large_object_costs_only_what_the_expression_looks_at(source: str, value: Any) -> None:
    rule = compile_rule(source, Declarations({"self": DYNAMIC}))

    assert rule.evaluate({"self": value}, Budget(len(orjson.dumps(value)))) is True


def test_expressions_share_a_budget() -> None:
    rule = compile_rule("self > 0", Declarations({"self": DYNAMIC}))
    budget = Budget(1, 3 * rule.cost.least)
    for _ in range(3):
        assert rule.evaluate({"self": 1}, budget) is True
    with pytest.raises(CostError, match="running out of cost budget") as caught:
        rule.evaluate({"self": 1}, budget)

    assert not caught.value.alone


def test_no_further_rule_of_an_object_is_asked_after_one_that_costs_too_much() -> None:
    tree = rule_tree(schema_from_crd(definition(array(NUMBER), "self.all(x, self.all(y, x <= y))", "false")))
    assert tree is not None
    findings = apply_rules(tree, {"spec": [1] * 600}, None)

    told = (
        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost "
        "exceeds limit for rule: self.all(x, self.all(y, x <= y))"
    )
    assert [(problem.field, problem.message) for problem in findings.problems] == [
        ("spec", f'Invalid value: "array": {told}')
    ]
