"""Webhooks over real HTTPS: who is called with what, and what their answers do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hanse.apiserver import ApiServer
from hanse.kube.manifest import Obj
from tests.component.apiserver.admission_webhook import (
    REGISTRATION,
    Webhook,
    allowed,
    configuration,
    denied,
    hook,
    patching,
    serving,
)
from tests.component.apiserver.conftest import Api, config, deployment, pod

CONFIGS = "/api/v1/namespaces/default/configmaps"
VALIDATING = f"{REGISTRATION}/validatingwebhookconfigurations"
MUTATING = f"{REGISTRATION}/mutatingwebhookconfigurations"


@pytest.fixture
async def webhook(tmp_path: Path) -> AsyncIterator[Webhook]:
    async with serving(tmp_path, "gate.default.svc") as opened:
        yield opened


async def validate_with(api: Api, *hooks: Obj) -> None:
    assert (await api.create(VALIDATING, configuration("Validating", *hooks))).code == 201


async def mutate_with(api: Api, *hooks: Obj) -> None:
    assert (await api.create(MUTATING, configuration("Mutating", *hooks))).code == 201


async def test_a_review_tells_who_does_what_to_which_object(api: Api, webhook: Webhook) -> None:
    await validate_with(api, hook(webhook))
    assert (await api.create(CONFIGS, config("a"))).code == 201
    (_, request), *_ = webhook.asked
    assert request["operation"] == "CREATE"
    assert request["kind"] == request["requestKind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert request["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (request["namespace"], request["name"], request["dryRun"]) == ("default", "a", False)
    assert request["userInfo"]["username"] == "admin"
    assert request["object"]["data"] == {"a": "1"}
    assert request["oldObject"] is None
    assert request["options"] == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}


async def test_updates_carry_both_objects_and_deletions_the_old_one(api: Api, webhook: Webhook) -> None:
    await api.create(CONFIGS, config("a"))
    await validate_with(api, hook(webhook))
    await api.patch(f"{CONFIGS}/a", {"data": {"a": "2"}})
    await api.delete(f"{CONFIGS}/a")
    (_, changed), (_, removed) = webhook.asked
    assert (changed["operation"], changed["object"]["data"], changed["oldObject"]["data"]) == (
        "UPDATE",
        {"a": "2"},
        {"a": "1"},
    )
    assert (removed["operation"], removed["object"], removed["oldObject"]["data"]) == ("DELETE", None, {"a": "2"})


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        ({}, 400, None, "without explanation"),
        ({"message": "not today"}, 400, None, ": not today"),
        ({"reason": "Forbidden", "code": 403}, 403, "Forbidden", ": Forbidden"),
        ({"code": 200, "message": "odd"}, 400, None, ": odd"),
    ],
)
async def test_a_denial_is_answered_in_the_webhooks_name(
    api: Api, webhook: Webhook, status: Obj, code: int, reason: str | None, message: str
) -> None:
    webhook.answers["/"] = denied(**status)
    await validate_with(api, hook(webhook))
    answer = await api.create(CONFIGS, config("a"))
    space = "" if message.startswith(":") else " "
    told = f'admission webhook "policy.example.com" denied the request{space}{message}'
    assert (answer.code, answer.body["message"]) == (code, told)
    assert answer.body.get("reason") == reason
    assert (await api.get(f"{CONFIGS}/a")).code == 404


async def test_a_denied_deletion_leaves_the_object(api: Api, webhook: Webhook) -> None:
    await api.create(CONFIGS, config("a"))
    webhook.answers["/"] = denied(message="keep it")
    await validate_with(api, hook(webhook))
    assert (await api.delete(f"{CONFIGS}/a")).code == 400
    assert (await api.delete(CONFIGS)).code == 400
    assert (await api.get(f"{CONFIGS}/a")).code == 200


async def test_patches_change_what_is_stored_and_what_is_validated(api: Api, webhook: Webhook) -> None:
    webhook.answers["/mutate"] = patching({"op": "add", "path": "/data/seen", "value": "yes"})
    await mutate_with(api, hook(webhook, "/mutate"))
    await validate_with(api, hook(webhook, "/validate"))
    created = await api.create(CONFIGS, config("a"))
    assert created.body["data"] == {"a": "1", "seen": "yes"}
    assert [path for path, _ in webhook.asked] == ["/mutate", "/validate"]
    assert webhook.asked[1][1]["object"]["data"]["seen"] == "yes"
    assert webhook.asked[1][1]["object"]["metadata"]["uid"]


async def test_a_patched_object_is_checked_like_a_submitted_one(api: Api, webhook: Webhook) -> None:
    webhook.answers["/"] = patching({"op": "replace", "path": "/data/a", "value": 7})
    await mutate_with(api, hook(webhook))
    answer = await api.create(CONFIGS, config("a"))
    told = "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    assert (answer.code, answer.body["message"]) == (500, f"Internal error occurred: {told}")


async def test_a_patch_is_defaulted(api: Api, webhook: Webhook) -> None:
    rule = {"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["pods"]}
    sidecar = {"name": "side", "image": "proxy:1"}
    webhook.answers["/"] = patching({"op": "add", "path": "/spec/containers/-", "value": sidecar})
    await mutate_with(api, hook(webhook, rules=[rule]))
    created = await api.create("/api/v1/namespaces/default/pods", pod("p"))
    added = created.body["spec"]["containers"][1]
    assert (added["name"], added["imagePullPolicy"], added["terminationMessagePath"]) == (
        "side",
        "IfNotPresent",
        "/dev/termination-log",
    )


async def test_warnings_reach_the_client(api: Api, webhook: Webhook) -> None:
    webhook.answers["/"] = allowed(warnings=["mind the gap"])
    await validate_with(api, hook(webhook))
    assert "mind the gap" in (await api.create(CONFIGS, config("a"))).warnings


FAILED = 'Internal error occurred: failed calling webhook "policy.example.com": '


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "/broken",
            'failed to call webhook: an error on the server ("out of order") has prevented the request from succeeding',
        ),
        ("/absent", "received invalid webhook response: validating webhook may not return response.patch"),
        ("/other", 'received invalid webhook response: expected response.uid="'),
    ],
)
async def test_a_webhook_that_fails_refuses_the_write(api: Api, webhook: Webhook, path: str, message: str) -> None:
    webhook.answers["/absent"] = patching({"op": "add", "path": "/data/x", "value": "1"})
    webhook.answers["/other"] = allowed(uid="other")
    await validate_with(api, hook(webhook, path))
    answer = await api.create(CONFIGS, config("a"))
    assert (answer.code, answer.body["reason"]) == (500, "InternalError")
    assert answer.body["message"].startswith(FAILED + message)


async def test_a_webhook_that_may_be_ignored_is_passed_over_when_it_fails(api: Api, webhook: Webhook) -> None:
    await validate_with(api, hook(webhook, "/broken", failurePolicy="Ignore"))
    await mutate_with(api, hook(webhook, "/broken", failurePolicy="Ignore"))
    assert (await api.create(CONFIGS, config("a"))).code == 201
    assert len(webhook.asked) == 2


async def test_a_webhook_that_does_not_answer_is_given_up(api: Api, webhook: Webhook) -> None:
    await validate_with(api, hook(webhook, "/stuck", timeoutSeconds=1))
    answer = await api.create(CONFIGS, config("a"))
    url = f"https://{webhook.address}/stuck?timeout=1s"
    assert answer.body["message"] == f'{FAILED}failed to call webhook: Post "{url}": context deadline exceeded'


async def test_a_webhook_of_another_authority_is_not_believed(api: Api, webhook: Webhook, tmp_path: Path) -> None:
    async with serving(tmp_path / "other") as other:
        client = {**webhook.config(), "caBundle": other.ca_bundle}
        await validate_with(api, hook(webhook, clientConfig=client))
        answer = await api.create(CONFIGS, config("a"))
    assert answer.code == 500
    assert "x509: certificate signed by unknown authority" in answer.body["message"]
    assert not webhook.asked


async def test_a_webhook_that_nobody_serves_is_named(api: Api, webhook: Webhook) -> None:
    client = {**webhook.config(), "url": "https://127.0.0.1:1/x"}
    await validate_with(api, hook(webhook, clientConfig=client))
    answer = await api.create(CONFIGS, config("a"))
    told = 'Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused'
    assert answer.body["message"] == f"{FAILED}failed to call webhook: {told}"


def by_service(webhook: Webhook) -> Obj:
    return {"service": {"namespace": "default", "name": "gate", "path": "/gate"}, "caBundle": webhook.ca_bundle}


async def test_a_service_leads_to_the_webhook_by_the_registered_resolver(
    server: ApiServer, api: Api, webhook: Webhook
) -> None:
    server.webhook_services = lambda namespace, name, port: (
        webhook.address if (namespace, name, port) == ("default", "gate", 443) else None
    )
    await validate_with(api, hook(webhook, clientConfig=by_service(webhook)))
    assert (await api.create(CONFIGS, config("a"))).code == 201
    assert [path for path, _ in webhook.asked] == ["/gate"]


async def test_a_service_leads_to_the_webhook_by_its_load_balancer(api: Api, webhook: Webhook) -> None:
    host, _, port = webhook.address.partition(":")
    ports = [{"port": int(port), "name": "https"}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "gate"}, "spec": {"ports": ports}}
    await api.create("/api/v1/namespaces/default/services", service)
    status = {"status": {"loadBalancer": {"ingress": [{"ip": host}]}}}
    await api.patch("/api/v1/namespaces/default/services/gate/status", status)
    client = by_service(webhook)
    client["service"]["port"] = int(port)
    await validate_with(api, hook(webhook, clientConfig=client))
    assert (await api.create(CONFIGS, config("a"))).code == 201
    assert len(webhook.asked) == 1


async def test_a_service_that_is_not_there_is_named(api: Api, webhook: Webhook) -> None:
    await validate_with(api, hook(webhook, clientConfig=by_service(webhook)))
    answer = await api.create(CONFIGS, config("a"))
    told = 'Post "https://gate.default.svc:443/gate?timeout=10s": service "gate" not found'
    assert answer.body["message"] == f"{FAILED}failed to call webhook: {told}"


def rules(**more: Any) -> Obj:
    return {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], **more}


@pytest.mark.parametrize(
    ("more", "called"),
    [
        ({}, True),
        ({"rules": [rules(operations=["UPDATE", "DELETE"])]}, False),
        ({"rules": [rules(apiGroups=["apps"])]}, False),
        ({"rules": [rules(resources=["pods", "configmaps"])]}, True),
        ({"rules": [rules(resources=["*/*"])]}, True),
        ({"rules": [rules(resources=["configmaps/status"])]}, False),
        ({"rules": [rules(scope="Cluster")]}, False),
        ({"rules": [rules(scope="Namespaced")]}, True),
        ({"rules": []}, False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, False),
        ({"objectSelector": {"matchLabels": {"app": "web"}}}, True),
        ({"objectSelector": {"matchLabels": {"app": "db"}}}, False),
        ({"matchConditions": [{"name": "is-a", "expression": "object.metadata.name == 'a'"}]}, True),
        ({"matchConditions": [{"name": "is-b", "expression": "object.metadata.name == 'b'"}]}, False),
        (
            {
                "matchConditions": [
                    {"name": "fails", "expression": "object.nothing == 1"},
                    {"name": "no", "expression": "request.operation == 'DELETE'"},
                ]
            },
            False,
        ),
        ({"matchConditions": [{"name": "f", "expression": "object.no == 1"}], "failurePolicy": "Ignore"}, False),
        ({"matchConditions": [{"name": "who", "expression": "!('system:nodes' in request.userInfo.groups)"}]}, True),
    ],
)
async def test_a_webhook_is_called_for_what_it_asks_for(api: Api, webhook: Webhook, more: Obj, called: bool) -> None:
    await validate_with(api, hook(webhook, **more))
    assert (await api.create(CONFIGS, config("a", labels={"app": "web"}))).code == 201
    assert bool(webhook.asked) is called


async def test_a_condition_without_an_answer_refuses(api: Api, webhook: Webhook) -> None:
    await validate_with(api, hook(webhook, matchConditions=[{"name": "f", "expression": "object.no == 1"}]))
    answer = await api.create(CONFIGS, config("a"))
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    told = "expression 'object.no == 1' resulted in error: no such key: no"
    assert answer.body["message"] == f'configmaps "a" is forbidden: {told}'


async def test_a_rule_for_another_version_gets_that_version(api: Api, webhook: Webhook) -> None:
    rule = rules(apiGroups=["autoscaling"], apiVersions=["v1"], resources=["horizontalpodautoscalers"])
    await validate_with(
        api,
        hook(webhook, "/all", rules=[rule]),
        hook(webhook, "/exact", name="b.x.y", rules=[rule], matchPolicy="Exact"),
    )
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "maxReplicas": 3},
    }
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    assert (await api.create(path, scaler)).code == 201
    ((path, request),) = webhook.asked
    assert path == "/all"
    assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v1", "v2")
    assert request["object"]["apiVersion"] == "autoscaling/v1"


async def test_subresources_are_asked_for_by_name(api: Api, webhook: Webhook) -> None:
    await api.create("/apis/apps/v1/namespaces/default/deployments", deployment("web"))
    await validate_with(api, hook(webhook, rules=[rules(resources=["deployments/scale"])]))
    path = "/apis/apps/v1/namespaces/default/deployments/web"
    assert (await api.patch(path, {"metadata": {"labels": {"a": "b"}}})).code == 200
    assert (await api.patch(f"{path}/scale", {"spec": {"replicas": 2}})).code == 200
    ((_, request),) = webhook.asked
    assert (request["kind"]["kind"], request["subResource"]) == ("Scale", "scale")
    assert request["object"]["spec"]["replicas"] == 2


async def test_webhook_configurations_are_never_sent_to_webhooks(api: Api, webhook: Webhook) -> None:
    webhook.answers["/"] = denied()
    await validate_with(api, hook(webhook, rules=[rules()]))
    assert (await api.delete(f"{VALIDATING}/policy")).code == 200
    assert not webhook.asked
    assert (await api.create(CONFIGS, config("a"))).code == 201


async def test_a_dry_run_is_refused_by_what_has_side_effects(api: Api, webhook: Webhook) -> None:
    await validate_with(api, hook(webhook))
    assert (await api.create(f"{CONFIGS}?dryRun=All", config("a"))).code == 201
    assert webhook.asked[0][1]["dryRun"] is True
    broken = configuration("Validating", hook(webhook, sideEffects="Some"))
    answer = await api.create(VALIDATING, {**broken, "metadata": {"name": "other"}})
    assert answer.code == 422
    assert (
        'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'
        in (answer.body["message"])
    )


async def test_a_webhook_runs_again_when_a_later_one_changed_the_object(api: Api, webhook: Webhook) -> None:
    def count(request: Obj) -> Obj:
        seen = str(len([path for path, _ in webhook.asked if path == "/first"]))
        return patching({"op": "add", "path": "/data/first", "value": seen})(request)

    webhook.answers["/first"] = count
    webhook.answers["/second"] = patching({"op": "add", "path": "/data/second", "value": "1"})
    await mutate_with(
        api,
        hook(webhook, "/first", name="first.x.y", reinvocationPolicy="IfNeeded"),
        hook(webhook, "/second", name="second.x.y"),
    )
    created = await api.create(CONFIGS, config("a"))
    assert [path for path, _ in webhook.asked] == ["/first", "/second", "/first"]
    assert created.body["data"] == {"a": "1", "first": "2", "second": "1"}


async def test_webhooks_are_called_in_the_order_of_their_configurations(api: Api, webhook: Webhook) -> None:
    for name in ("b", "a"):
        made = configuration("Mutating", hook(webhook, f"/{name}"), name=name)
        assert (await api.create(MUTATING, made)).code == 201
    await api.create(CONFIGS, config("a"))
    assert [path for path, _ in webhook.asked] == ["/a", "/b"]
    await api.delete(f"{MUTATING}/a")
    await api.create(CONFIGS, config("b"))
    assert [path for path, _ in webhook.asked] == ["/a", "/b", "/b"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"name": "short"},
            'webhooks[0].name: Invalid value: "short": should be a domain with at least three segments',
        ),
        ({"admissionReviewVersions": ["v1beta1"]}, "webhooks[0].admissionReviewVersions: Invalid value: "),
        ({"sideEffects": None}, "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"),
        ({"timeoutSeconds": 31}, "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1"),
        ({"clientConfig": {}}, "webhooks[0].clientConfig: Required value: exactly one of url or service is required"),
        (
            {"clientConfig": {"url": "http://a/b"}},
            "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme",
        ),
        (
            {"matchConditions": [{"name": "x", "expression": "object."}]},
            'webhooks[0].matchConditions[0].expression: Invalid value: "object.": compilation failed: ERROR',
        ),
    ],
)
async def test_a_malformed_webhook_is_refused(api: Api, webhook: Webhook, change: Obj, message: str) -> None:
    answer = await api.create(VALIDATING, configuration("Validating", {**hook(webhook), **change}))
    assert answer.code == 422
    assert message in answer.body["message"]
