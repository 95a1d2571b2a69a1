"""Admission of what is sent to subresources: scales, bindings, evictions, token requests and connections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hanse.kube.manifest import Obj
from tests.component.apiserver.admission_webhook import (
    REGISTRATION,
    Webhook,
    configuration,
    denied,
    hook,
    patching,
    serving,
)
from tests.component.apiserver.conftest import Api, config, deployment, pod

CORE = "/api/v1/namespaces/default"
WEB = "/apis/apps/v1/namespaces/default/deployments/web"
BINDING: Obj = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": {"name": "p", "annotations": {"by": "us"}},
    "target": {"kind": "Node", "name": "n1"},
}
EVICTION: Obj = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": "default"}}
TOKEN: Obj = {
    "apiVersion": "authentication.k8s.io/v1",
    "kind": "TokenRequest",
    "spec": {"expirationSeconds": 700, "audiences": ["us"]},
}
ALL = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


@pytest.fixture
async def webhook(tmp_path: Path) -> AsyncIterator[Webhook]:
    async with serving(tmp_path) as opened:
        yield opened


@pytest.fixture
async def made(api: Api) -> Api:
    assert (await api.create(f"{CORE}/serviceaccounts", {"metadata": {"name": "robot"}})).code == 201
    assert (await api.create(f"{CORE}/pods", pod("p"))).code == 201
    assert (await api.create("/apis/apps/v1/namespaces/default/deployments", deployment("web"))).code == 201
    return api


async def asked_by(api: Api, webhook: Webhook, kind: str, path: str = "/") -> None:
    made = configuration(kind, hook(webhook, path, rules=[ALL]))
    assert (await api.create(f"{REGISTRATION}/{kind.lower()}webhookconfigurations", made)).code == 201


@pytest.mark.parametrize(
    ("method", "path", "body", "seen"),
    [
        ("POST", f"{CORE}/pods/p/binding", BINDING, ("CREATE", "pods", "Binding", {"target": BINDING["target"]})),
        (
            "POST",
            f"{CORE}/pods/p/eviction",
            EVICTION,
            ("CREATE", "pods", "Eviction", {"metadata": EVICTION["metadata"]}),
        ),
        (
            "POST",
            f"{CORE}/serviceaccounts/robot/token",
            TOKEN,
            ("CREATE", "serviceaccounts", "TokenRequest", {"spec": {**TOKEN["spec"], "boundObjectRef": None}}),
        ),
        (
            "PUT",
            f"{WEB}/scale",
            {"metadata": {"name": "web"}, "spec": {"replicas": 4}},
            ("UPDATE", "deployments", "Scale", {"spec": {"replicas": 4}}),
        ),
        (
            "POST",
            f"{CORE}/pods/p/exec?command=ls&command=-l&container=app&stdout=true&tty=true",
            None,
            (
                "CONNECT",
                "pods",
                "PodExecOptions",
                {"command": ["ls", "-l"], "container": "app", "stdout": True, "tty": True},
            ),
        ),
        ("GET", f"{CORE}/pods/p/attach?stdin=1", None, ("CONNECT", "pods", "PodAttachOptions", {"stdin": True})),
        (
            "POST",
            f"{CORE}/pods/p/portforward?ports=80&ports=81,82",
            None,
            ("CONNECT", "pods", "PodPortForwardOptions", {"ports": [80, 81, 82]}),
        ),
        ("GET", f"{CORE}/pods/p/proxy/a/b", None, ("CONNECT", "pods", "PodProxyOptions", {"path": "/a/b"})),
        ("GET", f"{CORE}/services/s/proxy/a", None, ("CONNECT", "services", "ServiceProxyOptions", {"path": "/a"})),
    ],
)
async def test_webhooks_are_asked_about_what_was_sent(
    made: Api, webhook: Webhook, method: str, path: str, body: Obj | None, seen: tuple[str, str, str, Obj]
) -> None:
    await asked_by(made, webhook, "Validating")
    webhook.answers["/"] = denied(message="not here", code=403)
    answer = await made.call(method, path, body)
    ((_, request),) = webhook.asked
    operation, resource, kind, held = seen
    found = (request["operation"], request["resource"]["resource"], request["kind"]["kind"])
    assert found == (operation, resource, kind)
    assert request["subResource"] == path.partition("?")[0].split("/")[-1 if "proxy" not in path else 7]
    assert request["name"] == path.split("/")[6 if path.startswith(CORE) else 7]
    assert {name: request["object"][name] for name in held} == held
    assert (request["options"] is None) == (operation == "CONNECT")
    assert (answer.code, answer.body["message"]) == (
        403,
        'admission webhook "policy.example.com" denied the request: not here',
    )


async def test_what_is_refused_does_not_happen(made: Api, webhook: Webhook) -> None:
    await asked_by(made, webhook, "Validating")
    webhook.answers["/"] = denied()
    assert (await made.create(f"{CORE}/pods/p/binding", BINDING)).code == 400
    assert (await made.create(f"{CORE}/pods/p/eviction", EVICTION)).code == 400
    assert (await made.patch(f"{WEB}/scale", {"spec": {"replicas": 4}})).code == 400
    assert "nodeName" not in (await made.get(f"{CORE}/pods/p")).body["spec"]
    assert (await made.get(WEB)).body["spec"]["replicas"] == 1


async def test_what_was_sent_can_be_changed(made: Api, webhook: Webhook) -> None:
    await asked_by(made, webhook, "Mutating")
    webhook.answers["/"] = patching({"op": "replace", "path": "/spec/replicas", "value": 7})
    scaled = await made.patch(f"{WEB}/scale", {"spec": {"replicas": 4}})
    assert (scaled.code, scaled.body["spec"]) == (200, {"replicas": 7})
    webhook.answers["/"] = patching({"op": "replace", "path": "/spec/expirationSeconds", "value": 1000})
    token = await made.create(f"{CORE}/serviceaccounts/robot/token", TOKEN)
    assert (token.code, token.body["spec"]["expirationSeconds"]) == (201, 1000)
    webhook.answers["/"] = patching({"op": "replace", "path": "/target/name", "value": "n2"})
    assert (await made.create(f"{CORE}/pods/p/binding", BINDING)).code == 201
    bound = (await made.get(f"{CORE}/pods/p")).body
    assert (bound["spec"]["nodeName"], bound["metadata"]["annotations"]) == ("n2", {"by": "us"})


async def test_an_eviction_is_admitted_once(made: Api, webhook: Webhook) -> None:
    await asked_by(made, webhook, "Validating")
    assert (await made.create(f"{CORE}/pods/p/eviction", EVICTION)).code == 201
    asked = [(request["operation"], request.get("subResource")) for _, request in webhook.asked]
    assert asked == [("CREATE", "eviction")]


async def test_the_objects_of_a_collection_are_admitted_one_by_one(made: Api, webhook: Webhook) -> None:
    for name in ("a", "b"):
        await made.create(f"{CORE}/configmaps", config(name, labels={"gone": "soon"}))
    deletions = configuration("Validating", hook(webhook))
    assert (await made.create(f"{REGISTRATION}/validatingwebhookconfigurations", deletions)).code == 201
    assert (await made.delete(f"{CORE}/configmaps?labelSelector=gone=soon")).code == 200
    asked = [(one["operation"], one.get("name"), one["oldObject"]["metadata"]["name"]) for _, one in webhook.asked]
    assert asked == [("DELETE", None, "a"), ("DELETE", None, "b")]


async def test_policies_are_asked_about_connections(made: Api) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/exec"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "!('rm' in object.command)", "message": "no rm"}],
    }
    kinds = (
        ("ValidatingAdmissionPolicy", "validatingadmissionpolicies", spec),
        ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings",
         {"policyName": "shell", "validationActions": ["Deny"]}),
    )  # fmt: skip
    for kind, plural, held in kinds:
        obj = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "shell"}}
        assert (await made.create(f"{REGISTRATION}/{plural}", {**obj, "spec": held})).code == 201
    refused = await made.create(f"{CORE}/pods/p/exec?command=rm&stdout=1", None)
    assert (refused.code, refused.body["reason"]) == (422, "Invalid")
    assert refused.body["message"].endswith("denied request: no rm")
    passed = await made.create(f"{CORE}/pods/p/exec?command=ls&stdout=1", None)
    assert passed.body["message"] == "pod p does not have a host assigned"
