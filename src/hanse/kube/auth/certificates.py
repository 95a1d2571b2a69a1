"""TLS to one API server: whom it trusts, and the certificate that is shown there."""

from __future__ import annotations

import re
import ssl
import tempfile
from datetime import UTC, datetime

from hanse.kube.auth.endpoint import Endpoint, KubeconfigError

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def check_authority(pem: bytes) -> None:
    """Raise ValueError, ending a sentence that begins with a field's name, unless these are CA certificates."""
    _trust(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), pem)


def check_key_pair(certificate: bytes, key: bytes) -> None:
    """Raise ValueError, ending a sentence that begins with a field's name, unless key and certificate fit."""
    _show(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate, key)


def tls_context(endpoint: Endpoint, certificate: bytes | None, key: bytes | None) -> ssl.SSLContext:
    """Build the TLS of an https endpoint, showing this client certificate; raises KubeconfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # As in kubectl: an intermediate may be the root of trust, and RFC 5280's finer points about private
    # authorities are not insisted on (Python 3.13 would).
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if endpoint.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif endpoint.ca:
        try:
            _trust(context, endpoint.ca)
        except ValueError as error:
            raise KubeconfigError(f"the certificate authority for {endpoint.server} {error}") from error
    else:
        context.load_default_certs()
    if certificate and key:
        try:
            _show(context, certificate, key)
        except ValueError as error:
            raise KubeconfigError(f"the client certificate for {endpoint.server} {error}") from error
    return context


def expiry(certificate: bytes) -> float | None:
    """Return when the first certificate of a PEM text ends, in seconds since the epoch; None if it is unreadable."""
    # Needed only after a refusal, and dear to import.
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(certificate).not_valid_after_utc.timestamp()
    except ValueError:
        return None


def day(seconds: float) -> str:
    """Write a moment as people read it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _trust(context: ssl.SSLContext, pem: bytes) -> None:
    # Bundles carry comments in any encoding between the blocks, which OpenSSL's reader of memory refuses.
    blocks = b"\n".join(_CERTIFICATE.findall(pem))
    try:
        context.load_verify_locations(cadata=blocks.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise ValueError("is not a PEM certificate") from error


def _show(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    if b"ENCRYPTED" in key:
        raise ValueError("has a key with a passphrase; store the key without one")
    # The ssl module reads key pairs from files alone; this one is private and lives for a moment.
    with tempfile.NamedTemporaryFile() as pem:
        pem.write(certificate + b"\n" + key)
        pem.flush()
        try:
            context.load_cert_chain(pem.name)
        except ssl.SSLError as error:
            if "MISMATCH" in (error.reason or ""):
                raise ValueError("does not fit its key") from error
            raise ValueError("and its key are not a PEM certificate and key") from error
