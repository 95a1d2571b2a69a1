"""`Federation` of hanse.dev/v1alpha1: what the federation is called in DNS, where its askers are, how health is probed.

There is one, named `federation`. Without it no service has a name in DNS, and nothing else changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from hanse.api.cluster_kind import CLUSTER_NAME_LENGTH, CONDITION, record, text
from hanse.api.definitions import column, definition
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.resources import Resource

FEDERATIONS = Resource("hanse.dev", "v1alpha1", "federations", "Federation", namespaced=False)
FEDERATION_NAME = "federation"

DEFAULT_TTL_SECONDS = 180
_LARGEST_TTL = 2**31 - 1
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONGEST_DOMAIN = 253
_LABEL_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_DOMAIN_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


class FederationError(ValueError):
    """A Federation that cannot be understood; its text says which field, and what belongs there."""


@dataclass(frozen=True, slots=True)
class Subnet:
    """Where askers of these addresses are: in a cluster, or in a region or a zone of it."""

    network: IPv4Network | IPv6Network
    cluster: str = ""
    region: str = ""
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Distance:
    """How far two regions are from each other, in either direction; only comparisons matter."""

    start: str
    end: str
    distance: float


@dataclass(frozen=True, slots=True)
class HealthSettings:
    """How often endpoints are probed, how long an answer may take, and after how many words a verdict turns."""

    interval_seconds: float = 3.0
    timeout_seconds: float = 2.0
    fall: int = 3
    rise: int = 2


@dataclass(frozen=True, slots=True)
class Overload:
    """From which load on a cluster comes after the others, and below which it is one of them again."""

    mark: float = 0.9
    clear: float = 0.7


@dataclass(frozen=True, slots=True)
class FederationSettings:
    """What the Federation object says."""

    name: str
    domain: str
    ttl: int = DEFAULT_TTL_SECONDS
    subnets: tuple[Subnet, ...] = ()
    distances: tuple[Distance, ...] = ()
    health: HealthSettings = HealthSettings()
    overload: Overload = Overload()
    uid: str = ""


def parse_federation(obj: Obj) -> FederationSettings:
    """Read a Federation object; raises FederationError with one sentence on the first field that is wrong."""
    if name_of(obj) != FEDERATION_NAME:
        raise FederationError(f"metadata.name: the one Federation that counts is called {FEDERATION_NAME!r}")
    spec = obj.get("spec") or {}
    check_federation_name(str(spec.get("name") or ""), "spec.name")
    check_domain(str(spec.get("domain") or ""), "spec.domain")
    return FederationSettings(
        name=spec["name"],
        domain=spec["domain"],
        ttl=int(_number(spec, "ttlSeconds", "spec", DEFAULT_TTL_SECONDS, least=0, most=_LARGEST_TTL)),
        subnets=tuple(_subnets(spec.get("subnets") or ())),
        distances=tuple(_distances(spec.get("distances") or ())),
        health=_health(spec.get("health") or {}),
        overload=_overload(spec.get("overload") or {}),
        uid=dig(obj, "metadata", "uid", default=""),
    )


def federation_manifest(name: str, domain: str) -> Obj:
    """Write the Federation object that gives services names of this domain."""
    return {
        "apiVersion": FEDERATIONS.api_version,
        "kind": FEDERATIONS.kind,
        "metadata": {"name": FEDERATION_NAME},
        "spec": {"name": name, "domain": domain},
    }


def check_federation_name(name: str, field: str) -> None:
    """Raise FederationError where a text cannot be the name of a federation: it becomes one label of DNS names."""
    if not _LABEL.fullmatch(name):
        raise FederationError(
            f"{field}: {name!r} must be a DNS label: lower-case letters, digits and '-', at most 63 of them"
        )


def check_domain(domain: str, field: str) -> None:
    """Raise FederationError where a text cannot be the domain of a federation; it has no final dot."""
    if len(domain) > _LONGEST_DOMAIN or not all(_LABEL.fullmatch(part) for part in domain.split(".")):
        raise FederationError(f"{field}: {domain!r} must be a DNS domain in lower case without a final dot")


def _subnets(entries: Sequence[Obj]) -> Iterator[Subnet]:
    for index, entry in enumerate(entries):
        field = f"spec.subnets[{index}]"
        try:
            network = ip_network(str(entry.get("cidr") or ""))
        except ValueError as error:
            raise FederationError(
                f"{field}.cidr: {entry.get('cidr')!r} must be a network such as 10.1.0.0/16, without host bits"
            ) from error
        subnet = Subnet(network, *(str(entry.get(part) or "") for part in ("cluster", "region", "zone")))
        if bool(subnet.cluster) == bool(subnet.region):
            raise FederationError(f"{field}: either cluster or region must say where {network} is, and not both")
        if subnet.zone and not subnet.region:
            raise FederationError(f"{field}.zone: a zone needs the region that it is in")
        yield subnet


def _distances(entries: Sequence[Obj]) -> Iterator[Distance]:
    for index, entry in enumerate(entries):
        field = f"spec.distances[{index}]"
        start, end = str(entry.get("from") or ""), str(entry.get("to") or "")
        if not start or not end:
            raise FederationError(f"{field}: from and to must each name a region")
        if "distance" not in entry:
            raise FederationError(f"{field}.distance: must say how far {start} and {end} are from each other")
        yield Distance(start, end, _number(entry, "distance", field, 0.0, least=0, most=float("inf")))


def _health(entry: Obj) -> HealthSettings:
    default, field = HealthSettings(), "spec.health"
    return HealthSettings(
        interval_seconds=_number(entry, "intervalSeconds", field, default.interval_seconds, least=0.1, most=3600),
        timeout_seconds=_number(entry, "timeoutSeconds", field, default.timeout_seconds, least=0.1, most=3600),
        fall=int(_number(entry, "fall", field, default.fall, least=1, most=100)),
        rise=int(_number(entry, "rise", field, default.rise, least=1, most=100)),
    )


def _overload(entry: Obj) -> Overload:
    default, field = Overload(), "spec.overload"
    mark = _number(entry, "mark", field, default.mark, least=0, most=1000)
    clear = _number(entry, "clear", field, min(default.clear, mark), least=0, most=1000)
    if clear > mark:
        raise FederationError(f"{field}.clear: {clear:g} must not be above spec.overload.mark, which is {mark:g}")
    return Overload(mark, clear)


def _number(entry: Obj, name: str, field: str, default: float, *, least: float, most: float) -> float:
    value = entry.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        bound = f"at least {least:g}" if most == float("inf") else f"from {least:g} to {most:g}"
        raise FederationError(f"{field}.{name}: {value!r} must be a number {bound}")
    return value


def _figure(description: str, kind: str = "number", **rules: Any) -> dict[str, Any]:
    return {"type": kind, "description": description, **rules}


_SUBNET = record(
    {
        "cidr": text("A network, e.g. 10.1.0.0/16 or 2001:db8::/32", maxLength=64),
        "cluster": text("The cluster in which these addresses are", maxLength=CLUSTER_NAME_LENGTH),
        "region": text("The region in which they are, where they are in no cluster", maxLength=253),
        "zone": text("The zone of that region, where it is known", maxLength=253),
    },
    required=["cidr"],
)

_DISTANCE = record(
    {
        "from": text("A region", maxLength=253),
        "to": text("Another one; the way back is as far", maxLength=253),
        "distance": _figure("How far they are; of well-known regions it is known in kilometres", minimum=0),
    },
    required=["from", "to", "distance"],
)

_SPEC = record(
    {
        "name": text("The federation's name, a label of its services' names", pattern=_LABEL_PATTERN, maxLength=63),
        "domain": text("The DNS domain in which its services have names", pattern=_DOMAIN_PATTERN, maxLength=253),
        "ttlSeconds": _figure(
            "How long resolvers may keep an answer", "integer", minimum=0, maximum=_LARGEST_TTL, default=180
        ),
        "subnets": {
            "type": "array",
            "items": _SUBNET,
            "maxItems": 4096,
            "description": "Where askers are, by address; the longest prefix counts",
        },
        "distances": {
            "type": "array",
            "items": _DISTANCE,
            "maxItems": 4096,
            "description": "How far regions are from each other, before what is known of well-known ones",
        },
        "health": record(
            {
                "intervalSeconds": _figure("How often each endpoint is probed", minimum=0.1, maximum=3600),
                "timeoutSeconds": _figure("How long an answer may take", minimum=0.1, maximum=3600),
                "fall": _figure("So many failures in a row make it dead", "integer", minimum=1, maximum=100),
                "rise": _figure("So many successes in a row make it alive", "integer", minimum=1, maximum=100),
            },
            "How checkers probe the endpoints of services",
        ),
        "overload": record(
            {
                "mark": _figure("From this load on a cluster comes after the others", minimum=0, maximum=1000),
                "clear": _figure("Below this load it is one of them again", minimum=0, maximum=1000),
            },
            "When a cluster is too busy to be preferred; 0 is idle and 1 full",
        ),
    },
    required=["name", "domain"],
)

FEDERATION_CRD = definition(
    FEDERATIONS,
    record(
        {"apiVersion": text(), "kind": text(), "metadata": {"type": "object"}, "spec": _SPEC}
        | {"status": record({"conditions": {"type": "array", "items": CONDITION}})},
        "What the federation is called in DNS, and how its askers and endpoints are looked at.",
        required=["spec"],
    ),
    [
        column("Federation", "string", ".spec.name"),
        column("Domain", "string", ".spec.domain"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ],
    status=True,
)
