"""An external policy engine is asked at admission, as federation v1 asked it."""

import base64
from contextlib import asynccontextmanager

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from click.testing import CliRunner

from hanse.apiserver import ApiServer, CertificateAuthority, Identity, MemoryStorage
from hanse.cli.policy_hook import application, command
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden
from hanse.kube.resources import CONFIGMAPS, EVENTS, NAMESPACES, Resource
from hanse.kube.runtime import SeededRuntime, SystemRuntime
from hanse.kube.transport import Response, Unreachable
from hanse.native.scheduling_policy import POLICY_NAMESPACE, PolicyHook, read_settings, webhook_manifest

SELECTOR = "federation.alpha.kubernetes.io/cluster-selector"
WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)


class Engine:
    """A policy engine that gives the answers it was told, one after the other, and remembers what it was asked."""

    address = "http://engine"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def send(self, request, timeout):
        self.asked.append(orjson.loads(request.body))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        status, document = answer
        return Response(status, body=document if isinstance(document, bytes) else orjson.dumps(document))


@asynccontextmanager
async def host(runtime, *, policies=True):
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    try:
        if policies:
            await client.create(NAMESPACES, {"metadata": {"name": POLICY_NAMESPACE}})
            await client.create(CONFIGMAPS, config("policy", POLICY_NAMESPACE))
        yield client
    finally:
        await client.close()
        await server.close()


def config(name="settings", namespace="default", **annotations):
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations}}  # fmt: skip


def review(obj, operation="CREATE"):
    request = {"uid": "u1", "operation": operation, "namespace": obj["metadata"]["namespace"], "object": obj}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


ANSWERS = {
    "errors": ((200, {"errors": ["no", "never"]}), 1, "no; never"),
    "undefined": ((404, {}), 1, "the policy engine does not define a decision for it"),
    "not JSON": ((200, b"<html>"), 1, "the policy engine's answer is not JSON"),
    "a list": ((200, []), 1, "the policy engine's answer is no JSON object"),
    "annotations that are no texts": ((200, {"annotations": {"a": 1}}), 1, "must be texts"),
    "broken for good": ((500, {}), 5, "the policy engine answers 500"),
    "not there": (Unreachable("http://engine", "refused"), 5, "the policy engine cannot be asked"),
}


@pytest.mark.looptime
@pytest.mark.parametrize(("answer", "tries", "sentence"), ANSWERS.values(), ids=ANSWERS)
async def test_what_the_engine_does_not_allow_is_forbidden_and_told(answer, tries, sentence):
    runtime, engine = SeededRuntime(0), Engine(answer)
    async with host(runtime) as client:
        started = runtime.monotonic()
        response = (await PolicyHook(client, engine, runtime).review(review(config())))["response"]
        took = runtime.monotonic() - started

        assert (response["allowed"], response["status"]["reason"]) == (False, "Forbidden")
        assert sentence in response["status"]["message"]
        assert len(engine.asked) == tries
        assert took >= (0.1 + 0.15 + 0.225 + 0.3375 if tries == 5 else 0.0)
        assert [event["reason"] for event in (await client.list(EVENTS)).items] == ["SchedulingPolicy"]


@pytest.mark.looptime
async def test_annotations_of_the_engine_replace_the_objects_own_and_others_stay():
    runtime = SeededRuntime(0)
    engine = Engine((503, {}), (200, {"annotations": {SELECTOR: "[]", "new": "1"}}))
    async with host(runtime) as client:
        obj = config(**{SELECTOR: "old", "mine": "2"})
        response = (await PolicyHook(client, engine, runtime).review(review(obj, "UPDATE")))["response"]

    patch = orjson.loads(base64.b64decode(response["patch"]))
    assert response["allowed"]
    assert patch[0]["value"] == {SELECTOR: "[]", "new": "1", "mine": "2"}
    assert engine.asked == [obj, obj]


@pytest.mark.looptime
async def test_without_policies_and_for_its_own_namespaces_the_engine_is_not_asked():
    runtime, engine = SeededRuntime(0), Engine((500, {}))
    async with host(runtime, policies=False) as client:
        hook = PolicyHook(client, engine, runtime)
        assert (await hook.review(review(config())))["response"] == {"uid": "u1", "allowed": True}
    async with host(runtime) as client:
        hook = PolicyHook(client, engine, runtime)
        assert (await hook.review(review(config(namespace="kube-system"))))["response"]["allowed"]
    assert engine.asked == []


async def test_a_host_asks_the_hook_over_the_network(tmp_path):
    runtime = SystemRuntime()
    authority = CertificateAuthority.open(tmp_path, runtime=runtime)
    tls = authority.serving(runtime=runtime, names=("127.0.0.1",)).tls_context()
    engine = Engine((200, {"annotations": {SELECTOR: "[]"}}), (200, {"errors": ["not today"]}))
    async with host(runtime) as client:
        runner = web.AppRunner(application(PolicyHook(client, engine, runtime)))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        port = runner.addresses[0][1]
        bundle = base64.b64encode(authority.certificate_pem).decode()
        try:
            await client.create(WEBHOOKS, webhook_manifest(f"https://127.0.0.1:{port}/admit", bundle))

            made = await client.create(CONFIGMAPS, config())
            with pytest.raises(Forbidden, match="not today"):
                await client.create(CONFIGMAPS, config("more"))
        finally:
            await runner.cleanup()

    assert made["metadata"]["annotations"] == {SELECTOR: "[]"}
    assert [obj["kind"] for obj in engine.asked] == ["ConfigMap", "ConfigMap"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("retryBackoff: 5", "kubeconfig must name the file"),
        ("[", "not valid YAML"),
        ("{kubeconfig: a, retryBackoff: -1}", "retryBackoff must be a number of milliseconds"),
    ],
)
def test_a_wrong_configuration_is_refused(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_settings(text)
    assert read_settings("kubeconfig: engine.conf").backoff_seconds == 0.1


def test_the_command_prints_the_configuration_for_the_host(tmp_path):
    for name in ("config", "cert", "key"):
        (tmp_path / name).write_text("x")

    done = CliRunner().invoke(
        command,
        [
            "--config",
            f"{tmp_path}/config",
            "--tls-cert",
            f"{tmp_path}/cert",
            "--tls-key",
            f"{tmp_path}/key",
            "--manifest",
        ],
    )

    assert done.exit_code == 0
    assert "url: https://127.0.0.1:8443/admit" in done.output


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"request": []}',
        b'{"request": {"uid": 7}}',
        b'{"request": {"uid": "u", "object": 7}}',
        b'{"request": {"uid": "u", "object": {"metadata": {"annotations": ["a"]}}}}',
    ],
)
async def test_a_body_that_is_no_review_is_the_senders_fault(body):
    runtime = SeededRuntime(1)
    async with (
        host(runtime) as client,
        TestClient(TestServer(application(PolicyHook(client, Engine(), runtime)))) as asked,
    ):
        answer = await asked.post("/admit", data=body)
        assert (answer.status, (await answer.text()).strip() != "") == (400, True)
