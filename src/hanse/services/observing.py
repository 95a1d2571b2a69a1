"""What the federation's object and its copies say of a service: pure.

A cluster that cannot be asked has not lost its Service: what it was last seen with counts on, until it is known better
or the cluster leaves the federation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address

from hanse.api.service_addresses import FRONT_ANNOTATION
from hanse.kube.manifest import Key, Obj, annotations_of, dig, key_of
from hanse.kube.resources import SERVICES
from hanse.propagation.planning import Observation
from hanse.services.presence import Port

# On a Service of the federation: how many seconds resolvers may keep its addresses.
TTL_ANNOTATION = "hanse.dev/dns-ttl"
_LARGEST_TTL = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Wish:
    """What the federation's object asks for: ports, and whether and for how long its names are told."""

    key: Key
    ports: tuple[Port, ...] = ()
    ttl: int | None = None
    # Why it has no names in DNS, "" where it has.
    unpublished: str = ""
    # Whether its endpoints are those of pods that it selects; of others nobody says when they are ready.
    selects: bool = True
    # The labels of the pods that it selects.
    selector: tuple[tuple[str, str], ...] = ()
    # The addresses of a balancer in front of all clusters.
    front: tuple[str, ...] = ()
    # What of the object cannot be understood.
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A Service in one cluster as it was last seen there."""

    # As its status lists them: ("ip", "192.0.2.1") or ("hostname", "lb.example.com"), in that order.
    balancers: tuple[tuple[str, str], ...] = ()
    external_ips: tuple[str, ...] = ()
    cluster_ips: tuple[str, ...] = ()

    @property
    def hostnames(self) -> tuple[str, ...]:
        """The names of load balancers, which have to be resolved."""
        return tuple(value for kind, value in self.balancers if kind == "hostname")

    @property
    def ips(self) -> tuple[str, ...]:
        """The addresses that need no resolving."""
        return usable(value for kind, value in self.balancers if kind == "ip") + self.external_ips


def wish_of(source: Obj, key: Key | None = None) -> Wish:
    """Read a Service of the federation: plain, the template of a FederatedService, or a Piece of an application.

    `key` is that of the Service where it is not that of the source.
    """
    template = source if source.get("kind") == SERVICES.kind else dig(source, "spec", "template", default={})
    spec = template.get("spec") or {}
    annotations = {**dig(template, "metadata", "annotations", default={}), **annotations_of(source)}
    ttl, problem = _ttl(annotations.get(TTL_ANNOTATION))
    front, misread = _front(annotations.get(FRONT_ANNOTATION))
    return Wish(
        key=key or key_of(source),
        ports=tuple(_port(entry) for entry in spec.get("ports") or ()),
        ttl=ttl,
        unpublished=_why_unpublished(spec),
        selects=bool(spec.get("selector")),
        selector=tuple(sorted((spec.get("selector") or {}).items())),
        front=front,
        problem=problem or misread,
    )


def sighting_of(copy: Obj) -> Sighting:
    """Read a Service of a cluster."""
    spec, balancers = copy.get("spec") or {}, dig(copy, "status", "loadBalancer", "ingress", default=[])
    ips = spec.get("clusterIPs") or [spec.get("clusterIP")]
    return Sighting(
        balancers=tuple(
            (kind, entry[kind])
            for entry in balancers
            for kind in ("ip", "hostname")
            if entry.get(kind) and not (kind == "hostname" and entry.get("ip"))
        ),
        external_ips=usable(spec.get("externalIPs") or ()),
        cluster_ips=usable(ip for ip in ips if ip and ip != "None"),
    )


def usable(addresses: Iterable[str]) -> tuple[str, ...]:
    """Return what of some texts are addresses that clients elsewhere can use, each in its usual spelling."""
    return tuple(address for address in map(_address, addresses) if address)


@lru_cache(maxsize=4096)
def _address(text: str) -> str:
    try:
        found = ip_address(text)
    except ValueError:
        return ""
    # An address with a scope means something on one machine only.
    return "" if "%" in text or found.is_unspecified else str(found)


def is_absent(observation: Observation) -> bool:
    """Tell whether a cluster is known to have no copy, which is more than not to have seen one."""
    return observation.copy is None and (observation.seen or observation.unserved)


def _why_unpublished(spec: Obj) -> str:
    kind = spec.get("type") or "ClusterIP"
    if kind == "LoadBalancer" or (kind != "ExternalName" and spec.get("externalIPs")):
        return ""
    if kind == "ClusterIP" and spec.get("clusterIP") == "None":
        kind = "headless"
    return f"it is {kind}; names in DNS are for type LoadBalancer, and for Services with spec.externalIPs"


def _port(entry: Obj) -> Port:
    return Port(entry.get("name") or "", entry.get("protocol") or "TCP", entry["port"])


def _front(text: str | None) -> tuple[tuple[str, ...], str]:
    """Read the addresses of a balancer; ones that cannot be read lead nobody astray."""
    given = [each.strip() for each in (text or "").split(",") if each.strip()]
    found = usable(given)
    if len(found) == len(given):
        return tuple(sorted(set(found))), ""
    return (), f"metadata.annotations[{FRONT_ANNOTATION}]: {text!r} must be IP addresses separated by commas"


def _ttl(text: str | None) -> tuple[int | None, str]:
    if text is None:
        return None, ""
    if text.isascii() and text.isdigit() and int(text) <= _LARGEST_TTL:
        return int(text), ""
    return None, f"metadata.annotations[{TTL_ANNOTATION}]: {text!r} must be a whole number of seconds, such as 60"
