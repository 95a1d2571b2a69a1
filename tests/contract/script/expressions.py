"""CEL: what rules of definitions may say and cost, and what policies decide by it."""

from __future__ import annotations

from typing import Any

from tests.contract.step import Obj, Step, config, delete, deployment, manifest, merge, namespace, post

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
_API = "admissionregistration.k8s.io/v1"
_NUMBERS: Obj = {"type": "array", "items": {"type": "number"}}
_TEXT: Obj = {"type": "string"}
_TEXTS: Obj = {"type": "array", "items": _TEXT}


def _definition(schema: Obj, plural: str = "judges", kind: str = "Judge") -> Obj:
    root = {"type": "object", "properties": {"spec": schema}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    spec = {"group": "law.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return manifest("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.law.example.com", spec=spec)


def _ruled(schema: Obj, *rules: str | Obj) -> Obj:
    return {**schema, "x-kubernetes-validations": [{"rule": one} if isinstance(one, str) else one for one in rules]}


_REFUSED: dict[str, Obj] = {
    "a loop in a loop": _ruled(_NUMBERS, "self.all(x, self.all(y, x == y))"),
    "a loop in a loop within limits": _ruled({**_NUMBERS, "maxItems": 1500}, "self.all(x, self.all(y, x <= y))"),
    "a comparison of elements": {"type": "array", "items": _ruled(_TEXT, "self == self")},
    "a costly message": _ruled(_TEXTS, {"rule": "true", "messageExpression": "self.join('')"}),
    "two costly rules": _ruled(_TEXTS, "self.join('') == 'a'", "self.isSorted()"),
    "a pattern on elements": {"type": "array", "items": _ruled(_TEXT, "self.matches('[a-z]+')")},
    "a rule in a branch": {"type": "object", "allOf": [_ruled({}, "true")]},
    "a bad pattern": _ruled(_TEXT, "self.matches('(')"),
    "lookahead": _ruled(_TEXT, "self.matches('(?=a)b')"),
    "a bad duration": _ruled(_TEXT, "duration(self) > duration('1y')"),
    "a bad time": _ruled(_TEXT, "timestamp(self) > timestamp('now')"),
}
_ACCEPTED: dict[str, Obj] = {
    "a loop": _ruled(_NUMBERS, "self.all(x, x > 0.0)"),
    "a loop in a loop of few": _ruled({**_NUMBERS, "maxItems": 100}, "self.all(x, self.all(y, x == y))"),
    "two names": _ruled({"type": "object", "additionalProperties": _TEXT}, "self.all(k, v, k != v)"),
    "a transformed map": _ruled(
        {"type": "object", "additionalProperties": {"type": "integer"}}, "self.transformMap(k, v, v + 1).size() > 0"
    ),
    "a search": _ruled({**_TEXT, "maxLength": 100}, "self.find('(a|b)+') != ''"),
}
_JUDGES = "/apis/law.example.com/v1/namespaces/expressions/judges"
_SPEC: Obj = {
    "type": "object",
    "properties": {
        "list": _ruled({**_NUMBERS, "maxItems": 1100}, "self.all(x, self.all(y, x <= y))"),
        "text": _ruled(
            {**_TEXT, "maxLength": 2000},
            {"rule": "self.find('(b)(c)?') != 'b'", "message": "b alone"},
            {"rule": "self.findAll('[0-9]+').size() < 3", "messageExpression": "'many: ' + self.findAll('[0-9]+')[2]"},
            {"rule": "self.findAll('[0-9]+', 1) != ['7']"},
        ),
        "pattern": _ruled({**_TEXT, "maxLength": 20}, "'abc'.matches(self) && 'abc'.find(self) != ''"),
        "map": _ruled(
            {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 9},
            "self.transformMap(k, v, v + 1).all(k, v, v > 1)",
            "self.transformMapEntry(k, v, {string(v): k}).size() > 0",
        ),
    },
}


def _judge(name: str, **spec: Any) -> Obj:
    return manifest("law.example.com/v1", "Judge", name, spec=spec)


def _policy(kind: str, name: str, spec: Obj) -> Obj:
    return manifest(_API, kind, name, spec=spec)


def _constraints(*resources: str, **more: Any) -> Obj:
    rule = {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": list(resources),
        "scope": "*",
    }
    here = {"matchLabels": {"kubernetes.io/metadata.name": "expressions"}}
    return {"resourceRules": [rule], "namespaceSelector": here, **more}


def _own(name: str) -> Obj:
    """Let a policy see its own objects only: a server may hold to one for a while that is gone."""
    return {"matchConditions": [{"name": "own", "expression": f"object.metadata.name.startsWith('{name}')"}]}


def _validating(name: str, spec: Obj) -> list[Step]:
    spec = {"matchConstraints": _constraints("configmaps"), **_own(name), **spec}
    bound = {"policyName": name, "validationActions": ["Deny"]}
    return [
        post(f"policies/{name}", f"{_REGISTRATION}/validatingadmissionpolicies",
             _policy("ValidatingAdmissionPolicy", name, spec)),
        post(f"policies/{name} bound", f"{_REGISTRATION}/validatingadmissionpolicybindings",
             _policy("ValidatingAdmissionPolicyBinding", name, bound)),
    ]  # fmt: skip


def _unbound(name: str, kind: str = "validating") -> list[Step]:
    return [
        delete(f"policies/{name} unbound", f"{_REGISTRATION}/{kind}admissionpolicybindings/{name}"),
        delete(f"policies/{name} gone", f"{_REGISTRATION}/{kind}admissionpolicies/{name}"),
    ]


_CONFIGS = "/api/v1/namespaces/expressions/configmaps"
_TRY = f"{_CONFIGS}?dryRun=All"
_COSTLY = "object.metadata.labels.all(k, object.data.all(l, object.data.all(m, object.data[l].matches('(a|aa)+$b?') || true)))"  # noqa: E501 - one expression
_MANY = {f"k{place}": "a" * 1200 for place in range(60)}

_BAD_POLICIES: list[Step] = [
    *[
        post(f"policies/bad {name}", f"{_REGISTRATION}/validatingadmissionpolicies?dryRun=All",
             _policy("ValidatingAdmissionPolicy", "bad", {"matchConstraints": _constraints("pods"), **spec}))
        for name, spec in {
            "audit annotation": {"auditAnnotations": [{"key": "k", "valueExpression": "1"}]},
            "audit key": {"auditAnnotations": [{"key": "a/b/c", "valueExpression": "'x'"}]},
            "audit key twice": {"auditAnnotations": [{"key": "k", "valueExpression": "'x'"}] * 2},
            "empty audit annotation": {"auditAnnotations": [{"key": "", "valueExpression": ""}]},
            "pattern": {"validations": [{"expression": "object.metadata.name.matches('(')"}]},
        }.items()
    ],
]  # fmt: skip


def _mutating(name: str, *mutations: Obj) -> list[Step]:
    spec = {
        "matchConstraints": _constraints("configmaps", "deployments"),
        "mutations": list(mutations),
        "reinvocationPolicy": "Never",
        **_own(name),
    }
    return [
        post(f"policies/{name}", f"{_REGISTRATION}/mutatingadmissionpolicies",
             _policy("MutatingAdmissionPolicy", name, spec)),
        post(f"policies/{name} bound", f"{_REGISTRATION}/mutatingadmissionpolicybindings",
             _policy("MutatingAdmissionPolicyBinding", name, {"policyName": name})),
    ]  # fmt: skip


def _apply(expression: str) -> Obj:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def _patch(expression: str) -> Obj:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


_ADD = "[JSONPatch{op: 'add', path: '/data/n', value: '1'}]"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/expressions/deployments?dryRun=All"
_BAD_MUTATIONS: list[Step] = [
    *[
        post(f"policies/bad mutation: {name}", f"{_REGISTRATION}/mutatingadmissionpolicies?dryRun=All",
             _policy("MutatingAdmissionPolicy", "bad", {"matchConstraints": _constraints("pods"),
                     "reinvocationPolicy": "Never", "mutations": [mutation]}))
        for name, mutation in {
            "a list": _apply("[]"),
            "a map": _apply("{'metadata': {}}"),
            "a number": _apply("1"),
            "an empty list": _patch("[]"),
            "a list of maps": _patch("[{'op': 'add'}]"),
            "a patch": _patch("JSONPatch{op: 'add'}"),
            "a bad field of a patch": _patch("[JSONPatch{op: 1}]"),
            "a wrong name": _apply("Object{spec: Object.metadata{}}"),
            "an element": _patch("[Object.spec{}]"),
            "a part": _apply("Object.spec{replicas: 1}"),
            "a mistake within": _apply("Object{spec: Object.spec{replicas: 1 + 'a'}}"),
        }.items()
    ],
]  # fmt: skip

# All are set up before any is tried: a server takes a moment to notice them.
_SET_UP: list[Step] = [
    *_validating(
        "audited",
        {
            "validations": [{"expression": "object.metadata.name != 'audited-no'", "message": "refused by name"}],
            "auditAnnotations": [{"key": "who", "valueExpression": "'by ' + request.userInfo.username"}],
        },
    ),
    *_validating("warned", {"validations": [{"expression": "false", "message": "never"}]}),
    *_validating("costly", {"validations": [{"expression": _COSTLY}]}),
    *_validating(
        "dear", {"validations": [{"expression": " && ".join(["authorizer.path('/x').check('get').allowed()"] * 3)}]}
    ),
    *_mutating("labelled", _apply('Object{metadata: Object.metadata{labels: {"seen": "yes"}}}')),
    *_mutating("nothing", _patch(f"object.metadata.name == 'nothing' ? [] : {_ADD}")),
    *_mutating("atomic", _apply("Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}")),
    *_mutating("untyped", _apply("Object{spec: Object.spec{nothing: 1}}")),
]
_TRIED: list[Step] = [
    post("policies/it denies", _TRY, config("warned"), until=422),
    merge(
        "policies/let it only warn",
        f"{_REGISTRATION}/validatingadmissionpolicybindings/warned",
        {"spec": {"validationActions": ["Warn", "Audit"]}},
    ),
    post("policies/it is in force", _TRY, config("audited-no"), until=422),
    post("policies/another name", _TRY, config("audited-yes")),
    post("policies/a costly expression", _TRY, config("costly", data=_MANY, labels={"a": "b"}), until=422),
    post("policies/the same on little", _TRY, config("costly", labels={"a": "b"})),
    post("policies/three questions", _TRY, config("dear"), until=422),
    post("policies/labels by a map", _TRY, config("labelled"), until=201, until_shows='"seen":"yes"'),
    post("policies/a patch", _TRY, config("nothing-else"), until=201, until_shows='"n":"1"'),
    post("policies/no patch", _TRY, config("nothing")),
    post("policies/an atomic field", _DEPLOYMENTS, deployment("atomic"), until=403),
    post("policies/an unknown field", _DEPLOYMENTS, deployment("untyped"), until=403),
    post("policies/it warns", _TRY, config("warned"), until=201),
]
_TAKEN_DOWN: list[Step] = [
    *(step for name in ("audited", "warned", "costly", "dear") for step in _unbound(name)),
    *(step for name in ("labelled", "nothing", "atomic", "untyped") for step in _unbound(name, "mutating")),
]

STEPS: list[Step] = [
    *namespace("expressions"),
    *[
        post(f"expressions/refused: {name}", f"{_DEFINITIONS}?dryRun=All", _definition(schema))
        for name, schema in _REFUSED.items()
    ],
    *[
        post(f"expressions/accepted: {name}", f"{_DEFINITIONS}?dryRun=All", _definition(schema))
        for name, schema in _ACCEPTED.items()
    ],
    post("expressions/judges", _DEFINITIONS, _definition(_SPEC)),
    post("expressions/a judge", _JUDGES, _judge("a", list=[1, 1]), until=201),
    post("expressions/too much to compare", _JUDGES, _judge("b", list=[1] * 900)),
    post("expressions/many turns", _JUDGES, _judge("i", list=[1] * 150)),
    post("expressions/b alone", _JUDGES, _judge("b", text="abd")),
    post("expressions/b with c", _JUDGES, _judge("c", text="abc")),
    post("expressions/many numbers", _JUDGES, _judge("b", text="1 2 3")),
    post("expressions/the first number", _JUDGES, _judge("b", text="7 8")),
    post("expressions/hard to match", _JUDGES, _judge("d", text="a" * 1900 + "!")),
    post("expressions/a good pattern", _JUDGES, _judge("e", pattern="(a)b*")),
    post("expressions/a bad pattern", _JUDGES, _judge("f", pattern="(a")),
    post("expressions/a reference backwards", _JUDGES, _judge("f", pattern="(a)\\1")),
    post("expressions/lookahead", _JUDGES, _judge("f", pattern="a(?=b)")),
    post("expressions/a repetition of nothing", _JUDGES, _judge("f", pattern="a**")),
    post("expressions/a map", _JUDGES, _judge("g", map={"a": 1, "b": 2})),
    post("expressions/a bad map", _JUDGES, _judge("h", map={"a": 0, "b": 2})),
    post("expressions/a key twice", _JUDGES, _judge("h", map={"a": 2, "b": 2})),
    delete("expressions/no more judges", f"{_DEFINITIONS}/judges.law.example.com"),
    *_BAD_POLICIES,
    *_BAD_MUTATIONS,
    *_SET_UP,
    *_TRIED,
    *_TAKEN_DOWN,
]
