"""Requests that made the server fail once: each is refused in words that name the field."""

import orjson
import pytest

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Request

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SERVICES = "/api/v1/namespaces/default/services"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def deployment(**container):
    containers = [{"name": "app", "image": "nginx", **container}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    return {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}}


def webhook(url):
    hook = {
        "name": "a.example.com",
        "clientConfig": {"url": url},
        "rules": [],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    return {"metadata": {"name": "a"}, "webhooks": [hook]}


@pytest.mark.parametrize(
    ("path", "body", "code", "field"),
    [
        (DEPLOYMENTS, deployment(resources={"requests": {"cpu": "9" * 400}}), 201, ""),
        (DEPLOYMENTS, deployment(resources={"requests": {"cpu": None}}), 201, '"requests":{"cpu":"0"}'),
        (DEPLOYMENTS, deployment(resources={"limits": {"cpu": "-" + "1" * 60}}), 422, "resources.limits[cpu]"),
        (SERVICES, {"metadata": {}, "spec": {"clusterIP": "192.168.1.1", "ports": [{"port": 80}]}}, 422, "clusterIPs"),
        (SERVICES, {"metadata": {}, "spec": {"ipFamilies": ["IPv6"], "ports": [{"port": 80}]}}, 422, "ipFamilies"),
        (WEBHOOKS, webhook("http://["), 422, "webhooks[0].clientConfig.url"),
    ],
)
async def test_a_hostile_object_is_taken_or_refused(path, body, code, field):
    async with serving() as send:
        answer = await send("POST", path, body)
    assert (answer.status, field in answer.body.decode()) == (code, True), answer.body


@pytest.mark.parametrize("around", ["items", "additionalProperties", "not"])
@pytest.mark.parametrize(("field", "value"), [("properties", []), ("required", 7), ("enum", {}), ("allOf", "x")])
async def test_a_schema_within_a_schema_is_read_as_all_others(around, field, value):
    schema = {"type": "object", "properties": {"spec": {"type": "array", around: {field: value}}}}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "xs", "kind": "X"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }
    async with serving() as send:
        answer = await send("POST", CRDS, {"metadata": {"name": "xs.example.com"}, "spec": spec})
    assert (answer.status, field in answer.body.decode()) == (400, True), answer.body


@pytest.mark.parametrize("value", ["9" * 5000, "!!float x", "!!int ''", "!!bool x", "!!timestamp x", "!!set {a}"])
async def test_yaml_that_no_json_can_be_is_refused(value):
    async with serving() as send:
        answer = await send("POST", SERVICES, f"metadata: {{name: a}}\nspec: {value}", content="application/yaml")
    assert (answer.status, b"error converting YAML to JSON" in answer.body) == (400, True), answer.body


@pytest.mark.parametrize("character", ["\0", "\n", "\r", "\x7f", "\x85"])
async def test_a_warning_that_no_header_can_tell_is_left_out(character):
    async with serving() as send:
        answer = await send("POST", DEPLOYMENTS, {**deployment(), "odd": 1, f"odd{character}er": 2})
    assert (answer.status, answer.headers["warning"]) == (201, '299 - "unknown field \\"odd\\""')


async def test_warnings_are_bounded_however_much_there_is_to_warn_of():
    async with serving() as send:
        answer = await send("POST", DEPLOYMENTS, {**deployment(), **{f"odd{number:0300}": 1 for number in range(200)}})
    assert (answer.status, answer.headers["warning"].count("299 - ")) == (201, 16)
    assert len(answer.headers["warning"]) < 5000


async def test_counts_of_a_status_below_zero_are_refused():
    async with serving() as send:
        await send("POST", DEPLOYMENTS, deployment())
        answer = await send("PUT", f"{DEPLOYMENTS}/web/status", {**deployment(), "status": {"replicas": -1}})
    assert (answer.status, b"status.replicas" in answer.body) == (422, True), answer.body


class serving:  # noqa: N801 - reads as a word of the test
    """A server in memory for the length of a block; gives the function that sends."""

    async def __aenter__(self):
        self._server = await ApiServer.open(name="found", storage=MemoryStorage(), runtime=SeededRuntime(1))
        asked = self._server.connect(Identity("admin", ("system:masters",)))

        async def send(method, path, body, content="application/json"):
            data = body.encode() if isinstance(body, str) else orjson.dumps(body)
            return await asked.send(Request(method, path, (), {"content-type": content}, data), 10.0)

        return send

    async def __aexit__(self, *_):
        await self._server.close()
