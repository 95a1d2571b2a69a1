"""ResourceQuotas where they bind: nothing is stored that would exceed one whose status says what it limits.

Who keeps that status decides whether quotas bind at all: for a cluster its loop does (`loops/quotas.py`), for a
federation, whose objects run elsewhere, nobody.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

from hanse.apiserver import objects, status
from hanse.apiserver.core import Call, Core
from hanse.apiserver.registry import Served
from hanse.kube.manifest import Obj, dig
from hanse.kube.quotas import Usage, exceeded, is_counted, total_usage, unsaid, usage_of

BUCKET = "core/resourcequotas"
_PODS = "core/pods"
# What may come to count for more by being changed.
_GROWING = ("core/persistentvolumeclaims", "core/pods", "core/services")


def quotas_in(core: Core, namespace: str) -> list[Obj]:
    """Return the quotas of a namespace."""
    return [objects.decode(one.value, "v1", "ResourceQuota") for one in core.storage.scan(BUCKET, f"{namespace}/")]


def used_of(core: Core, quota: Obj) -> Usage:
    """Return what the objects of a quota's namespace count for in it."""
    namespace = quota["metadata"]["namespace"]
    parts = [
        usage_of(kind.resource.group, kind.resource.plural, obj)
        for kind in _counted_kinds(core, quota)
        for obj in _stored(core, kind, namespace)
        if is_counted(quota, kind.resource.group, kind.resource.plural, obj)
    ]
    return total_usage(parts)


@asynccontextmanager
async def room_for(call: Call, kind: Served, new: Obj, old: Obj | None = None) -> AsyncIterator[None]:
    """Hold a namespace's quotas while an object is stored; raises Forbidden where it does not fit."""
    binding = [] if old is not None and kind.bucket not in _GROWING else _binding(call, kind)
    if not binding:
        yield
        return
    # Between the look and the write nobody else may take what is left.
    async with call.core.quota_locks[call.namespace]:
        for quota in _binding(call, kind):
            _check(call, kind, quota, new, old)
        yield


def _binding(call: Call, kind: Served) -> list[Obj]:
    if not kind.resource.namespaced:
        return []
    return [quota for quota in quotas_in(call.core, call.namespace) if dig(quota, "status", "hard")]


def _check(call: Call, kind: Served, quota: Obj, new: Obj, old: Obj | None) -> None:
    group, plural, hard = kind.resource.group, kind.resource.plural, quota["status"]["hard"]
    if not is_counted(quota, group, plural, new):
        return
    name = quota["metadata"]["name"]
    told = unsaid(name, hard, new) if kind.bucket == _PODS and old is None else ""
    if not told:
        added = usage_of(group, plural, new)
        if old is not None and is_counted(quota, group, plural, old):
            before = usage_of(group, plural, old)
            added = {one: amount - before.get(one, Decimal(0)) for one, amount in added.items()}
        if any(one in hard and amount > 0 for one, amount in added.items()):
            told = exceeded(name, hard, used_of(call.core, quota), added)
    if told:
        raise status.forbidden(kind.resource, str(new["metadata"].get("name") or ""), told)


def _counted_kinds(core: Core, quota: Obj) -> list[Served]:
    """Return the kinds of which a quota limits something."""
    hard = dig(quota, "spec", "hard", default=None) or {}
    kinds = [core.registry.of_bucket(bucket) for bucket in core.storage.buckets()]
    return [kind for kind in kinds if kind is not None and kind.resource.namespaced and _is_limited(kind, hard)]


def _is_limited(kind: Served, hard: Obj) -> bool:
    """Tell whether a quota may limit objects of a kind; only those need to be read."""
    group, plural = kind.resource.group, kind.resource.plural
    if (f"count/{plural}.{group}" if group else f"count/{plural}") in hard:
        return True
    if kind.bucket in _GROWING:
        return True
    return not group and plural in hard


def _stored(core: Core, kind: Served, namespace: str) -> list[Obj]:
    return [core.stored_form(kind, one.value) for one in core.storage.scan(kind.bucket, f"{namespace}/")]
