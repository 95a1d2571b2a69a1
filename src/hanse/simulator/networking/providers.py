"""How a cluster's provider tells the addresses that it gives: as an IP, as a host name, or not at all."""

from __future__ import annotations

import re
from enum import StrEnum

from hanse.kube.manifest import Obj

_NAMED = re.compile(r"lb-(\d+)-(\d+)-(\d+)-(\d+)\..*")


class Provider(StrEnum):
    """What a cluster's load balancers give: most clouds an IP, some a host name, a bare data centre nothing."""

    IP = "ip"
    HOSTNAME = "hostname"
    NONE = "none"


def told_address(provider: Provider, address: str, cluster: str) -> Obj:
    """Return an address as the status of a Service or Ingress tells it."""
    if provider is Provider.HOSTNAME:
        return {"hostname": host_name(address, cluster)}
    return {"ip": address, "ipMode": "VIP"}


def host_name(address: str, cluster: str) -> str:
    """Return the name of a load balancer; the address can be read from it, as from some clouds' own."""
    return f"lb-{address.replace('.', '-')}.{cluster}.hanse.test"


def read_address(told: Obj) -> str:
    """Return the address that a status tells, be it by name or by number; "" where it tells none of ours."""
    if told.get("ip"):
        return str(told["ip"])
    found = _NAMED.fullmatch(str(told.get("hostname") or ""))
    return ".".join(found.groups()) if found else ""
