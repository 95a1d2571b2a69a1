"""`DNSZone` of hanse.dev/v1alpha1: a zone of another DNS server into which the federation's names are published.

The spec names the zone, who serves it, and the Secret of hanse-system with the credentials; the status says whether the
zone has what it shall have, and if not, why. What it is called in the cloud, which server, which routing: a block of
its own for each provider.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, TypeAlias

from hanse.api.cluster_kind import CONDITION, record, text
from hanse.api.definitions import column, definition
from hanse.api.federation import FederationError, check_domain
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.resources import Resource

DNS_ZONES = Resource("hanse.dev", "v1alpha1", "dnszones", "DNSZone", namespaced=False)

RFC2136, COREDNS, ROUTE53, CLOUDDNS = "rfc2136", "coredns", "route53", "clouddns"
PROVIDERS = (RFC2136, COREDNS, ROUTE53, CLOUDDNS)

SIMPLE, MULTIVALUE, WEIGHTED, LATENCY, GEOLOCATION = "Simple", "Multivalue", "Weighted", "Latency", "Geolocation"
ROUTE53_ROUTINGS = (SIMPLE, MULTIVALUE, WEIGHTED, LATENCY, GEOLOCATION)
CLOUDDNS_ROUTINGS = (SIMPLE, WEIGHTED, GEOLOCATION)

TSIG_ALGORITHMS = ("hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512")
DEFAULT_RESYNC_SECONDS = 600
_LEAST_RESYNC_SECONDS = 10
_DNS_PORT = 53


class DnsZoneError(ValueError):
    """A DNSZone that cannot be understood; its text says which field, and what belongs there."""


@dataclass(frozen=True, slots=True)
class Rfc2136Settings:
    """A name server that takes dynamic updates and lets the zone be transferred."""

    host: str
    port: int = _DNS_PORT
    key_name: str = ""
    algorithm: str = "hmac-sha256"
    timeout_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class CoreDnsSettings:
    """The etcd from which CoreDNS' etcd plugin answers."""

    endpoints: tuple[str, ...]
    prefix: str = "/skydns"
    timeout_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class HealthCheckSettings:
    """What Route 53's own checkers ask of an address."""

    protocol: str = "TCP"
    port: int = 443
    path: str = ""
    interval_seconds: int = 30
    failures: int = 3


@dataclass(frozen=True, slots=True)
class Route53Settings:
    """A hosted zone of Amazon Route 53, and how its answers differ by asker."""

    zone_id: str = ""
    routing: str = SIMPLE
    # Where a region of the federation is in Amazon's words: a region, or a continent or country code.
    regions: Mapping[str, str] = field(default_factory=dict)
    health: HealthCheckSettings | None = None
    endpoint: str = ""


@dataclass(frozen=True, slots=True)
class CloudDnsSettings:
    """A managed zone of Google Cloud DNS, and how its answers differ by asker."""

    project: str
    managed_zone: str = ""
    routing: str = SIMPLE
    # Where a region of the federation is in Google's words: a region of theirs.
    regions: Mapping[str, str] = field(default_factory=dict)
    endpoint: str = "https://dns.googleapis.com"


Settings: TypeAlias = Rfc2136Settings | CoreDnsSettings | Route53Settings | CloudDnsSettings


@dataclass(frozen=True, slots=True)
class DnsZone:
    """What a DNSZone asks for."""

    name: str
    zone: str
    settings: Settings
    secret: str = ""
    # What names this federation in ownership records; "" is the uid of the Federation object.
    owner: str = ""
    # What named it so far, from the status: a Federation that was made anew keeps its names.
    owner_so_far: str = ""
    resync_seconds: float = DEFAULT_RESYNC_SECONDS


def parse_dns_zone(obj: Obj) -> DnsZone:
    """Read a DNSZone; raises DnsZoneError with one sentence on the first field that is wrong."""
    spec = obj.get("spec") or {}
    zone = _text(spec, "zone", "spec").removesuffix(".")
    try:
        check_domain(zone, "spec.zone")
    except FederationError as error:
        raise DnsZoneError(str(error)) from error
    return DnsZone(
        name=name_of(obj),
        zone=zone,
        settings=_settings(spec),
        secret=str(dig(spec, "secretRef", "name", default="")),
        owner=_owner(spec),
        owner_so_far=str(dig(obj, "status", "owner", default="")),
        resync_seconds=_number(spec, "resyncSeconds", "spec", DEFAULT_RESYNC_SECONDS, least=_LEAST_RESYNC_SECONDS),
    )


def _settings(spec: Obj) -> Settings:
    provider = _choice(spec, "provider", "spec", PROVIDERS)
    block = spec.get(provider)
    if block is None and provider == ROUTE53:
        block = {}
    if not isinstance(block, dict):
        raise DnsZoneError(f"spec.{provider}: must say how the provider {provider} is reached")
    readers: dict[str, Callable[[Obj, str], Settings]] = {
        RFC2136: _rfc2136,
        COREDNS: _coredns,
        ROUTE53: _route53,
        CLOUDDNS: _clouddns,
    }
    return readers[provider](block, f"spec.{provider}")


def _rfc2136(block: Obj, where: str) -> Rfc2136Settings:
    server = _text(block, "server", where)
    host, port = _host_and_port(server, f"{where}.server")
    return Rfc2136Settings(
        host,
        port,
        key_name=str(block.get("tsigKeyName") or ""),
        algorithm=_choice(block, "tsigAlgorithm", where, TSIG_ALGORITHMS, default="hmac-sha256"),
        timeout_seconds=_number(block, "timeoutSeconds", where, 10, least=1),
    )


def _coredns(block: Obj, where: str) -> CoreDnsSettings:
    endpoints = block.get("endpoints")
    if not isinstance(endpoints, list) or not endpoints:
        raise DnsZoneError(f"{where}.endpoints: must name at least one URL of etcd, such as http://etcd:2379")
    for index, endpoint in enumerate(endpoints):
        if not str(endpoint).startswith(("http://", "https://")):
            raise DnsZoneError(f"{where}.endpoints[{index}]: {endpoint!r} must be a URL such as http://etcd:2379")
    prefix = "/" + str(block.get("pathPrefix") or "/skydns").strip("/")
    return CoreDnsSettings(tuple(str(each).rstrip("/") for each in endpoints), prefix)


def _route53(block: Obj, where: str) -> Route53Settings:
    health = block.get("healthCheck")
    return Route53Settings(
        zone_id=str(block.get("zoneID") or "").removeprefix("/hostedzone/"),
        routing=_choice(block, "routing", where, ROUTE53_ROUTINGS, default=SIMPLE),
        regions=_regions(block, where),
        health=None if health is None else _health(health, f"{where}.healthCheck"),
        endpoint=str(block.get("endpoint") or ""),
    )


def _clouddns(block: Obj, where: str) -> CloudDnsSettings:
    return CloudDnsSettings(
        project=_text(block, "project", where),
        managed_zone=str(block.get("managedZone") or ""),
        routing=_choice(block, "routing", where, CLOUDDNS_ROUTINGS, default=SIMPLE),
        regions=_regions(block, where),
        endpoint=str(block.get("endpoint") or CloudDnsSettings("").endpoint).rstrip("/"),
    )


def _health(block: Obj, where: str) -> HealthCheckSettings:
    return HealthCheckSettings(
        protocol=_choice(block, "protocol", where, ("TCP", "HTTP", "HTTPS"), default="TCP"),
        port=int(_number(block, "port", where, 443, least=1, most=65535)),
        path=str(block.get("path") or ""),
        interval_seconds=10 if block.get("intervalSeconds") == 10 else 30,
        failures=int(_number(block, "failures", where, 3, least=1, most=10)),
    )


def _regions(block: Obj, where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for index, entry in enumerate(block.get("regions") or ()):
        at = f"{where}.regions[{index}]"
        found[_text(entry, "region", at)] = _text(entry, "location", at)
    return found


def _owner(spec: Obj) -> str:
    owner = str(spec.get("owner") or "")
    if not all(char.isascii() and (char.isalnum() or char in "-._") for char in owner):
        raise DnsZoneError(f"spec.owner: {owner!r} may have letters, digits, '-', '.' and '_' only")
    return owner


def _host_and_port(server: str, where: str) -> tuple[str, int]:
    host, colon, port = server.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        return server.strip("[]"), _DNS_PORT
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise DnsZoneError(f"{where}: {server!r} must be HOST or HOST:PORT")
    return host.strip("[]"), int(port)


def _text(entry: Obj, name: str, where: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str) or not value:
        raise DnsZoneError(f"{where}.{name}: must be given")
    return value


def _choice(entry: Obj, name: str, where: str, choices: tuple[str, ...], default: str = "") -> str:
    value = str(entry.get(name) or default)
    if value not in choices:
        raise DnsZoneError(f"{where}.{name}: {value!r} must be one of {', '.join(choices)}")
    return value


def _number(entry: Obj, name: str, where: str, default: float, *, least: float, most: float = inf) -> float:
    value = entry.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        bound = f"from {least:g} to {most:g}" if most < inf else f"of at least {least:g}"
        raise DnsZoneError(f"{where}.{name}: {value!r} must be a number {bound}")
    return value


def _whole(description: str, least: int, most: int = 2**31 - 1) -> dict[str, Any]:
    return {"type": "integer", "description": description, "minimum": least, "maximum": most}


def _fixed(message: str) -> dict[str, Any]:
    return {"x-kubernetes-validations": [{"rule": "self == oldSelf", "message": message}]}


def _region_table(description: str) -> dict[str, Any]:
    entry = record(
        {"region": text("A region of the federation", maxLength=253), "location": text(description, maxLength=63)},
        required=["region", "location"],
    )
    told = "Where regions are in the provider's words"
    return {"type": "array", "maxItems": 256, "items": entry, "description": told}


_SPEC = record(
    {
        "zone": text(
            "The zone, e.g. example.com; names of services that end with it are published there",
            maxLength=253,
            **_fixed("make another DNSZone for another zone"),
        ),
        "provider": text(
            "Who serves the zone",
            enum=list(PROVIDERS),
            **_fixed("make another DNSZone for another provider"),
        ),
        "secretRef": record({"name": text("A Secret in hanse-system")}, "Where the credentials are", required=["name"]),
        "owner": text("What names this federation in ownership records (default: the Federation's uid)", maxLength=63),
        "resyncSeconds": _whole("How often the whole zone is looked at again (default 600)", _LEAST_RESYNC_SECONDS),
        RFC2136: record(
            {
                "server": text("The primary name server, HOST or HOST:PORT", maxLength=261),
                "tsigKeyName": text("The key with which updates are signed; its secret is tsig-secret of the Secret"),
                "tsigAlgorithm": text("How they are signed", enum=list(TSIG_ALGORITHMS)),
                "timeoutSeconds": _whole("How long an answer may take (default 10)", 1, 300),
            },
            "Dynamic updates (RFC 2136), e.g. BIND or Knot",
            required=["server"],
        ),
        COREDNS: record(
            {
                "endpoints": {"type": "array", "items": text(), "minItems": 1, "description": "URLs of etcd"},
                "pathPrefix": text("The plugin's path (default /skydns)"),
            },
            "CoreDNS with its etcd plugin; Secret: username and password, or ca.crt, tls.crt and tls.key",
            required=["endpoints"],
        ),
        ROUTE53: record(
            {
                "zoneID": text("The hosted zone; needed where several have the same name"),
                "routing": text("How answers differ by asker (default Simple)", enum=list(ROUTE53_ROUTINGS)),
                "regions": _region_table("An AWS region for Latency, a continent or country code for Geolocation"),
                "healthCheck": record(
                    {
                        "protocol": text(enum=["TCP", "HTTP", "HTTPS"]),
                        "port": _whole("The port that is asked (default 443)", 1, 65535),
                        "path": text("What is asked for, for HTTP and HTTPS"),
                        "intervalSeconds": {"type": "integer", "enum": [10, 30]},
                        "failures": _whole("So many failures make an address dead (default 3)", 1, 10),
                    },
                    "Route 53's own health checks, one for each set of a cluster",
                ),
                "endpoint": text("Another URL of the API, for tests and private endpoints"),
            },
            "Amazon Route 53; Secret: aws_access_key_id and aws_secret_access_key, else the ambient credentials",
        ),
        CLOUDDNS: record(
            {
                "project": text("The Google Cloud project"),
                "managedZone": text("The managed zone; needed where several have the same DNS name"),
                "routing": text("How answers differ by asker (default Simple)", enum=list(CLOUDDNS_ROUTINGS)),
                "regions": _region_table("A Google Cloud region, for Geolocation"),
                "endpoint": text("Another URL of the API, for tests and private endpoints"),
            },
            "Google Cloud DNS; Secret: service-account.json, else the ambient credentials",
            required=["project"],
        ),
    },
    required=["zone", "provider"],
)

_STATUS = record(
    {
        "conditions": {"type": "array", "items": CONDITION},
        "observedGeneration": {"type": "integer", "description": "The version of the spec that this is about"},
        "owner": text("What names this federation in the zone's ownership records"),
        "records": {"type": "integer", "description": "How many record sets of this federation the zone has"},
        "conflicts": {
            "type": "array",
            "items": text(),
            "description": "Names that are not this federation's and are left alone; the first of them",
        },
    }
)

DNS_ZONE_CRD = definition(
    DNS_ZONES,
    record(
        {"apiVersion": text(), "kind": text(), "metadata": {"type": "object"}, "spec": _SPEC, "status": _STATUS},
        "A zone of another DNS server into which the federation's names are published.",
        required=["spec"],
    ),
    [
        column("Zone", "string", ".spec.zone"),
        column("Provider", "string", ".spec.provider"),
        column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
        column("Records", "integer", ".status.records"),
        column("Message", "string", '.status.conditions[?(@.type=="Ready")].message', priority=1),
        column("Age", "date", ".metadata.creationTimestamp"),
    ],
    status=True,
    categories=("hanse",),
)
