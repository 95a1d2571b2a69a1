"""What a probe does: connect, send a datagram, ask over HTTP or gRPC, and what counts as a good answer.

A check is read from the annotation `hanse.dev/health-check` of a Service and travels, complete, in HealthReports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from hanse.api.federation import HealthSettings
from hanse.api.health_reports import HEALTH_CHECK_ANNOTATION
from hanse.kube.manifest import Obj
from hanse.services.health.check_fields import BadCheck, Fields
from hanse.services.presence import Port

TCP, UDP, HTTP, HTTPS, GRPC, GRPCS, NONE = "tcp", "udp", "http", "https", "grpc", "grpcs", "none"
KINDS = (TCP, UDP, HTTP, HTTPS, GRPC, GRPCS, NONE)
_ENCRYPTED = (HTTPS, GRPCS)
_GOOD_STATUS = ((200, 399),)
_DEFAULT_TERMS = HealthSettings()


@dataclass(frozen=True, slots=True)
class Check:
    """How an address of a Service is probed, how often, and how much it takes to change one's mind."""

    kind: str
    port: int = 0
    terms: HealthSettings = _DEFAULT_TERMS
    # HTTP: what is asked for, and what a good answer is.
    method: str = "GET"
    path: str = "/"
    host: str = ""
    status: tuple[tuple[int, int], ...] = _GOOD_STATUS
    contains: str = ""
    # With TLS: whose certificate is expected, and who must have signed it; without a CA the system's.
    server_name: str = ""
    ca: str = ""
    verify: bool = True
    # gRPC: the service that is asked about; "" is the server as a whole.
    service: str = ""
    # UDP: what is sent, and what must come back; "" in `expect` takes silence for health and a refusal for death.
    send: str = ""
    expect: str = ""

    @property
    def encrypted(self) -> bool:
        """Whether it speaks TLS."""
        return self.kind in _ENCRYPTED


def check_for(annotation: str | None, ports: Sequence[Port], terms: HealthSettings) -> Check | None:
    """Return how a Service is probed, None where nothing is; raises BadCheck with one sentence."""
    if annotation is None:
        return _default(ports, terms)
    try:
        document: Any = orjson.loads(annotation)
    except orjson.JSONDecodeError as error:
        raise BadCheck(f"annotation {HEALTH_CHECK_ANNOTATION}: it must be a JSON object; it is not JSON") from error
    if not isinstance(document, dict):
        raise BadCheck(f'annotation {HEALTH_CHECK_ANNOTATION}: it must be a JSON object such as {{"type": "tcp"}}')
    fields = Fields(document)
    kind = fields.choice("type", KINDS)
    if kind == NONE:
        fields.finish()
        return None
    check = Check(kind, fields.port("port", ports, "UDP" if kind == UDP else "TCP"), _terms(fields, terms))
    check = _READERS[kind](check, fields)
    fields.finish()
    return check


def _default(ports: Sequence[Port], terms: HealthSettings) -> Check | None:
    for protocol, kind in (("TCP", TCP), ("UDP", UDP)):
        for port in ports:
            if port.protocol == protocol:
                return Check(kind, port.number, terms)
    return None


def _terms(fields: Fields, terms: HealthSettings) -> HealthSettings:
    return HealthSettings(
        interval_seconds=fields.number("intervalSeconds", terms.interval_seconds, least=0.1, most=3600),
        timeout_seconds=fields.number("timeoutSeconds", terms.timeout_seconds, least=0.1, most=3600),
        fall=fields.count("fall", terms.fall),
        rise=fields.count("rise", terms.rise),
    )


def _plain(check: Check, _fields: Fields) -> Check:
    return check


def _udp(check: Check, fields: Fields) -> Check:
    return replace(check, send=fields.text("send"), expect=fields.text("expect"))


def _http(check: Check, fields: Fields) -> Check:
    asked = replace(
        check,
        method=fields.choice("method", ("GET", "HEAD", "OPTIONS"), default="GET"),
        path=fields.path("path"),
        host=fields.host("host"),
        status=fields.ranges("status", _GOOD_STATUS),
        contains=fields.text("contains"),
    )
    return _tls(asked, fields)


def _grpc(check: Check, fields: Fields) -> Check:
    return _tls(replace(check, host=fields.host("host"), service=fields.text("service")), fields)


def _tls(check: Check, fields: Fields) -> Check:
    if not check.encrypted:
        return check
    return replace(
        check, server_name=fields.host("serverName"), ca=fields.certificates("ca"), verify=fields.flag("verify", True)
    )


_READERS = {TCP: _plain, UDP: _udp, HTTP: _http, HTTPS: _http, GRPC: _grpc, GRPCS: _grpc}


def check_entry(check: Check) -> Obj:
    """Write a check as a HealthReport holds it; what is as by default is left out, but for the terms."""
    entry: Obj = {"type": check.kind, "port": check.port}
    entry |= {
        "intervalSeconds": check.terms.interval_seconds,
        "timeoutSeconds": check.terms.timeout_seconds,
        "fall": check.terms.fall,
        "rise": check.terms.rise,
    }
    plain = Check(check.kind)
    for name, field in _WRITTEN.items():
        value = getattr(check, field)
        if value != getattr(plain, field):
            entry[name] = [f"{low}-{high}" for low, high in value] if field == "status" else value
    return entry


def parse_check(entry: Mapping[str, Any]) -> Check:
    """Read a check as a HealthReport holds it; raises BadCheck."""
    check = check_for(orjson.dumps(dict(entry)).decode(), (), _DEFAULT_TERMS)
    if check is None:
        raise BadCheck("spec.check.type: it must say how to probe; 'none' asks for nothing")
    return check


_WRITTEN = {
    "method": "method",
    "path": "path",
    "host": "host",
    "status": "status",
    "contains": "contains",
    "serverName": "server_name",
    "ca": "ca",
    "verify": "verify",
    "service": "service",
    "send": "send",
    "expect": "expect",
}
