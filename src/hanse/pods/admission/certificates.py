"""The certificate that the admission server shows, and the authority of its own that signed it.

Both are made by Hanse and signed by nobody else: whoever calls the server is given the authority along with its
address. Files are never written; a key is in memory and in one Secret.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hanse.kube.runtime import Runtime

AUTHORITY_LIFE = timedelta(days=3650)
CERTIFICATE_LIFE = timedelta(days=365)
# Clocks of client and server differ by a little.
_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Authority:
    """What signs certificates: its own certificate and its key, as PEM."""

    certificate_pem: bytes
    key_pem: bytes


@dataclass(frozen=True, slots=True)
class ServingCertificate:
    """What a server shows: its certificate and key, and the certificates of authorities that clients are to trust."""

    certificate_pem: bytes
    key_pem: bytes
    authority_pem: bytes

    def tls_context(self) -> ssl.SSLContext:
        """Return a TLS context that serves with it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        self.load_into(context)
        return context

    def load_into(self, context: ssl.SSLContext) -> None:
        """Have a context serve with it from the next connection on."""
        with _as_file(self.key_pem + self.certificate_pem) as path:
            context.load_cert_chain(path)


def new_authority(runtime: Runtime) -> Authority:
    """Return a new authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    # A name of its own: clients that trust two authorities of one name may try the wrong one.
    subject = _named(f"hanse-admission-{runtime.uid()[:8]}")
    certificate = (
        _begun(subject, subject, key, runtime, AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(_pem(certificate), _key_pem(key))


def new_certificate(
    authority: Authority, names: Sequence[str], runtime: Runtime, *, trusted: bytes = b""
) -> ServingCertificate:
    """Return a certificate for a server of these names; `trusted` are older authorities that clients go on trusting."""
    issuer = x509.load_pem_x509_certificate(authority.certificate_pem)
    signer = serialization.load_pem_private_key(authority.key_pem, password=None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise TypeError("the key of the authority is no elliptic-curve key")
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _begun(_named(names[0][:64]), issuer.subject, key, runtime, CERTIFICATE_LIFE)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return ServingCertificate(_pem(certificate), _key_pem(key), authority.certificate_pem + trusted)


def is_due(certificate_pem: bytes, now: float) -> bool:
    """Tell whether a third or less of a certificate's time is left."""
    certificate = x509.load_pem_x509_certificate(certificate_pem)
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return datetime.fromtimestamp(now, UTC) >= ends - (ends - begins) / 3


def serves(certificate_pem: bytes, names: Sequence[str]) -> bool:
    """Tell whether a certificate is good for a server of these names."""
    certificate = x509.load_pem_x509_certificate(certificate_pem)
    listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return all(_general_name(name) in listed for name in names)


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, runtime: Runtime, life: timedelta
) -> x509.CertificateBuilder:
    now = datetime.fromtimestamp(runtime.now(), UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(int(runtime.uid().replace("-", ""), 16))
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + life)
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not signs,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Give a library that reads only files the path of one; where that can be, it is in memory alone."""
    if sys.platform == "linux":
        descriptor = os.memfd_create("serving-certificate")
        with os.fdopen(descriptor, "wb", closefd=True) as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
