"""Expressions: the functions that Kubernetes adds, the types of schemas, and the sentences of mistakes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from hanse.apiserver.cel.literals import as_maps, as_types
from hanse.kube.cel import CompileError, EvaluationError, compile_rule
from hanse.kube.cel.declared import DYNAMIC, Declarations, escaped, self_type, type_name
from hanse.kube.cel.rule import mentions
from hanse.kube.schemas import schema_from_crd

SELF = Declarations({"self": DYNAMIC})
DATA = {"self": {"numbers": [1, 3, 2], "text": "abc", "map": {"a": 1, "b": 2}, "none": None}}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("quantity('1Gi').isGreaterThan(quantity('500Mi'))", True),
        ("quantity('1k') == quantity('1000')", True),
        ("quantity('50k').add(20).asInteger()", 50020),
        ("quantity('1').sub(quantity('500m')).asApproximateFloat()", 0.5),
        ("quantity('-3').sign()", -1),
        ("quantity('1.5').isInteger()", False),
        ("quantity('1').compareTo(quantity('2'))", -1),
        ("isQuantity('1x')", False),
        ("ip('10.0.0.1').family()", 4),
        ("ip('::1') == ip('0:0::1')", True),
        ("ip('127.0.0.1').isLoopback() && !ip('127.0.0.1').isGlobalUnicast()", True),
        ("ip('224.0.0.7').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast()", True),
        ("isIP('::ffff:1.2.3.4') || isIP('01.2.3.4') || isIP('fe80::1%eth0')", False),
        ("ip.isCanonical('::1')", True),
        ("ip.isCanonical('0::1')", False),
        ("string(ip('10.0.0.1'))", "10.0.0.1"),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.1.2.3'))", True),
        ("cidr('10.0.0.0/8').containsCIDR('10.2.0.0/16') && !cidr('10.0.0.0/8').containsCIDR('::/0')", True),
        ("cidr('10.2.0.0/8').masked() == cidr('10.0.0.0/8')", True),
        ("cidr('10.2.0.0/8').prefixLength()", 8),
        ("cidr('10.2.0.0/8').ip() == ip('10.2.0.0')", True),
        ("isCIDR('10.0.0.0/33') || isCIDR('10.0.0.0')", False),
        ("url('https://user@example.com:80/a b?k=1&k=2').getHost()", "example.com:80"),
        ("url('https://[::1]:80/').getHostname()", "::1"),
        ("url('https://example.com:80/a b').getEscapedPath()", "/a%20b"),
        ("url('https://example.com/?k=1&k=2').getQuery()['k']", ["1", "2"]),
        ("url('https://example.com/').getPort() + url('/a').getScheme()", ""),
        ("isURL('a/b') || isURL('')", False),
        ("self.numbers.isSorted() || [1, 2].isSorted()", True),
        ("self.numbers.sum() + self.numbers.max() + self.numbers.min()", 10),
        ("self.numbers.indexOf(2) + self.text.indexOf('c')", 4),
        ("[1, 2, 1].lastIndexOf(1)", 2),
        ("[].sum()", 0),
        ("'abc123'.find('[0-9]+')", "123"),
        ("'a1b2'.findAll('[0-9]')", ["1", "2"]),
        ("'a1b2'.findAll('[0-9]', 1)", ["1"]),
        ("'xaab(c)'.find('(?P<twice>a(a))(b)[(]')", "aab("),
        ("'one(two)'.findAll(r'[()]|\\Q(\\E|w(o)')", ["(", "wo", ")"]),
        ("('a' + 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!').find('^(a+)+$')", ""),
        ("{'a': 1}.transformMap(k, v, v + 1)", {"a": 2}),
        ("[3].transformMap(i, v, v)", {0: 3}),
        ("self.map.transformMapEntry(k, v, v > 1, {v: k})", {2: "b"}),
        ("self.numbers.transformList(i, v, i > 0, v * 10)", [30, 20]),
        ("self.map.exists(k, v, k == 'b' && v == 2) && self.numbers.existsOne(i, v, i == v)", True),
        ("semver('1.2.3').isLessThan(semver('1.10.0'))", True),
        ("semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))", True),
        ("semver('v1.2', true).minor()", 2),
        ("isSemver('1.2') || isSemver('v1.2.3')", False),
        ("format.dns1123Label().validate('a-b').hasValue()", False),
        ("format.dns1123Label().validate('A').value().size()", 1),
        ("format.named('uuid').hasValue() && !format.named('nothing').hasValue()", True),
        ("self.?absent.orValue('none')", "none"),
        ("optional.of(3).hasValue() && optional.of(3).orValue(4) == 3", True),
        ("self.map.all(key, value, value > 0)", True),
        ("self.numbers.map(n, n * 2).filter(n, n > 3)", [6, 4]),
        ("'a,b'.split(',').join('-') + 'X'.lowerAscii()", "a-bx"),
        ("sets.contains([1, 2], [1])", True),
        ("math.greatest(1, 2)", 2),
        ("jsonpatch.escapeKey('a/b~c')", "a~1b~0c"),
        ("has(self.none) && self.none == null && !has(self.absent)", True),
    ],
)
def test_an_expression_has_the_value_that_kubernetes_gives_it(source: str, value: Any) -> None:
    assert compile_rule(source, SELF).evaluate(DATA) == value


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("self.absent", "no such key: absent"),
        ("'a'.find('(?=a)')", "Illegal regex: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ("'aa'.findAll(r'(a)\\1')", "Illegal regex: error parsing regexp: invalid escape sequence: `\\1`"),
        ("'a'.matches(self.text + '(')", "error parsing regexp: missing closing ): `abc(`"),
        ("['a'].transformMapEntry(i, v, {'k': v, 'l': v}).m", "no such key: m"),
        ("self.numbers[9]", "index out of bounds: 9"),
        ("1 / (self.map.a - 1)", "division by zero"),
        ("self.text > 1", "no such overload"),
        ("self.text.deeper", "no such overload"),
        ("[].max()", "max called on empty list"),
        ("self.map.a + 9223372036854775807", "integer overflow"),
        ("quantity(self.text)", "quantities must match the regular expression"),
        ("self.text.family()", "no such overload"),
    ],
)
def test_an_expression_without_a_value_says_why(source: str, message: str) -> None:
    with pytest.raises(EvaluationError) as failure:
        compile_rule(source, SELF).evaluate(DATA)
    assert str(failure.value).startswith(message)


SCHEMA = schema_from_crd(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "replicas": {"type": "integer"},
                    "ratio": {"type": "number"},
                    "when": {"type": "string", "format": "date-time"},
                    "namespace": {"type": "string"},
                    "dashed-name": {"type": "string"},
                    "port": {"x-kubernetes-int-or-string": True},
                    "tags": {"type": "object", "additionalProperties": {"type": "string"}},
                    "nested": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
                    "parts": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"name": {"type": "string", "nullable": True}}},
                    },
                },
            }
        },
    }
)


def compiled(source: str) -> str:
    kind, messages = self_type(SCHEMA, root=True)
    assert kind is not None
    return compile_rule(source, Declarations({"self": kind}, messages)).kind


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("self.spec.replicas", "INT"),
        ("self.spec.ratio", "DOUBLE"),
        ("self.spec.when", "TIMESTAMP"),
        ("self.spec.__namespace__ + self.spec.dashed__dash__name", "STRING"),
        ("self.spec.port", "DYN"),
        ("self.spec.tags", "MAP<STRING, STRING>"),
        ("self.spec.nested", "LIST<DYN>"),
        ("self.spec.parts.all(part, part.name == null || part.name != '')", "BOOL"),
        ("self.metadata.name + self.kind + self.apiVersion", "STRING"),
    ],
)
def test_a_schema_gives_its_fields_types(source: str, kind: str) -> None:
    assert compiled(source) == kind


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("self.spec.nope", "ERROR: <input>:1:10: undefined field 'nope'\n | self.spec.nope\n | .........^"),
        ("self.spec.parts.all(p, p.x == '')", "ERROR: <input>:1:25: undefined field 'x'"),
        ("self.metadata.labels", "ERROR: <input>:1:14: undefined field 'labels'"),
        ("self.spec.replicas > 'x'", "found no matching overload for '_>_' applied to '(int, string)'"),
        ("self.spec.replicas.x", "ERROR: <input>:1:19: type 'int' does not support field selection"),
        (
            "nobody.there.x == 1",
            "ERROR: <input>:1:1: undeclared reference to 'nobody' (in container '')\n | nobody.there.x",
        ),
        (
            "self.kind.matches('(')",
            "ERROR: <input>:1:19: invalid matches argument\n | self.kind.matches('(')\n | ..................^",
        ),
        ("true\n  || duration('1y') == duration('1h')", "ERROR: <input>:2:15: invalid duration argument"),
        ("timestamp('now') < timestamp('2024-01-01T00:00:00Z')", "ERROR: <input>:1:11: invalid timestamp argument"),
        ("self.spec.", "ERROR: <input>:1:11: Syntax error: no viable alternative at input '.'"),
    ],
)
def test_a_mistake_is_explained_in_upstreams_words(source: str, message: str) -> None:
    with pytest.raises(CompileError) as failure:
        compiled(source)
    assert str(failure.value).startswith("compilation failed: ")
    assert message in str(failure.value)


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("plain", "plain"),
        ("namespace", "__namespace__"),
        ("a-b.c/d", "a__dash__b__dot__c__slash__d"),
        ("a__b", "a__underscores__b"),
        ("with space", None),
        ("1st", None),
    ],
)
def test_names_are_escaped_as_upstream_escapes_them(name: str, identifier: str | None) -> None:
    assert escaped(name) == identifier


@pytest.mark.parametrize(
    ("source", "rewritten"),
    [
        ("Object{spec: Object.spec{replicas: 3}}", '{"spec": {"replicas": 3}}'),
        (
            "[JSONPatch{op: 'add', path: '/a', value: x ? y : z}]",
            '[{"op": \'add\', "path": \'/a\', "value": x ? y : z}]',
        ),
        ("Object{a: {'k': b}, ?c: d}", '{"a": {\'k\': b}, ?"c": d}'),
        ("Object{a: 'Object{b: 1}'} // Object{c: 1}", "{\"a\": 'Object{b: 1}'} // Object{c: 1}"),
        ("object.spec.Object", "object.spec.Object"),
        ("Object{a__dash__b: 1}", '{"a-b": 1}'),
    ],
)
def test_object_literals_become_maps(source: str, rewritten: str) -> None:
    assert as_maps(source) == rewritten


@pytest.mark.parametrize(
    ("source", "checked", "fields"),
    [
        ("object.x", "object.x", {"Object": set()}),
        ("Object{a: 1, ?b: c}", "Object{a: 1, ?b: c}", {"Object": {"a", "b"}}),
        (
            "Object{spec: Object.spec{list: [Object.spec.list{x: {'y': z}}]}, c: true ? 1 : 2}",
            "Object{spec: Object_spec{list: [Object_spec_list{x: {'y': z}}]}, c: true ? 1 : 2}",
            {"Object": {"spec", "c"}, "Object_spec": {"list"}, "Object_spec_list": {"x"}},
        ),
        ("'Object.spec{' + x // Object.a{", "'Object.spec{' + x // Object.a{", {"Object": set()}),
    ],
)
def test_object_literals_get_types_of_their_own(source: str, checked: str, fields: dict[str, set[str]]) -> None:
    found = as_types(source)
    assert (found.source, found.fields) == (checked, fields)


@pytest.mark.parametrize(
    ("source", "found"),
    [("self > oldSelf", True), ("self.oldSelf", False), ("'oldSelf' == self", False), ("self // oldSelf", False)],
)
def test_only_a_variable_is_a_mention(source: str, found: bool) -> None:
    assert mentions(source, "oldSelf") is found


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("INT", {"type_name": "int"}),
        ("LIST<STRING>", {"type_name": "list", "params": [{"type_name": "string"}]}),
        ("MAP<STRING, LIST<INT>>", None),
        ("selfType", DYNAMIC),
    ],
)
def test_a_written_type_is_read(written: str, kind: Any) -> None:
    inner = {"type_name": "list", "params": [{"type_name": "int"}]}
    expected = kind or {"type_name": "map", "params": [{"type_name": "string"}, inner]}
    assert type_name(written) == expected


def test_without_an_engine_the_refusal_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['cel_expr_python'] = None\n"
        "from hanse.apiserver.cel.definition_checks import rule_problems\n"
        "schema = {'type': 'object', 'x-kubernetes-validations': [{'rule': 'true'}]}\n"
        "print(rule_problems(schema, 'schema')[0].message)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == (
        "Forbidden: CEL expressions need an engine that is not installed: install cel-expr-python"
    )
