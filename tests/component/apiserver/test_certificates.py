"""CertificateSigningRequests: the server notes who asks, an approver changes conditions, a signer the certificate."""

from __future__ import annotations

import base64

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hanse.kube.manifest import Obj
from tests.component.apiserver.conftest import Api

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def request(**spec: object) -> Obj:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "anna")])
    signed = x509.CertificateSigningRequestBuilder().subject_name(name)
    pem = signed.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    wanted = {"request": base64.b64encode(pem).decode(), "signerName": "example.com/ours", "usages": ["client auth"]}
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "anna"},
        "spec": {**wanted, **spec},
    }


async def test_who_asks_is_noted_by_the_server_and_not_by_themselves(api: Api) -> None:
    made = (await api.create(REQUESTS, request(username="somebody-else", groups=["system:masters"]))).body
    assert made["spec"]["username"] == "admin"
    listed = (await api.get(f"{REQUESTS}?fieldSelector=spec.signerName=example.com/ours")).body["items"]
    assert [one["metadata"]["name"] for one in listed] == ["anna"]


async def test_an_approval_changes_conditions_and_a_signer_the_certificate(api: Api) -> None:
    await api.create(REQUESTS, request())
    approved = {"type": "Approved", "status": "True", "reason": "Known"}
    forged = {"conditions": [approved], "certificate": "bm8="}
    told = (await api.patch(f"{REQUESTS}/anna/approval", {"status": forged, "spec": {"usages": ["any"]}})).body
    assert [one["type"] for one in told["status"]["conditions"]] == ["Approved"]
    assert "certificate" not in told["status"]
    assert told["spec"]["usages"] == ["client auth"]
    signed = (await api.patch(f"{REQUESTS}/anna/status", {"status": {"certificate": "Y2VydA=="}})).body
    assert (signed["status"]["certificate"], len(signed["status"]["conditions"])) == ("Y2VydA==", 1)


async def test_a_request_that_is_none_is_refused(api: Api) -> None:
    refused = await api.create(REQUESTS, request(request="bm90IGEgcmVxdWVzdA==", signerName="plain"))
    assert refused.code == 422
    assert {cause["field"] for cause in refused.body["details"]["causes"]} == {"spec.request", "spec.signerName"}
