"""Admission that is asked for by hostile objects: policies, webhooks and rules, then writes that they speak of."""

from __future__ import annotations

import random
from typing import Any

from tests.fuzz.odd import mutated
from tests.fuzz.requests.case import Sent, request
from tests.fuzz.requests.corpus import NAMESPACE, bodies
from tests.fuzz.requests.wording import as_json

Obj = dict[str, Any]
_GROUP = "/apis/admissionregistration.k8s.io/v1"
_API = "admissionregistration.k8s.io/v1"
_CONFIGS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "fuzz.example.com"
EXPRESSIONS = (
    "true",
    "false",
    "1",
    "object",
    "self",
    "object.data.a == '1'",
    "object.data.none",
    "object.data.none == 1",
    "has(object.data)",
    "has(object)",
    "object.metadata.name.matches('(a+)+$')",
    "object.data.all(k, object.data.all(l, object.data.all(m, k == l)))",
    "[1,2,3,4,5,6,7,8,9].map(x, [1,2,3,4,5,6,7,8,9].map(y, [1,2,3,4,5,6,7,8,9].map(z, x*y*z))).size() > 0",
    "'" + "a" * 3000 + "'.matches('" + "a*" * 500 + "b')",
    "1/0 == 1",
    "9223372036854775807 + 1 > 0",
    "-9223372036854775808 / -1 > 0",
    "dyn(object).x.y.z",
    "object.spec.containers[0].image",
    "oldObject.data",
    "request.userInfo.username == 'x'",
    "params.data.x == '1'",
    "namespaceObject.metadata.name",
    "authorizer.group('').resource('pods').check('get').allowed()",
    "authorizer.serviceAccount('', '').path('').check('').reason()",
    "variables.a",
    "variables.a == variables.b",
    "quantity('x').isLessThan(quantity('1'))",
    "url('http://[').getHost() == ''",
    "ip('x') == ip('y')",
    "cidr('10.0.0.0/99').containsIP('1.1.1.1')",
    "'x'.find('[')",
    "'%s%d%z'.format([1])",
    "timestamp('x') < timestamp('y')",
    "duration('999999999h') > duration('1s')",
    "optional.none().value() == 1",
    "object.?data.?a.orValue('') == ''",
    "cel.bind(x, 1, x)",
    "sets.contains([1],[2])",
    "((((((((((((((((((((((((((((((((true))))))))))))))))))))))))))))))))",
    "!" * 300 + "true",
    "[" * 200,
    "a.b." * 500 + "c",
    "'\ud800'" if False else "'\\ud800' == ''",
    "b'\\xff' == b''",
    "type(object) == type(1)",
    "object == {}",
    "object.metadata == Object.metadata{}",
    "Object{data: {'a': '2'}}",
    "Object{data: Object.data{a: 7}}",
    "Object{metadata: Object.metadata{labels: {'a': 'b'}, name: 'other'}}",
    "Object{spec: Object.spec{replicas: 'x'}}",
    "[JSONPatch{op: 'add', path: '/data/x', value: 'y'}]",
    "[JSONPatch{op: 'remove', path: '/metadata'}]",
    "[JSONPatch{op: 'replace', path: '', value: 1}]",
    "[JSONPatch{op: 'odd', path: 'x'}]",
    "[JSONPatch{}]",
    "[JSONPatch{op: 'move', from: '/data', path: '/data/x'}]",
    "JSONPatch{}",
    "jsonpatch.escapeKey('~/')",
    "\x00",
    "",
    "'é'",
    "/* x",
    "// x\ntrue",
)


def admission_case(chance: random.Random) -> list[Sent]:
    """Return requests that configure admission, write an object, and take the configuration away again."""
    kind = chance.random()
    if kind < 0.35:
        return _policy(chance, "Validating")
    if kind < 0.65:
        return _policy(chance, "Mutating")
    if kind < 0.85:
        return _webhook(chance)
    return _custom_rule(chance)


def _policy(chance: random.Random, sort: str) -> list[Sent]:
    plural = f"{sort.lower()}admissionpolicies"
    policy = _manifest(f"{sort}AdmissionPolicy", _policy_spec(chance, sort))
    binding: Obj = {"policyName": NAME}
    if sort == "Validating":
        binding["validationActions"] = chance.choice((["Deny"], ["Warn", "Audit"], ["Deny", "Warn"], []))
    if chance.random() < 0.2:
        binding["paramRef"] = chance.choice(
            ({"name": "a", "parameterNotFoundAction": "Allow"}, {"selector": {}, "parameterNotFoundAction": "Deny"}, {})
        )
    bound = _manifest(f"{sort}AdmissionPolicyBinding", binding)
    if chance.random() < 0.4:
        policy = mutated(chance, policy, bodies())
    if chance.random() < 0.2:
        bound = mutated(chance, bound, bodies())
    bindings = f"{sort.lower()}admissionpolicybindings"
    return [
        request("POST", f"{_GROUP}/{plural}", as_json(policy)),
        request("POST", f"{_GROUP}/{bindings}", as_json(bound)),
        *_writes(chance),
        *_gone(plural),
        *_gone(bindings),
    ]


def _policy_spec(chance: random.Random, sort: str) -> Obj:
    def expression() -> str:
        return chance.choice(EXPRESSIONS)

    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"]}
    spec: Obj = {"matchConstraints": {"resourceRules": [rule]}, "failurePolicy": chance.choice(("Fail", "Ignore"))}
    if chance.random() < 0.3:
        spec["matchConditions"] = [{"name": f"c{number}", "expression": expression()} for number in range(2)]
    if chance.random() < 0.4:
        spec["variables"] = [{"name": name, "expression": expression()} for name in ("a", "b")]
    if chance.random() < 0.2:
        spec["paramKind"] = {"apiVersion": "v1", "kind": chance.choice(("ConfigMap", "Secret", "Nothing"))}
    if sort == "Validating":
        spec["validations"] = [
            {"expression": expression(), "messageExpression": expression(), "reason": "Invalid"}
            for _ in range(chance.choice((1, 1, 3)))
        ]
        if chance.random() < 0.2:
            spec["auditAnnotations"] = [{"key": "k", "valueExpression": expression()}]
    else:
        spec["reinvocationPolicy"] = chance.choice(("Never", "IfNeeded"))
        spec["mutations"] = [
            chance.choice(
                (
                    {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression()}},
                    {"patchType": "JSONPatch", "jsonPatch": {"expression": expression()}},
                )
            )
            for _ in range(chance.choice((1, 1, 3)))
        ]
    return spec


def _webhook(chance: random.Random) -> list[Sent]:
    sort = chance.choice(("Validating", "Mutating"))
    plural = f"{sort.lower()}webhookconfigurations"
    hook = {
        "name": NAME,
        # Port 9 of loopback refuses at once.
        "clientConfig": chance.choice(
            (
                {"url": "https://127.0.0.1:9/x"},
                {"url": "https://[::1]:9/"},
                {"service": {"namespace": NAMESPACE, "name": "a", "path": "/x", "port": 443}},
                {"url": "https://127.0.0.1:9/x", "caBundle": "bm90IGEgY2VydGlmaWNhdGU="},
            )
        ),
        "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["configmaps"]}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 1,
        "failurePolicy": chance.choice(("Fail", "Ignore")),
        "matchConditions": [{"name": "c", "expression": chance.choice(EXPRESSIONS)}],
    }
    config: Obj = {**_manifest(f"{sort}WebhookConfiguration", {}), "webhooks": [hook]}
    del config["spec"]
    if chance.random() < 0.6:
        config = mutated(chance, config, bodies())
    return [request("POST", f"{_GROUP}/{plural}", as_json(config)), *_writes(chance), *_gone(plural)]


def _custom_rule(chance: random.Random) -> list[Sent]:
    def rule() -> Obj:
        return {"rule": chance.choice(EXPRESSIONS), "messageExpression": chance.choice(EXPRESSIONS)}

    inner = {
        "type": "object",
        "x-kubernetes-validations": [rule()],
        "properties": {
            "a": {"type": "string", "pattern": chance.choice(("(a+)+$", "[", "^x$", "(?=a)", "\\p{Greek}"))},
            "n": {"type": "integer", "x-kubernetes-validations": [rule()], "default": chance.choice((1, "x", None))},
            "l": {"type": "array", "maxItems": 5, "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        },
    }
    schema = {"type": "object", "properties": {"spec": inner}}
    spec = {
        "group": "fuzz.example.com",
        "scope": "Namespaced",
        "names": {"plural": "oddities", "kind": "Oddity"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }
    crd: Any = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "oddities.fuzz.example.com"},
        "spec": spec,
    }
    if chance.random() < 0.4:
        crd = mutated(chance, crd, bodies())
    path = f"/apis/fuzz.example.com/v1/namespaces/{NAMESPACE}/oddities"
    odd: Any = {
        "apiVersion": "fuzz.example.com/v1",
        "kind": "Oddity",
        "metadata": {"name": "a"},
        "spec": {"a": "a" * 40, "n": 3, "l": ["a", "b"]},
    }
    return [
        request("POST", _CRDS, as_json(crd)),
        request("POST", path, as_json(odd)),
        request("PUT", f"{path}/a", as_json(mutated(chance, odd))),
        request("GET", path, b"", "", ("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")),
        request("GET", "/openapi/v3/apis/fuzz.example.com/v1"),
        request("DELETE", f"{path}/a"),
        request("DELETE", f"{_CRDS}/oddities.fuzz.example.com"),
    ]


def _writes(chance: random.Random) -> list[Sent]:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "admitted"}, "data": {"a": "1", "b": "2"}}
    return [
        request("POST", _CONFIGS, as_json(config)),
        request(
            "PATCH",
            f"{_CONFIGS}/admitted",
            as_json({"data": {"a": chance.choice("123")}}),
            "application/merge-patch+json",
        ),
        request("DELETE", f"{_CONFIGS}/admitted"),
    ]


def _gone(plural: str) -> list[Sent]:
    return [request("DELETE", f"{_GROUP}/{plural}")]


def _manifest(kind: str, spec: Obj) -> Obj:
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": NAME}, "spec": spec}
