"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: what they see, decide and change."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.apiserver import ApiServer, Identity
from hanse.kube.manifest import Obj
from tests.component.apiserver.conftest import Api, config, deployment, pod

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIGS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"


def constraints(*resources: str, operations: tuple[str, ...] = ("CREATE", "UPDATE"), **more: Any) -> Obj:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": list(operations), "resources": list(resources)}
    return {"resourceRules": [rule], **more}


def policy(kind: str, name: str, spec: Obj) -> Obj:
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


async def validating(api: Api, *expressions: Obj | str, binding: Obj | None = None, **spec: Any) -> None:
    validations = [{"expression": one} if isinstance(one, str) else one for one in expressions]
    spec = {"matchConstraints": constraints("configmaps", "deployments"), "validations": validations, **spec}
    made = await api.create(
        f"{REGISTRATION}/validatingadmissionpolicies", policy("ValidatingAdmissionPolicy", "rules", spec)
    )
    assert made.code == 201, made.body
    bound = {"policyName": "rules", "validationActions": ["Deny"], **(binding or {})}
    made = await api.create(
        f"{REGISTRATION}/validatingadmissionpolicybindings", policy("ValidatingAdmissionPolicyBinding", "bound", bound)
    )
    assert made.code == 201, made.body


async def mutating(api: Api, *mutations: Obj, resource: str = "pods", binding: Obj | None = None, **spec: Any) -> None:
    spec = {
        "matchConstraints": constraints(resource),
        "mutations": list(mutations),
        "reinvocationPolicy": "Never",
        **spec,
    }
    made = await api.create(
        f"{REGISTRATION}/mutatingadmissionpolicies", policy("MutatingAdmissionPolicy", "changes", spec)
    )
    assert made.code == 201, made.body
    bound = {"policyName": "changes", **(binding or {})}
    made = await api.create(
        f"{REGISTRATION}/mutatingadmissionpolicybindings", policy("MutatingAdmissionPolicyBinding", "bound", bound)
    )
    assert made.code == 201, made.body


def applying(expression: str) -> Obj:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def json_patching(expression: str) -> Obj:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


DENIED = "ValidatingAdmissionPolicy 'rules' with binding 'bound' denied request: "


@pytest.mark.parametrize(
    ("validation", "code", "reason", "message"),
    [
        (
            {"expression": "object.metadata.name != 'a'"},
            422,
            "Invalid",
            "failed expression: object.metadata.name != 'a'",
        ),
        ({"expression": "false", "message": "never"}, 422, "Invalid", "never"),
        ({"expression": "false", "reason": "Forbidden", "message": "no"}, 403, "Forbidden", "no"),
        ({"expression": "false", "messageExpression": "'not ' + object.metadata.name"}, 422, "Invalid", "not a"),
        (
            {"expression": "false", "messageExpression": "string(object.no)", "message": "plain"},
            422,
            "Invalid",
            "plain",
        ),
        (
            {"expression": "object.no == 1"},
            422,
            "Invalid",
            "expression 'object.no == 1' resulted in error: no such key: no",
        ),
        ({"expression": "!has(namespaceObject.metadata.labels)"}, 422, "Invalid", None),
        ({"expression": "request.userInfo.username == 'bob'"}, 422, "Invalid", None),
        ({"expression": "oldObject != null"}, 422, "Invalid", None),
        (
            {"expression": "authorizer.serviceAccount('x', 'y').path('/metrics').check('get').allowed()"},
            422,
            "Invalid",
            None,
        ),
    ],
)
async def test_a_false_or_failing_expression_denies(
    api: Api, validation: Obj, code: int, reason: str, message: str | None
) -> None:
    await validating(api, "true", validation)
    answer = await api.create(CONFIGS, config("a"))
    assert (answer.code, answer.body["reason"]) == (code, reason)
    told = message or f"failed expression: {validation['expression']}"
    assert answer.body["message"] == f'configmaps "a" is forbidden: {DENIED}{told}'
    assert answer.body["details"]["causes"] == [{"message": f"{DENIED}{told}"}]


@pytest.mark.parametrize(
    "expression",
    [
        "object.data.a == '1'",
        "request.operation == 'CREATE' && request.resource.resource == 'configmaps'",
        "namespaceObject.metadata.name == 'default'",
        "authorizer.group('').resource('pods').namespace('default').check('create').allowed()",
        "authorizer.requestResource.check('delete').allowed()",
        "oldObject == null && request.dryRun == false",
        "object.metadata.?labels.?app.orValue('none') == 'none'",
    ],
)
async def test_a_true_expression_lets_pass(api: Api, expression: str) -> None:
    await validating(api, expression)
    assert (await api.create(CONFIGS, config("a"))).code == 201


async def test_the_authorizer_answers_for_the_one_who_asks(server: ApiServer, api: Api) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]
    group = "rbac.authorization.k8s.io"
    named = {"apiVersion": f"{group}/v1", "metadata": {"name": "writer"}}
    await api.create(f"/apis/{group}/v1/clusterroles", {**named, "kind": "ClusterRole", "rules": rules})
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "writer"}
    subjects = [{"kind": "User", "name": "bob", "apiGroup": group}]
    binding = {**named, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects}
    await api.create(f"/apis/{group}/v1/clusterrolebindings", binding)
    await validating(api, "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()")
    bob = Api(server.connect(Identity("bob")))
    assert (await bob.create(CONFIGS, config("a"))).code == 422
    assert (await api.create(CONFIGS, config("a"))).code == 201


async def test_a_policy_without_a_binding_does_nothing(api: Api) -> None:
    await validating(api, "false", binding={"policyName": "other"})
    assert (await api.create(CONFIGS, config("a"))).code == 201


async def test_a_binding_that_warns_lets_pass_with_a_warning(api: Api) -> None:
    await validating(
        api, {"expression": "false", "message": "beware"}, binding={"validationActions": ["Warn", "Audit"]}
    )
    answer = await api.create(CONFIGS, config("a"))
    assert answer.code == 201
    told = "Validation failed for ValidatingAdmissionPolicy 'rules' with binding 'bound': beware"
    assert told in answer.warnings.replace("\\", "")


async def test_a_policy_that_may_fail_is_passed_over_when_it_does(api: Api) -> None:
    await validating(api, "object.no == 1", failurePolicy="Ignore")
    assert (await api.create(CONFIGS, config("a"))).code == 201


async def test_a_condition_finds_no_namespace_as_with_a_real_server(api: Api) -> None:
    """A kube-apiserver hands it to validations alone, so that such a condition fails whatever the namespace says."""
    named = {"name": "named", "expression": "namespaceObject.metadata.name == 'default'"}
    await validating(api, "true", matchConditions=[named])
    answer = await api.create(CONFIGS, config("a"))
    assert answer.code == 422
    assert "resulted in error" in answer.body["message"]


async def test_conditions_and_constraints_choose(api: Api) -> None:
    await validating(
        api,
        "false",
        matchConditions=[{"name": "named", "expression": "object.metadata.name.startsWith('checked')"}],
        matchConstraints=constraints(
            "configmaps",
            objectSelector={"matchLabels": {"strict": "yes"}},
            excludeResourceRules=[
                {
                    "apiGroups": ["*"],
                    "apiVersions": ["*"],
                    "operations": ["*"],
                    "resources": ["configmaps"],
                    "resourceNames": ["checked-not"],
                }
            ],
        ),
    )
    strict = {"strict": "yes"}
    codes = [
        (await api.create(CONFIGS, one)).code
        for one in (
            config("free", labels=strict),
            config("checked-a"),
            config("checked-not", labels=strict),
            config("checked-b", labels=strict),
        )
    ]
    assert codes == [201, 201, 201, 422]


async def test_variables_are_computed_in_their_order_and_only_missed_where_used(api: Api) -> None:
    variables = [
        {"name": "lost", "expression": "object.spec.no"},
        {"name": "half", "expression": "object.spec.replicas / 2"},
        {"name": "small", "expression": "variables.half < 5"},
    ]
    await validating(api, "variables.small", variables=variables)
    assert (await api.create(DEPLOYMENTS, deployment("a", replicas=4))).code == 201
    assert (await api.create(DEPLOYMENTS, deployment("b", replicas=40))).code == 422


async def test_a_lost_variable_is_named_by_those_who_use_it(api: Api) -> None:
    await validating(api, "variables.lost == 1", variables=[{"name": "lost", "expression": "object.no"}])
    answer = await api.create(CONFIGS, config("a"))
    assert 'composited variable "lost" fails to evaluate: ' in answer.body["message"]


PARAMS = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ({"name": "limits", "namespace": "default"}, 422),
        ({"name": "limits"}, 422),
        ({"selector": {"matchLabels": {"kind": "limits"}}}, 422),
        ({"selector": {"matchLabels": {"kind": "none"}}}, 201),
        ({"name": "absent"}, 201),
        ({"name": "absent", "parameterNotFoundAction": "Deny"}, 422),
    ],
)
async def test_a_binding_hands_parameters_over(api: Api, reference: Obj, code: int) -> None:
    await api.create(CONFIGS, config("limits", labels={"kind": "limits"}, data={"max": "3"}))
    reference = {"parameterNotFoundAction": "Allow", **reference}
    await validating(
        api,
        "object.spec.replicas <= int(params.data.max)",
        binding={"paramRef": reference},
        matchConstraints=constraints("deployments"),
        **PARAMS,
    )
    assert (await api.create(DEPLOYMENTS, deployment("a", replicas=5))).code == code


async def test_deletions_are_asked_about_too(api: Api) -> None:
    await api.create(CONFIGS, config("a"))
    keep = {"expression": "oldObject.metadata.name != 'a'", "message": "keep a"}
    await validating(api, keep, matchConstraints=constraints("configmaps", operations=("DELETE",)))
    answer = await api.delete(f"{CONFIGS}/a")
    assert (answer.code, answer.body["message"]) == (422, f'configmaps "a" is forbidden: {DENIED}keep a')


async def test_policies_are_never_subject_to_policies(api: Api) -> None:
    await validating(api, "false", matchConstraints=constraints("*", operations=("*",)))
    assert (await api.delete(f"{REGISTRATION}/validatingadmissionpolicybindings/bound")).code == 200
    assert (await api.create(CONFIGS, config("a"))).code == 201


async def test_an_apply_configuration_merges_into_the_object(api: Api) -> None:
    await mutating(
        api,
        applying(
            """Object{
                 metadata: Object.metadata{labels: Object.metadata.labels{meshed: "true"}},
                 spec: Object.spec{
                   containers: [Object.spec.containers{name: "side", image: "proxy:" + object.metadata.name}]
                 }
               }"""
        ),
    )
    created = (await api.create(PODS, pod("p"))).body
    assert created["metadata"]["labels"] == {"meshed": "true"}
    assert [(one["name"], one["image"]) for one in created["spec"]["containers"]] == [
        ("app", "nginx"),
        ("side", "proxy:p"),
    ]
    assert created["spec"]["containers"][1]["imagePullPolicy"] == "IfNotPresent"


async def test_a_json_patch_changes_the_object_unless_its_test_fails(api: Api) -> None:
    patch = """[
      JSONPatch{op: "test", path: "/data/a", value: "1"},
      JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("x.y"), value: "added"}
    ]"""
    await mutating(api, json_patching(patch), resource="configmaps")
    assert (await api.create(CONFIGS, config("a"))).body["data"] == {"a": "1", "x.y": "added"}
    assert (await api.create(CONFIGS, config("b", data={"a": "2"}))).body["data"] == {"a": "2"}


async def test_later_mutations_see_earlier_ones(api: Api) -> None:
    first = json_patching('[JSONPatch{op: "add", path: "/data/n", value: "1"}]')
    second = json_patching('[JSONPatch{op: "add", path: "/data/m", value: object.data.n + "!"}]')
    await mutating(api, first, second, resource="configmaps")
    assert (await api.create(CONFIGS, config("a"))).body["data"] == {"a": "1", "n": "1", "m": "1!"}


async def test_a_mutation_that_fails_refuses_in_the_policys_name(api: Api) -> None:
    await mutating(api, json_patching('[JSONPatch{op: "remove", path: "/data/none"}]'), resource="configmaps")
    answer = await api.create(CONFIGS, config("a"))
    assert (answer.code, answer.body["reason"]) == (403, "Invalid")
    assert answer.body["message"].startswith("policy 'changes' with binding 'bound' denied request: JSON Patch: ")


async def test_a_mutated_object_is_what_validating_policies_see(api: Api) -> None:
    await mutating(api, applying("Object{data: Object.data{owner: request.userInfo.username}}"), resource="configmaps")
    await validating(api, "object.data.owner == 'admin'")
    assert (await api.create(CONFIGS, config("a"))).code == 201


@pytest.mark.parametrize(
    ("mutation", "message"),
    [
        (
            applying("Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}"),
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.selector",
        ),
        (
            applying("Object{spec: Object.spec{nothing: 1}}"),
            "failed to convert patch object to typed object: .spec.nothing: field not declared in schema",
        ),
    ],
)
async def test_a_configuration_must_fit_the_kind(api: Api, mutation: Obj, message: str) -> None:
    await mutating(api, mutation, resource="deployments")
    answer = await api.create(DEPLOYMENTS, deployment("web"))
    assert answer.code == 403
    told = f"policy 'changes' with binding 'bound' denied request: error applying patch: {message}"
    assert answer.body["message"] == told


@pytest.mark.parametrize(
    ("mutation", "problem"),
    [
        (applying("{'metadata': {}}"), "must evaluate to Object but got map(string, map(dyn, dyn))"),
        (applying("Object.spec{a: 1}"), "must evaluate to Object but got Object.spec"),
        (applying("Object{spec: Object.spec{replicas: 1 + 'a'}}"), "<input>:1:38: found no matching overload"),
        (json_patching("[]"), "must evaluate to list(JSONPatch) but got list(dyn)"),
        (json_patching("[{'op': 'add'}]"), "must evaluate to list(JSONPatch) but got list(map(string, string))"),
        (json_patching("JSONPatch{op: 'add'}"), "must evaluate to list(JSONPatch) but got JSONPatch"),
        (
            json_patching("[JSONPatch{op: 1}]"),
            "<input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'",
        ),
    ],
)
async def test_a_mutation_of_another_type_is_refused(api: Api, mutation: Obj, problem: str) -> None:
    spec = {"matchConstraints": constraints("pods"), "mutations": [mutation], "reinvocationPolicy": "Never"}
    path = f"{REGISTRATION}/mutatingadmissionpolicies"
    answer = await api.create(path, policy("MutatingAdmissionPolicy", "bad", spec))
    assert answer.code == 422
    assert problem in answer.body["message"]
    # What is shown is what was written, not what was checked.
    assert "Object_spec" not in answer.body["message"]


async def test_a_variable_can_hold_what_a_mutation_applies(api: Api) -> None:
    held = {"name": "labels", "expression": "Object{metadata: Object.metadata{labels: {'by': 'us'}}}"}
    await mutating(api, applying("variables.labels"), variables=[held])
    assert (await api.create(PODS, pod("p"))).body["metadata"]["labels"] == {"by": "us"}


async def test_audit_annotations_and_audited_failures_are_logged(api: Api, log_lines: list[Any]) -> None:
    annotations = [
        {"key": "who", "valueExpression": "'by ' + request.userInfo.username"},
        {"key": "nothing", "valueExpression": "object.data.a == '1' ? '' : 'odd'"},
    ]
    failing = {"expression": "object.data.a != '1'", "message": "one"}
    actions = {"validationActions": ["Audit"]}
    await validating(api, failing, auditAnnotations=annotations, binding=actions)
    assert (await api.create(CONFIGS, config("a"))).code == 201
    told = {line["annotation"]: line["value"] for line in log_lines if "annotation" in line}
    assert told == {
        "rules/who": "by admin",
        "validation.policy.admission.k8s.io/validation_failure": (
            '[{"message":"one","policy":"rules","binding":"bound","expressionIndex":0,"validationActions":["Audit"]}]'
        ),
    }


async def test_an_audit_annotation_that_fails_denies(api: Api) -> None:
    await validating(api, "true", auditAnnotations=[{"key": "who", "valueExpression": "string(object.none)"}])
    answer = await api.create(CONFIGS, config("a"))
    assert answer.body["message"].endswith("resulted in error: no such key: none")


async def test_a_costly_expression_denies_and_a_cheap_one_does_not(api: Api) -> None:
    await validating(api, "object.data.all(k, object.data.all(l, object.data[k].matches('(a|aa)+$b?') || true))")
    assert (await api.create(CONFIGS, config("small"))).code == 201
    answer = await api.create(CONFIGS, config("large", data={f"k{place}": "a" * 1200 for place in range(60)}))
    assert answer.code == 422
    assert answer.body["message"].endswith("resulted in error: operation cancelled: actual cost limit exceeded")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"auditAnnotations": [{"key": "a/b", "valueExpression": "'x'"}]},
            'spec.auditAnnotations[0].key: Invalid value: "bad/a/b": a valid label key must consist of',
        ),
        (
            {"auditAnnotations": [{"key": "k", "valueExpression": "'x'"}] * 2},
            'spec.auditAnnotations[1].key: Duplicate value: "k"',
        ),
        (
            {"validations": [{"expression": "object."}]},
            'spec.validations[0].expression: Invalid value: "object.": compilation failed: ERROR: <input>:1:8: ',
        ),
        (
            {"validations": [{"expression": "1"}]},
            'spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int',
        ),
        (
            {"validations": [{"expression": "params.x == 1"}]},
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')",
        ),
        ({"validations": [{"expression": "request.foo == 1"}]}, "undefined field 'foo'"),
        (
            {"validations": []},
            "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
        ),
        (
            {"validations": [{"expression": "true", "reason": "Odd"}]},
            'spec.validations[0].reason: Unsupported value: "Odd": supported values: "Forbidden", "Invalid", ',
        ),
        (
            {"variables": [{"name": "a-b", "expression": "1"}], "validations": [{"expression": "true"}]},
            'spec.variables[0].name: Invalid value: "a-b": must be a valid CEL identifier',
        ),
    ],
)
async def test_a_malformed_policy_is_refused(api: Api, spec: Obj, message: str) -> None:
    spec = {"matchConstraints": constraints("pods"), **spec}
    path = f"{REGISTRATION}/validatingadmissionpolicies"
    answer = await api.create(path, policy("ValidatingAdmissionPolicy", "bad", spec))
    assert answer.code == 422
    assert message in answer.body["message"]
