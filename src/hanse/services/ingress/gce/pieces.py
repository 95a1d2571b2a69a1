"""The resources that make up Google's load balancer for an Ingress: a pure plan, in the order in which they are made.

Each piece leads to those before it by their links, which follow from project and name. Names, values and the state in
the URL map's description are kubemci's: what it made can be kept by Hanse, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import md5

import orjson

from hanse.kube.manifest import Key, Obj, annotations_of, dig, namespace_of
from hanse.services.ingress.balancer import Standing
from hanse.services.ingress.manifest import (
    ALLOW_HTTP_ANNOTATION,
    PRE_SHARED_CERT_ANNOTATION,
    Backend,
    Rule,
    default_backend,
    rules_of,
)
from hanse.services.ingress.names import resource_name
from hanse.services.ingress.surveying import NodePort

API = "https://www.googleapis.com/compute/v1"
# Whence Google's proxies and health checkers come.
SOURCE_RANGES = ("130.211.0.0/22", "35.191.0.0/16")
_EVERY_HOST, _EVERY_PATH = "*", "/*"


@dataclass(frozen=True, slots=True)
class Piece:
    """One resource: in which collection it is kept, how people call it, and what it shall be."""

    collection: str
    words: str
    body: Obj

    @property
    def name(self) -> str:
        """Its name in the project."""
        return str(self.body["name"])


@dataclass(frozen=True, slots=True)
class Served:
    """One port of a Service behind the load balancer: on every node the same, asked for its health by `path`."""

    backend: Backend
    port: NodePort
    path: str = "/"


@dataclass(frozen=True, slots=True)
class Ground:
    """What stands in the project already: the address, instance groups and their port names, and whom to let in."""

    address: str
    groups: Mapping[str, Sequence[str]]
    port_names: Mapping[int, str]
    network: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the load balancer shows as its own: given by its Secret, or by the name that it has in the project."""

    link: str = ""
    certificate: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Design:
    """A load balancer for one Ingress in one project."""

    name: str
    project: str
    ingress: Obj
    served: tuple[Served, ...]

    def link(self, collection: str, name: str) -> str:
        """Return the link to a resource of the whole project."""
        return f"{API}/projects/{self.project}/global/{collection}/{name}"

    def backend_service(self, port: int) -> str:
        """Return the link to the backend service of a node port."""
        return self.link("backendServices", resource_name("be", self.name, port))

    def health_check(self, port: int) -> str:
        """Return the link to the health check of a node port."""
        return self.link("healthChecks", resource_name("hc", self.name, port))

    def part_of(self, what: str) -> str:
        """Return the description of a piece."""
        return f"{what} kubernetes multicluster loadbalancer {self.name}"

    @property
    def ports(self) -> list[Served]:
        """What is served, each node port once."""
        return list({each.port.number: each for each in reversed(self.served)}.values())[::-1]


def health_checks(design: Design) -> list[Piece]:
    """Return the health checks, which need nothing but node ports."""
    return [
        Piece(
            "healthChecks",
            "health check",
            {
                "name": resource_name("hc", design.name, each.port.number),
                "description": design.part_of(f"Health check for service {_service(design, each)} as part of"),
                "type": each.port.protocol,
                "checkIntervalSec": 60,
                "timeoutSec": 60,
                "healthyThreshold": 1,
                "unhealthyThreshold": 10,
                f"{each.port.protocol.lower()}HealthCheck": {
                    "port": each.port.number,
                    "requestPath": each.path,
                    "proxyHeader": "NONE",
                },
            },
        )
        for each in design.ports
    ]


def remaining_pieces(design: Design, ground: Ground, certificate: Certificate | None) -> list[Piece]:
    """Return everything after the health checks."""
    return [
        *_backend_services(design, ground),
        _url_map(design, ground),
        *(_entrance(design, ground, None) if allows_http(design.ingress) else ()),
        *(_entrance(design, ground, certificate) if certificate is not None else ()),
        _firewall(design, ground),
    ]


def allows_http(ingress: Obj) -> bool:
    """Tell whether the Ingress may be reached without encryption."""
    return annotations_of(ingress).get(ALLOW_HTTP_ANNOTATION) != "false"


def wants_https(ingress: Obj) -> bool:
    """Tell whether the Ingress is to be reached with encryption."""
    return bool(annotations_of(ingress).get(PRE_SHARED_CERT_ANNOTATION) or dig(ingress, "spec", "tls"))


def _service(design: Design, served: Served) -> Key:
    return Key(namespace_of(design.ingress), served.backend.service)


def _backend_services(design: Design, ground: Ground) -> Iterator[Piece]:
    groups = sorted({link for links in ground.groups.values() for link in links})
    for each in design.ports:
        number = each.port.number
        yield Piece(
            "backendServices",
            "backend service",
            {
                "name": resource_name("be", design.name, number),
                "description": design.part_of(f"Backend service for service {_service(design, each)} as part of"),
                "protocol": each.port.protocol,
                "healthChecks": [design.health_check(number)],
                "portName": ground.port_names[number],
                "backends": [_backend(group) for group in groups],
                "loadBalancingScheme": "EXTERNAL",
                "sessionAffinity": "NONE",
                "timeoutSec": 30,
            },
        )


def _backend(group: str) -> Obj:
    # A rate that nobody reaches keeps requests in the region that they come to; a small one would spread them.
    return {"group": group, "balancingMode": "RATE", "maxRatePerInstance": 1e14, "capacityScaler": 1}


def _url_map(design: Design, ground: Ground) -> Piece:
    default = default_backend(design.ingress)
    services = {each.backend: design.backend_service(each.port.number) for each in design.served}
    fallback = services[default] if default is not None else ""
    hosts: dict[str, list[Rule]] = {}
    for rule in rules_of(design.ingress):
        hosts.setdefault(rule.host or _EVERY_HOST, []).append(rule)
    standing = Standing(design.name, ground.address, tuple(sorted(ground.groups)))
    return Piece(
        "urlMaps",
        "url map",
        {
            "name": resource_name("um", design.name),
            "description": describe(standing),
            "defaultService": fallback,
            "hostRules": [{"hosts": [host], "pathMatcher": _matcher(host)} for host in hosts],
            "pathMatchers": [
                {
                    "name": _matcher(host),
                    "defaultService": fallback,
                    "pathRules": [
                        {"paths": [path], "service": services[rule.backend]}
                        for path, rule in {rule.path or _EVERY_PATH: rule for rule in rules}.items()
                    ],
                }
                for host, rules in hosts.items()
            ],
        },
    )


def _matcher(host: str) -> str:
    # A host may have a wildcard, which the name of its matcher must not; this is how kubemci called them.
    return f"host{md5(host.encode(), usedforsecurity=False).hexdigest()}"


def _entrance(design: Design, ground: Ground, certificate: Certificate | None) -> Iterator[Piece]:
    """Yield what listens: a proxy and its forwarding rule, and before them the certificate where it is encrypted."""
    secure = certificate is not None
    url_map = design.link("urlMaps", resource_name("um", design.name))
    word, proxies = ("https", "targetHttpsProxies") if secure else ("http", "targetHttpProxies")
    proxy: Obj = {
        "name": resource_name("tps" if secure else "tp", design.name),
        "description": design.part_of(f"Target {word} proxy for"),
        "urlMap": url_map,
    }
    if certificate is not None:
        link = certificate.link
        if not link:
            piece = _certificate(design, certificate)
            link = design.link(piece.collection, piece.name)
            yield piece
        proxy["sslCertificates"] = [link]
    yield Piece(proxies, f"target {word} proxy", proxy)
    port = 443 if secure else 80
    rule = {
        "name": resource_name("fws" if secure else "fw", design.name),
        "description": design.part_of(f"{word} forwarding rule for"),
        "IPAddress": ground.address,
        "IPProtocol": "TCP",
        "portRange": f"{port}-{port}",
        "target": design.link(proxies, proxy["name"]),
        "loadBalancingScheme": "EXTERNAL",
    }
    yield Piece("forwardingRules", "forwarding rule", rule)


def _certificate(design: Design, certificate: Certificate) -> Piece:
    body = {
        "name": resource_name("ssl", design.name),
        "description": design.part_of("SSL cert for"),
        "certificate": certificate.certificate,
        "privateKey": certificate.key,
    }
    return Piece("sslCertificates", "ssl cert", body)


def _firewall(design: Design, ground: Ground) -> Piece:
    ports = sorted({str(each.port.number) for each in design.served})
    body = {
        "name": resource_name("fr", design.name),
        "description": design.part_of("Firewall rule for"),
        "network": ground.network,
        "direction": "INGRESS",
        "sourceRanges": list(SOURCE_RANGES),
        "allowed": [{"IPProtocol": "tcp", "ports": ports}],
        "targetTags": sorted(set(ground.tags)),
    }
    return Piece("firewalls", "firewall rule", body)


def describe(standing: Standing) -> str:
    """Write how a load balancer stands, as the description of its URL map keeps it."""
    said = {
        "Description": f"URL map for kubernetes multicluster loadbalancer {standing.name}",
        "LoadBalancerName": standing.name,
        "Clusters": list(standing.clusters),
        "IPAddress": standing.address,
    }
    return orjson.dumps(said).decode()


def read_description(text: str) -> Standing | None:
    """Read how a load balancer stands; None where the text says nothing of that."""
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(said, dict) or not said.get("LoadBalancerName"):
        return None
    return Standing(said["LoadBalancerName"], said.get("IPAddress") or "", tuple(said.get("Clusters") or ()))
