"""Serving certificates of the kubelet: made here, or asked for."""

from __future__ import annotations

import base64
import ipaddress
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource
from hanse.pods.kubelet.keys import ServingPair

REQUESTS = Resource(
    "certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest", namespaced=False
)
_LIFE = timedelta(days=365)
# Clocks differ by a little.
_EARLIER = timedelta(minutes=5)
# Of a certificate's life so much passes before another one is asked for.
_RENEWED_AT = 0.7
_SUBJECT = x509.Name(
    [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
        x509.NameAttribute(NameOID.COMMON_NAME, "system:node:admiralty"),
    ]
)


def self_made(host: str, now: float, serial: int) -> ServingPair:
    """Return a certificate that nobody has signed but itself: enough for API servers that check no kubelet's."""
    key = ec.generate_private_key(ec.SECP256R1())
    begin = datetime.fromtimestamp(now, UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_SUBJECT)
        .issuer_name(_SUBJECT)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(begin - _EARLIER)
        .not_valid_after(begin + _LIFE)
        .add_extension(x509.SubjectAlternativeName([_name(host)]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return ServingPair(certificate.public_bytes(serialization.Encoding.PEM), _pem(key))


def signing_request(host: str, signer: str, suffix: str) -> tuple[Obj, bytes]:
    """Return a CertificateSigningRequest for a kubelet that is reached at a host, and the key that stays here."""
    key = ec.generate_private_key(ec.SECP256R1())
    asked = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(_SUBJECT)
        .add_extension(x509.SubjectAlternativeName([_name(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    request = {
        "apiVersion": REQUESTS.api_version,
        "kind": REQUESTS.kind,
        "metadata": {"name": f"admiralty-{suffix}"},
        "spec": {
            "request": base64.b64encode(asked.public_bytes(serialization.Encoding.PEM)).decode(),
            "signerName": signer,
            "usages": ["digital signature", "server auth"],
        },
    }
    return request, _pem(key)


def renewal_after(certificate: bytes, now: float) -> float:
    """Return in how many seconds another certificate is to be had, long before this one ends."""
    held = x509.load_pem_x509_certificate(certificate)
    begin, end = held.not_valid_before_utc.timestamp(), held.not_valid_after_utc.timestamp()
    return max(0.0, begin + (end - begin) * _RENEWED_AT - now)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
