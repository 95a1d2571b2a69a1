"""Why no answer came, from what the HTTP and TLS libraries raise: one cause and what to do about it."""

from __future__ import annotations

import errno
import ssl

import aiohttp
from yarl import URL

from hanse.kube.auth.endpoint import Endpoint

_HUNG_UP = (errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED)

# OpenSSL's X509_V_ERR_* codes.
_NOT_YET_VALID, _EXPIRED = 9, 10
_WRONG_NAME = (62, 64)

_ALERTS = {
    "CERTIFICATE_EXPIRED": "it refuses our client certificate, which has expired; renew {certificate}",
    "CERTIFICATE_REQUIRED": "it demands a client certificate; give one in {certificate}",
    "UNKNOWN_CA": "it does not know the authority that signed our client certificate; correct {certificate}",
    "BAD_CERTIFICATE": "it refuses our client certificate; correct {certificate}",
    "DECRYPT_ERROR": "it refuses our client certificate; correct {certificate}",
    "CERTIFICATE_UNKNOWN": "it refuses our client certificate; correct {certificate}",
    "UNRECOGNIZED_NAME": "it does not serve that host name; correct {server} or set {name}",
}


def cause(error: Exception, endpoint: Endpoint, timeout: float) -> str:
    """Say why a request got no answer, and what to do."""
    server = endpoint.origin.cluster_field("server")
    if _errno(error) == errno.ETIMEDOUT and not isinstance(error, aiohttp.ClientConnectorError):
        return "the connection died: nothing answers at its other end"
    if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientConnectorError):
        return f"no answer within {timeout:g} s; check that it runs and that no firewall is in between"
    if isinstance(error, (aiohttp.ClientHttpProxyError, aiohttp.ClientProxyConnectionError)):
        return _proxy_cause(error, endpoint)
    if (fault := _ssl_error(error)) is not None:
        return _tls_cause(fault, endpoint)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"the host name {error.host} cannot be resolved; check {server}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return _connection_cause(error.os_error, server)
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the answer broke off"
    if isinstance(error, (aiohttp.ServerDisconnectedError, ConnectionError)) or _errno(error) in _HUNG_UP:
        return "the server hung up"
    if isinstance(error, aiohttp.ClientResponseError):
        return f"it does not speak HTTP; check {server}"
    return str(error) or type(error).__name__


def _errno(error: Exception) -> int | None:
    return error.errno if isinstance(error, OSError) else None


def _connection_cause(error: OSError, server: str) -> str:
    if error.errno == errno.ECONNREFUSED:
        return f"the connection was refused; check that an API server runs there, and {server}"
    return f"{_reason(error)}; check the network and {server}"


def _reason(error: OSError) -> str:
    if error.errno == errno.ECONNREFUSED:
        return "the connection was refused"
    text = error.strerror or str(error) or "the connection failed"
    return text[:1].lower() + text[1:]


def _ssl_error(error: Exception) -> ssl.SSLError | ssl.CertificateError | None:
    # aiohttp's own errors pass for those of the ssl module, without saying what those say.
    for candidate in (
        getattr(error, "certificate_error", None),
        getattr(error, "os_error", None),
        error.__cause__,
        error.__context__,
        error,
    ):
        if isinstance(candidate, (ssl.SSLError, ssl.CertificateError)):
            return candidate
    return None


def _tls_cause(fault: ssl.SSLError, endpoint: Endpoint) -> str:
    origin = endpoint.origin
    if isinstance(fault, ssl.SSLCertVerificationError):
        return _certificate_cause(fault, endpoint)
    reason = (fault.reason or "").upper()
    for alert, sentence in _ALERTS.items():
        if reason.endswith(f"ALERT_{alert}"):
            return sentence.format(
                certificate=origin.user_field("client-certificate"),
                server=origin.cluster_field("server"),
                name=origin.cluster_field("tls-server-name"),
            )
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"):
        return (
            f"it does not speak TLS, so it is no API server; check scheme and port in {origin.cluster_field('server')}"
        )
    return f"TLS failed ({reason.lower().replace('_', ' ') or fault})"


def _certificate_cause(fault: ssl.SSLCertVerificationError, endpoint: Endpoint) -> str:
    origin = endpoint.origin
    if fault.verify_code == _EXPIRED:
        return "its certificate has expired; renew the serving certificate of the API server"
    if fault.verify_code == _NOT_YET_VALID:
        return "its certificate is not valid yet; compare the clocks of both sides"
    if fault.verify_code in _WRONG_NAME:
        asked = endpoint.tls_server_name or URL(endpoint.server).host
        name = origin.cluster_field("tls-server-name")
        return f"its certificate is not for {asked}; write a name that it is for into {name}"
    authority = origin.cluster_field("certificate-authority-data")
    if endpoint.ca:
        return f"its certificate is not signed by the authority in {authority}; put the cluster's own authority there"
    return f"its certificate is not signed by an authority that this machine trusts; put the cluster's into {authority}"


def _proxy_cause(error: aiohttp.ClientHttpProxyError | aiohttp.ClientProxyConnectionError, endpoint: Endpoint) -> str:
    field = endpoint.origin.cluster_field("proxy-url")
    # A proxy's URL may carry a password.
    proxy = str(URL(endpoint.proxy_url).with_user(None)).rstrip("/")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        answer = f"HTTP {error.status} {error.message}"
        return f"the proxy {proxy} refuses to connect us ({answer}); check its rules and {field}"
    return f"the proxy {proxy} does not answer ({_reason(error.os_error)}); check its address in {field}"
