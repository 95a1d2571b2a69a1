"""The federation's name in a member's own DNS: what is written into its ConfigMap kube-system/kube-dns.

By the list `federations` a pod's `nginx.shop.myfed` leads to the federation's domain where the cluster has no endpoint
of its own, and by `stubDomains` that domain is asked for at the federation's DNS servers. Others may have entries in
both; only ours come and go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import msgspec

from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists
from hanse.kube.manifest import Key, Obj, annotations_of
from hanse.kube.resources import CONFIGMAPS

# On a Cluster: the entry that joining put into the member's list, NAME=DOMAIN.
DNS_FEDERATION_ANNOTATION = "hanse.dev/dns-federation"
# On a Cluster: the servers to which joining led its requests for that domain, separated by commas.
DNS_SERVERS_ANNOTATION = "hanse.dev/dns-servers"

_CONFIG = Key("kube-system", "kube-dns")
_FEDERATIONS = "federations"
_STUBS = "stubDomains"
_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_LARGEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class DnsNotice:
    """What a member's DNS is told: the federation's name and domain, and the servers that have it."""

    # NAME=DOMAIN, "" where nothing is told.
    entry: str = ""
    servers: tuple[str, ...] = ()

    @property
    def domain(self) -> str:
        """The federation's domain."""
        return self.entry.partition("=")[2]

    def annotations(self) -> dict[str, str]:
        """Return how a Cluster remembers it."""
        noted = {DNS_FEDERATION_ANNOTATION: self.entry, DNS_SERVERS_ANNOTATION: ",".join(self.servers)}
        return {name: value for name, value in noted.items() if value}


NO_NOTICE = DnsNotice()


def noticed(cluster: Obj) -> DnsNotice:
    """Return what a Cluster remembers that its DNS was told."""
    said = annotations_of(cluster)
    servers = said.get(DNS_SERVERS_ANNOTATION, "")
    return DnsNotice(said.get(DNS_FEDERATION_ANNOTATION, ""), tuple(each for each in servers.split(",") if each))


def check_entry(text: str) -> str:
    """Return an entry NAME=DOMAIN as it is; raises ValueError with what is wrong with it."""
    name, _, domain = text.partition("=")
    if not re.fullmatch(_LABEL, name) or not re.fullmatch(rf"{_LABEL}(\.{_LABEL})*", domain):
        raise ValueError(f"{text!r} must be NAME=DOMAIN: a name without dots and a domain, as in myfed=example.com")
    return text


def with_entry(listed: str, entry: str) -> str:
    """Return the list with an entry, which stands in it once."""
    return listed if entry in _entries(listed) else ",".join([*_entries(listed), entry])


def without_entry(listed: str, entry: str) -> str:
    """Return the list without an entry; empty when that was the last."""
    return ",".join(each for each in _entries(listed) if each != entry) if entry in _entries(listed) else listed


def check_server(text: str) -> str:
    """Return a DNS server IP or IP:PORT as it is; raises ValueError with what is wrong with it."""
    address, port = text, "53"
    if text.startswith("[") and "]:" in text:
        address, _, port = text[1:].partition("]:")
    elif text.count(":") == 1:
        address, _, port = text.partition(":")
    try:
        ip_address(address)
    except ValueError:
        raise ValueError(f"{text!r} must be IP or IP:PORT, as in 10.0.0.53: pods cannot look up a name yet") from None
    if not port.isdecimal() or not 0 < int(port) <= _LARGEST_PORT:
        raise ValueError(f"{text!r} must end with a port between 1 and {_LARGEST_PORT}")
    return text


def with_stub(stubs: str, domain: str, servers: Sequence[str]) -> str:
    """Return the stub domains with these servers for a domain; raises ValueError where they cannot be read."""
    known = _read_stubs(stubs)
    return stubs if known.get(domain) == list(servers) else _written({**known, domain: list(servers)})


def without_stub(stubs: str, domain: str, servers: Sequence[str]) -> str:
    """Return the stub domains without a domain; one that leads elsewhere by now is somebody else's."""
    known = _read_stubs(stubs)
    if known.get(domain) != list(servers):
        return stubs
    return _written({name: value for name, value in known.items() if name != domain})


def announced(data: Mapping[str, str], notice: DnsNotice) -> dict[str, str]:
    """Return the ConfigMap's data with what a notice says."""
    told = {**data, _FEDERATIONS: with_entry(data.get(_FEDERATIONS, ""), notice.entry)}
    if notice.servers:
        told[_STUBS] = with_stub(data.get(_STUBS, ""), notice.domain, notice.servers)
    return told


def withdrawn(data: Mapping[str, str], notice: DnsNotice) -> dict[str, str]:
    """Return the ConfigMap's data without what a notice says."""
    left = dict(data)
    if _FEDERATIONS in data:
        left[_FEDERATIONS] = without_entry(data[_FEDERATIONS], notice.entry)
    if _STUBS in data and notice.servers:
        left[_STUBS] = without_stub(data[_STUBS], notice.domain, notice.servers)
        if not left[_STUBS]:
            # Nothing is not JSON, and kube-dns would refuse the whole ConfigMap for it.
            del left[_STUBS]
    return left


async def announce(member: Client, notice: DnsNotice) -> None:
    """Tell a member's DNS, making the ConfigMap where there is none."""
    if await _change(member, lambda data: announced(data, notice)):
        return
    fresh = {"metadata": {"name": _CONFIG.name, "namespace": _CONFIG.namespace}, "data": announced({}, notice)}
    try:
        await member.create(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", **fresh})
    except AlreadyExists:
        await _change(member, lambda data: announced(data, notice))


async def withdraw(member: Client, notice: DnsNotice) -> None:
    """Take back what a member's DNS was told."""
    await _change(member, lambda data: withdrawn(data, notice))


async def _change(member: Client, edited: Callable[[Mapping[str, str]], dict[str, str]]) -> bool:
    """Edit the data where it is; False where there is no ConfigMap. Conflict says that somebody else edited it too."""
    config = await member.find(CONFIGMAPS, _CONFIG.name, _CONFIG.namespace)
    if config is None:
        return False
    data: Obj = config.get("data") or {}
    wanted = edited(data)
    if wanted != data:
        await member.update(CONFIGMAPS, {**config, "data": wanted})
    return True


def _read_stubs(stubs: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(stubs or "{}", type=dict[str, Any])
    except msgspec.MsgspecError:
        raise ValueError(f"{_STUBS} of ConfigMap {_CONFIG} is not a JSON object of domains; mend it first") from None


def _written(stubs: Mapping[str, Any]) -> str:
    return json.dumps(stubs, sort_keys=True) if stubs else ""


def _entries(listed: str) -> list[str]:
    return [each.strip() for each in listed.split(",") if each.strip()]
