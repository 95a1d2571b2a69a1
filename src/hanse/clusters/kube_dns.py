"""The federation's name in a member's own DNS: the list `federations` of its ConfigMap kube-system/kube-dns.

A pod's `nginx.shop.myfed` then leads to the federation's domain where the cluster has no endpoint of its own. Others
may have entries in that list; only ours comes and goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists
from hanse.kube.manifest import Key, Obj
from hanse.kube.resources import CONFIGMAPS

# On a Cluster: the entry that joining put into the member's list, NAME=DOMAIN.
DNS_FEDERATION_ANNOTATION = "hanse.dev/dns-federation"

_CONFIG = Key("kube-system", "kube-dns")
_FIELD = "federations"
_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"


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


async def announce(member: Client, entry: str) -> None:
    """Put an entry into a member's list, making the ConfigMap where there is none."""
    if await _change(member, lambda listed: with_entry(listed, entry)):
        return
    fresh = {"metadata": {"name": _CONFIG.name, "namespace": _CONFIG.namespace}, "data": {_FIELD: entry}}
    try:
        await member.create(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", **fresh})
    except AlreadyExists:
        await _change(member, lambda listed: with_entry(listed, entry))


async def withdraw(member: Client, entry: str) -> None:
    """Take an entry out of a member's list."""
    await _change(member, lambda listed: without_entry(listed, entry))


async def _change(member: Client, edited: Callable[[str], str]) -> bool:
    """Edit the list where it is; False where there is no ConfigMap. Conflict says that somebody else edited it too."""
    config = await member.find(CONFIGMAPS, _CONFIG.name, _CONFIG.namespace)
    if config is None:
        return False
    data: Obj = config.get("data") or {}
    listed = data.get(_FIELD, "")
    wanted = edited(listed)
    if wanted != listed:
        await member.update(CONFIGMAPS, {**config, "data": {**data, _FIELD: wanted}})
    return True


def _entries(listed: str) -> list[str]:
    return [each.strip() for each in listed.split(",") if each.strip()]
