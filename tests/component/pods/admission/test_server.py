"""The admission server on its socket: whom it answers, and what it says to the rest."""

import asyncio
import base64
import io
import ssl
from contextlib import asynccontextmanager

import aiohttp
import orjson
import pytest
from cryptography import x509

from hanse.api.admiralty.definitions import ADMIRALTY_CRDS
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.resources import CRDS, NAMESPACES, SECRETS
from hanse.kube.runtime import SystemRuntime
from hanse.pods.admission.certificate_secret import MUTATING_WEBHOOKS, SECRET, CertificateSecret
from hanse.pods.admission.certificates import new_authority, new_certificate
from hanse.pods.admission.manifests import PODS_PATH, webhook_configuration
from hanse.pods.admission.server import BODY_BYTES, AdmissionServer
from hanse.pods.installing.admission_call import names_in
from tests.unit.pods.admission.test_mutation import pod
from tests.unit.pods.admission.test_reviews import asked

YEAR = 365 * 24 * 3600.0


class Calendar(SystemRuntime):
    """A clock that is put forward by hand, and sleeps no longer than it has to."""

    def __init__(self):
        self.ahead = 0.0

    def now(self):
        return super().now() + self.ahead


@asynccontextmanager
async def cluster(runtime, *, kinds=True):
    server = await ApiServer.open(name="source", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    if kinds:
        for definition in ADMIRALTY_CRDS:
            await client.create(CRDS, definition)
    yield client
    await server.close()


@asynccontextmanager
async def serving(client, *, ready=True, **options):
    certificate = new_certificate(new_authority(client.runtime), ["127.0.0.1"], client.runtime)
    server = AdmissionServer(client, "home", certificate, "127.0.0.1", **options)
    running = asyncio.create_task(server.run())
    trusting = ssl.create_default_context(cadata=certificate.authority_pem.decode())
    try:
        async with asyncio.timeout(60):
            await (server.wait_serving() if ready else server._serving.wait())
        base = f"https://127.0.0.1:{server.port}"
        connector = aiohttp.TCPConnector(ssl=trusting)
        async with aiohttp.ClientSession(base, connector=connector) as session:
            yield session
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def review(**request):
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


async def test_every_caller_gets_an_answer_or_a_sentence():
    async with cluster(SystemRuntime()) as client, serving(client, controllers=("robots",)) as session:
        async with session.post(PODS_PATH, data=review(**asked(pod(), user="robots"))) as answer:
            told = orjson.loads(await answer.read())
            assert told["response"]["uid"] == "u-1"
            assert b"pods.hanse.dev:home:system:serviceaccount:default:default" in base64.b64decode(
                told["response"]["patch"]
            )
            assert "no ClusterTarget" in told["response"]["warnings"][0]
        async with session.post(PODS_PATH, data=b"{") as answer:
            assert (answer.status, await answer.text()) == (400, "the body must be JSON\n")
        async with session.post(PODS_PATH, data=io.BytesIO(b"x" * (BODY_BYTES + 1))) as answer:
            assert answer.status == 413
        async with session.get("/healthz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok\n")
        async with session.get("/anything") as answer:
            assert answer.status == 404
        # A pod that no API server would send is refused and harms nobody.
        odd = {**pod(), "spec": {"containers": [], "schedulingGates": ["not a gate"]}}
        async with session.post(PODS_PATH, data=review(**asked(odd))) as answer:
            assert (answer.status, "spec.schedulingGates" in await answer.text()) == (400, True)


async def test_elected_pods_wait_until_the_targets_are_known():
    async with cluster(SystemRuntime(), kinds=False) as client, serving(client, ready=False) as session:
        async with session.get("/healthz") as answer:
            assert answer.status == 503
        async with session.post(PODS_PATH, data=review(**asked(pod()))) as answer:
            told = orjson.loads(await answer.read())["response"]
            assert told["allowed"] is False
            assert "not known yet" in told["status"]["message"]


async def prepared(client):
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}})


def ends(certificate_pem):
    return x509.load_pem_x509_certificate(certificate_pem).not_valid_after_utc.timestamp()


async def bundles(client):
    configuration = await client.get(MUTATING_WEBHOOKS, "pods.hanse.dev")
    return {base64.b64decode(hook["clientConfig"]["caBundle"]) for hook in configuration["webhooks"]}


async def test_a_certificate_is_kept_shared_and_renewed_before_its_end():
    runtime = Calendar()
    async with cluster(runtime, kinds=False) as client:
        await prepared(client)
        mine, yours = (CertificateSecret(client, ["hanse-admission.hanse-system.svc"]) for _ in range(2))
        first, seen = await asyncio.gather(mine.current(), yours.current())
        assert first == seen
        assert await mine.current() == first

        runtime.ahead = 0.7 * YEAR
        renewed = await mine.current()
        assert renewed.authority_pem == first.authority_pem
        assert ends(renewed.certificate_pem) > ends(first.certificate_pem)
        assert renewed.key_pem != first.key_pem
        assert await yours.current() == renewed


async def test_a_new_authority_is_trusted_beside_the_old_one_before_it_signs():
    runtime = Calendar()
    async with cluster(runtime, kinds=False) as client:
        await prepared(client)
        secret = CertificateSecret(client, ["127.0.0.1"])
        first = await secret.current()
        await client.create(MUTATING_WEBHOOKS, webhook_configuration("https://127.0.0.1:1", first.authority_pem))

        runtime.ahead = 7 * YEAR
        second = await secret.current()

        assert second.authority_pem.endswith(first.authority_pem)
        assert second.authority_pem != first.authority_pem
        assert await bundles(client) == {second.authority_pem}


async def test_a_certificate_for_other_names_is_replaced():
    async with cluster(SystemRuntime(), kinds=False) as client:
        await prepared(client)
        first = await CertificateSecret(client, ["127.0.0.1"]).current()
        second = await CertificateSecret(client, ["127.0.0.1", "admission.example.com"]).current()

        assert names_in(first.certificate_pem) == ("127.0.0.1",)
        assert sorted(names_in(second.certificate_pem)) == ["127.0.0.1", "admission.example.com"]
        assert second.authority_pem == first.authority_pem
        stored = await client.get(SECRETS, SECRET.name, SECRET.namespace)
        assert base64.b64decode(stored["data"]["tls.crt"]) == second.certificate_pem


async def test_a_renewed_certificate_is_shown_without_a_restart():
    async with cluster(SystemRuntime()) as client:
        runtime = client.runtime
        authority = new_authority(runtime)
        first, second = (new_certificate(authority, ["127.0.0.1"], runtime) for _ in range(2))
        context = first.tls_context()
        trusting = ssl.create_default_context(cadata=first.authority_pem.decode())

        async def shown():
            server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0, ssl=context)
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), ssl=trusting)
            certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
            writer.close()
            server.close()
            return ssl.DER_cert_to_PEM_cert(certificate).encode()

        assert await shown() == first.certificate_pem
        second.load_into(context)
        assert await shown() == second.certificate_pem


@pytest.mark.parametrize("where", ["https://127.0.0.1:9443", SECRET], ids=["by address", "by service"])
def test_the_webhooks_are_asked_about_nothing_but_elected_pods_and_whole_jobs(where):
    pods, jobs = webhook_configuration(where, b"pem")["webhooks"]

    assert (pods["failurePolicy"], pods["reinvocationPolicy"], pods["sideEffects"]) == ("Fail", "IfNeeded", "None")
    assert [hook["rules"][0]["operations"] for hook in (pods, jobs)] == [["CREATE"], ["CREATE"]]
    assert "elect" in pods["matchConditions"][1]["expression"]
    assert "whole-job" in jobs["matchConditions"][1]["expression"]
    assert pods["namespaceSelector"]["matchLabels"] == {"multicluster-scheduler": "enabled"}
