"""A server's own certificate authority: serving and client certificates, and the pieces of a kubeconfig.

Everything lies in one folder, is made once and used again; private keys are readable by their owner only.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hanse.apiserver.identity import Identity
from hanse.kube.manifest import Obj
from hanse.kube.runtime import Runtime

_AUTHORITY_LIFE = timedelta(days=3650)
_CERTIFICATE_LIFE = timedelta(days=365)
_LOOPBACK = ("127.0.0.1", "::1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True, slots=True)
class ServingCredentials:
    """What a listener needs: its certificate and key, and the authority whose client certificates it believes."""

    certificate_file: Path
    key_file: Path
    authority_file: Path

    def tls_context(self) -> ssl.SSLContext:
        """Return a TLS context that asks for client certificates and accepts clients without one."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate_file, self.key_file)
        context.load_verify_locations(self.authority_file)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["http/1.1"])
        return context


class CertificateAuthority:
    """Signs for one server; `open` makes the authority in its folder or reads the one that is there."""

    def __init__(self, folder: Path, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        self._folder = folder
        self._key = key
        self._certificate = certificate

    @classmethod
    def open(cls, folder: Path, *, runtime: Runtime, name: str = "hanse") -> CertificateAuthority:
        """Return the authority of a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        key_file, certificate_file = folder / "ca.key", folder / "ca.crt"
        if key_file.exists() and certificate_file.exists():
            key = _read_key(key_file)
            return cls(folder, key, x509.load_pem_x509_certificate(certificate_file.read_bytes()))
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name}-ca")])
        certificate = (
            _builder(subject, subject, key.public_key(), runtime, _AUTHORITY_LIFE)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_key_usage(signs=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        _write_key(key_file, key)
        certificate_file.write_bytes(_pem(certificate))
        return cls(folder, key, certificate)

    @property
    def certificate_pem(self) -> bytes:
        """The authority's certificate."""
        return _pem(self._certificate)

    def token_key(self) -> ec.EllipticCurvePrivateKey:
        """Return the key that signs service accounts' tokens, made once: tokens stay good over restarts."""
        file = self._folder / "sa.key"
        if not file.exists():
            _write_key(file, ec.generate_private_key(ec.SECP256R1()))
        return _read_key(file)

    def serving(self, *, runtime: Runtime, names: tuple[str, ...] = ()) -> ServingCredentials:
        """Return the serving certificate for loopback and further names, new when it lacks one or nears its end."""
        certificate_file, key_file = self._folder / "server.crt", self._folder / "server.key"
        wanted = tuple(dict.fromkeys((*_LOOPBACK, *names)))
        now = datetime.fromtimestamp(runtime.now(), UTC)
        if not (key_file.exists() and _is_good(certificate_file, wanted, now, self._certificate)):
            key = ec.generate_private_key(ec.SECP256R1())
            subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
            builder = (
                _builder(subject, self._certificate.subject, key.public_key(), runtime, _CERTIFICATE_LIFE)
                .add_extension(x509.SubjectAlternativeName([_general_name(one) for one in wanted]), critical=False)
                .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            )
            _write_key(key_file, key)
            certificate_file.write_bytes(_pem(self._signed(builder)))
        return ServingCredentials(certificate_file, key_file, self._folder / "ca.crt")

    def client(self, identity: Identity, *, runtime: Runtime) -> tuple[bytes, bytes]:
        """Return a new client certificate and its key for an identity: user as common name, groups as organizations."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in identity.groups]
        subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, identity.user)])
        builder = _builder(
            subject, self._certificate.subject, key.public_key(), runtime, _CERTIFICATE_LIFE
        ).add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        return _pem(self._signed(builder)), _key_pem(key)

    def _signed(self, builder: x509.CertificateBuilder) -> x509.Certificate:
        return (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs=False), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def kubeconfig_cluster(url: str, authority_pem: bytes) -> Obj:
    """Return the `cluster` part of a kubeconfig."""
    return {"server": url, "certificate-authority-data": base64.b64encode(authority_pem).decode()}


def kubeconfig_user(*, token: str = "", certificate: tuple[bytes, bytes] | None = None) -> Obj:
    """Return the `user` part of a kubeconfig: a token, or a client certificate and its key."""
    if certificate is None:
        return {"token": token}
    return {
        "client-certificate-data": base64.b64encode(certificate[0]).decode(),
        "client-key-data": base64.b64encode(certificate[1]).decode(),
    }


def identity_of_certificate(subject: tuple[tuple[tuple[str, str], ...], ...]) -> Identity | None:
    """Return whom a verified client certificate names, from its subject as the ssl module gives it."""
    pairs = [pair for part in subject for pair in part]
    user = next((value for name, value in pairs if name == "commonName"), "")
    groups = tuple(value for name, value in pairs if name == "organizationName")
    return Identity(user, groups) if user else None


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, runtime: Runtime, life: timedelta
) -> x509.CertificateBuilder:
    now = datetime.fromtimestamp(runtime.now(), UTC)
    serial = int(runtime.uid().replace("-", ""), 16)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(serial)
        # Clocks of client and server differ by a little.
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + life)
    )


def _key_usage(*, signs: bool) -> x509.KeyUsage:
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


def _is_good(file: Path, names: tuple[str, ...], now: datetime, authority: x509.Certificate) -> bool:
    if not file.exists():
        return False
    certificate = x509.load_pem_x509_certificate(file.read_bytes())
    listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    lasts = certificate.not_valid_after_utc > now + _CERTIFICATE_LIFE / 10
    return lasts and certificate.issuer == authority.subject and all(_general_name(one) in listed for one in names)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _read_key(file: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(file.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{file} is not an elliptic-curve key")
    return key


def _write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(_key_pem(key))
