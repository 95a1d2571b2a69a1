"""The kubelet's certificate: signed by the cluster, renewed in time, and self-made where nobody signs."""

from __future__ import annotations

import asyncio
import base64
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hanse.kube import SeededRuntime
from hanse.kube.client import Client
from hanse.kube.transport import Response
from hanse.pods.kubelet.certificates import renewal_after, self_made
from hanse.pods.kubelet.keys import KeyRing
from hanse.pods.kubelet.signing import Signature

pytestmark = pytest.mark.looptime

DAY = 86_400.0
ISSUER = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "cluster")])


class Cluster:
    """The part of an API server that takes requests for certificates, and a signer that may or may not sign."""

    address = "signer"

    def __init__(self, runtime, verdict="signs"):
        self.requests = {}
        self.verdict = verdict
        self._runtime = runtime
        self._key = ec.generate_private_key(ec.SECP256R1())

    async def send(self, request, timeout):
        await self._runtime.sleep(0.01)
        body = orjson.loads(request.body) if request.body else {}
        name = request.path.split("/")[5] if request.path.count("/") > 4 else ""
        if self.verdict == "knows of none":
            return Response(404, {}, b"404 page not found")
        if request.method == "POST":
            self.requests[body["metadata"]["name"]] = body
        elif request.method == "PUT" and self.verdict == "signs":
            body["status"]["certificate"] = base64.b64encode(self._signed(body)).decode()
            self.requests[name] = body
        elif request.method == "PUT" and self.verdict == "denies":
            body["status"]["conditions"] = [{"type": "Denied", "status": "True"}]
            self.requests[name] = body
        elif request.method == "DELETE":
            del self.requests[name]
            body = {"kind": "Status"}
        else:
            body = self.requests[name]
        return Response(200, {}, orjson.dumps(body))

    def _signed(self, body):
        asked = x509.load_pem_x509_csr(base64.b64decode(body["spec"]["request"]))
        now = datetime.fromtimestamp(self._runtime.now(), UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(asked.subject)
            .issuer_name(ISSUER)
            .public_key(asked.public_key())
            .serial_number(1)
            .not_valid_before(now)
            .not_valid_after(now + timedelta(days=10))
            .sign(self._key, hashes.SHA256())
            .public_bytes(serialization.Encoding.PEM)
        )


@asynccontextmanager
async def signing(verdict="signs", signer="kubernetes.io/kubelet-serving", age_days=0):
    runtime = SeededRuntime(0)
    cluster = Cluster(runtime, verdict)
    client = Client(cluster, runtime)
    ring = KeyRing(self_made("10.0.0.7", runtime.now() - age_days * DAY, 1))
    task = asyncio.create_task(Signature(client, "10.0.0.7", ring, signer).run())
    try:
        yield cluster, ring, runtime
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def issuer(ring):
    return x509.load_pem_x509_certificate(ring.current.pair.certificate).issuer


async def test_a_cluster_signs_for_the_address_that_nodes_tell():
    async with signing() as (cluster, ring, runtime):
        await runtime.sleep(5.0)
        (asked,) = cluster.requests.values()

    csr = x509.load_pem_x509_csr(base64.b64decode(asked["spec"]["request"]))
    names = csr.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert issuer(ring) == ISSUER
    assert csr.subject.rfc4514_string() == "CN=system:node:admiralty,O=system:nodes"
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.7"]
    assert asked["spec"]["usages"] == ["digital signature", "server auth"]
    assert asked["status"]["conditions"][0]["type"] == "Approved"


async def test_another_certificate_is_asked_for_before_the_first_one_ends():
    async with signing() as (_, ring, runtime):
        await runtime.sleep(5.0)
        first = ring.current.pair
        await runtime.sleep(6.9 * DAY)
        kept = ring.current.pair
        await runtime.sleep(0.2 * DAY)
        second = ring.current.pair

    assert kept == first
    assert second.key != first.key
    assert issuer(ring) == ISSUER


@pytest.mark.parametrize("verdict", ["is silent", "denies"])
async def test_the_kubelets_own_certificate_stays_where_none_is_signed_and_it_asks_again(verdict):
    async with signing(verdict) as (cluster, ring, runtime):
        own = ring.current.pair
        await runtime.sleep(120.0)
        refused, left = ring.current.pair, len(cluster.requests)
        cluster.verdict = "signs"
        await runtime.sleep(700.0)

    assert (refused, left) == (own, 0)
    assert issuer(ring) == ISSUER


async def test_a_certificate_that_nobody_signs_is_made_anew_in_time():
    async with signing(signer="", age_days=250) as (cluster, ring, runtime):
        own = ring.current.pair
        left = renewal_after(own.certificate, runtime.now())
        await runtime.sleep(left - 60.0)
        kept = ring.current.pair
        await runtime.sleep(120.0)

    assert (kept, cluster.requests) == (own, {})
    assert ring.current.pair != own
    assert 5 * DAY < left < 6 * DAY


async def test_a_server_that_takes_no_requests_is_asked_once():
    async with signing("knows of none") as (cluster, ring, runtime):
        own = ring.current.pair
        await runtime.sleep(1.0)
        cluster.verdict = "signs"
        await runtime.sleep(DAY)

    assert (ring.current.pair, cluster.requests) == (own, {})
