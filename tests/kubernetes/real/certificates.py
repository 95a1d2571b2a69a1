"""A throw-away certificate authority for one cluster."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = timedelta(days=2)
# A certificate made a moment ago must hold for a peer whose clock is a little behind.
_BACKDATED = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Credential:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Signs the serving and client certificates of one cluster."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = (
            _builder(self._subject, self._subject, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def credential(self) -> Credential:
        """The authority's own certificate and key."""
        return Credential(_certificate_pem(self._certificate), key_pem(self._key))

    def serving(self, hosts: Sequence[str]) -> Credential:
        """Issue a certificate for a server reached by these names and addresses."""
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        return self._issue("kube-apiserver", (), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, groups: Sequence[str] = ()) -> Credential:
        """Issue a certificate by which Kubernetes knows a user and its groups."""
        return self._issue(user, groups, ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _issue(
        self,
        user: str,
        groups: Sequence[str],
        usage: x509.ObjectIdentifier,
        names: x509.SubjectAlternativeName | None,
    ) -> Credential:
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, user)])
        builder = (
            _builder(subject, self._subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        return Credential(_certificate_pem(builder.sign(self._key, hashes.SHA256())), key_pem(key))


def signing_keys() -> tuple[bytes, bytes]:
    """Make the private and public key with which service account tokens are signed and checked."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return key_pem(key), public


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Write a private key as PEM, without a passphrase."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _LIFETIME)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
