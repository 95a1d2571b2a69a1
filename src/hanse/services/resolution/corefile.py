"""What CoreDNS in a member needs so that `NAME.NAMESPACE.FEDERATION` finds the local Service first, then the others'.

CoreDNS had a plugin for this until 1.7; the same is put together from plugins that it has. A name is looked up among
the cluster's own Services with ready endpoints, and only one that is not found there goes on, as a CNAME to the
federation's name of the cluster's zone. No word from the federation is needed to find a local Service.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hanse.services.naming import Federation, label
from hanse.services.presence import Place

CLUSTER_DOMAIN = "cluster.local"
CLUSTER_SET_DOMAIN = "clusterset.local"
# Between CoreDNS and itself: names that nobody else asks for, on a port that only it listens on.
_INNER_DOMAIN = "hanse.internal"
_INNER_PORT = 5300
_HERE = "127.0.0.1"
# What a pod's own resolver asks.
_RESOLVER = "/etc/resolv.conf"
# EDNS option 65001, by which a resolver says where its askers are.
_VANTAGE_OPTION = "0xfde9"
# How long a pod stays with others once its own cluster serves again: as long as CoreDNS holds a local Service.
_CNAME_SECONDS = 5
_CACHE_SECONDS = 10
_LABEL = "[-a-z0-9]+"


@dataclass(frozen=True, slots=True)
class MemberDns:
    """A member's CoreDNS: where it is, which federation it leads to, and by which servers."""

    place: Place
    federation: Federation
    # IP or IP:PORT of each DNS server that has the federation's domain.
    servers: tuple[str, ...] = ()
    imports_services: bool = False
    cluster_domain: str = CLUSTER_DOMAIN
    port: int = 53
    inner_port: int = _INNER_PORT
    # How the kubernetes plugin reaches the API server; in a pod it needs no word on that.
    access: tuple[str, ...] = ()


def corefile_part(dns: MemberDns) -> str:
    """Return the server blocks that belong into a member's Corefile."""
    blocks = [_local_first(dns), _beyond(dns), _forwarded(dns, dns.inner_port, (f"bind {_HERE}",))]
    if dns.servers:
        blocks.append(_forwarded(dns, dns.port, ()))
    if dns.imports_services:
        blocks.append(_cluster_set(dns))
    return "\n".join(blocks)


def _local_first(dns: MemberDns) -> str:
    zone, inner = f"{dns.federation.name}.svc.{dns.cluster_domain}", _inner_zone(dns)
    return _block(
        f"{zone}:{dns.port}",
        [
            "errors",
            "rewrite stop {",
            f"    name regex ^({_LABEL})\\.({_LABEL})\\.{re.escape(zone)}\\.$ {{1}}.{{2}}.svc.{inner}.",
            "    answer auto",
            "}",
            # What was not rewritten is no name of a service.
            f"template IN ANY {zone} {{",
            "    rcode NXDOMAIN",
            "}",
            f"kubernetes {inner} {{",
            *(f"    {line}" for line in (*dns.access, "ignore empty_service", "fallthrough")),
            "}",
            f"forward . {_HERE}:{dns.inner_port}",
        ],
    )


def _beyond(dns: MemberDns) -> str:
    inner = _inner_zone(dns)
    beyond = f"{{{{ .Group.service }}}}.{{{{ .Group.namespace }}}}.{next_level(dns.federation, dns.place)}."
    return _block(
        f"{inner}:{dns.inner_port}",
        [
            f"bind {_HERE}",
            "errors",
            "template IN ANY {",
            f"    match ^(?P<service>{_LABEL})\\.(?P<namespace>{_LABEL})\\.svc\\.{re.escape(inner)}\\.$",
            f'    answer "{{{{ .Name }}}} {_CNAME_SECONDS} IN CNAME {beyond}"',
            "    fallthrough",
            "}",
            "template IN ANY {",
            "    rcode NXDOMAIN",
            "}",
        ],
    )


def next_level(federation: Federation, place: Place) -> str:
    """Return what follows SERVICE.NAMESPACE in the name that a cluster without endpoints leads to."""
    levels = [f"{federation.name}.svc"]
    if place.region and place.zones:
        levels += [label(place.zones[0]), label(place.region)]
    return ".".join([*levels, federation.domain])


def _forwarded(dns: MemberDns, port: int, before: Iterable[str]) -> str:
    """Return the federation's domain, asked for at its servers with the word where the asker is.

    Without servers it is asked for where the cluster asks for everything else.
    """
    told = [f"rewrite edns0 local set {_VANTAGE_OPTION} cluster/{dns.place.cluster} revert"] if dns.servers else []
    return _block(
        f"{dns.federation.domain}:{port}",
        [
            *before,
            "errors",
            f"cache {_CACHE_SECONDS}",
            *told,
            f"forward . {' '.join(dns.servers) or _RESOLVER}",
        ],
    )


def _cluster_set(dns: MemberDns) -> str:
    lines = (*dns.access, f"multicluster {CLUSTER_SET_DOMAIN}")
    return _block(
        f"{CLUSTER_SET_DOMAIN}:{dns.port}",
        ["errors", f"kubernetes {CLUSTER_SET_DOMAIN} {{", *(f"    {line}" for line in lines), "}"],
    )


def _inner_zone(dns: MemberDns) -> str:
    return f"{dns.federation.name}.{_INNER_DOMAIN}"


def _block(head: str, lines: Iterable[str]) -> str:
    return "\n".join([f"{head} {{", *(f"    {line}" for line in lines), "}", ""])
