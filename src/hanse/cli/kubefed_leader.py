"""Whether KubeFed's controller-manager still acts: its leader renews a lock, and whoever waits long enough sees it."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from hanse.kube.client import Client
from hanse.kube.manifest import Obj, annotations_of, dig, version_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, ENDPOINTS, LEASES

LOCK = "kubefed-controller-manager"
_LEADER_ANNOTATION = "control-plane.alpha.kubernetes.io/leader"
_LONGEST_SECONDS = 120.0
_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Lock:
    """A leader's lock as it was seen: who holds it, and for how long it counts without being renewed."""

    holder: str
    seconds: float
    version: str


def lock_of(obj: Obj) -> Lock | None:
    """Read a lock of any of the kinds that leaders have used; None where nobody holds it."""
    if (spec := obj.get("spec")) and obj.get("kind") == LEASES.kind:
        held, seconds = spec.get("holderIdentity"), spec.get("leaseDurationSeconds")
    else:
        try:
            record = orjson.loads(annotations_of(obj).get(_LEADER_ANNOTATION, "{}"))
        except orjson.JSONDecodeError:
            return None
        held, seconds = dig(record, "holderIdentity"), dig(record, "leaseDurationSeconds")
    if not held:
        return None
    return Lock(str(held), min(float(seconds or 0), _LONGEST_SECONDS), version_of(obj))


async def who_leads(host: Client, namespace: str) -> str:
    """Say who of KubeFed still acts, "" where nobody does; waits as long as an unrenewed lock would count.

    Clocks are not compared: a lock that does not change while it counts is nobody's.
    """
    deployment = await host.find(DEPLOYMENTS, LOCK, namespace)
    if running := dig(deployment, "status", "replicas", default=0):
        return f"its Deployment {namespace}/{LOCK} has {running} pods; scale it to 0"
    seen = await _locks(host, namespace)
    deadline = host.runtime.monotonic() + max((lock.seconds for lock in seen.values()), default=0.0)
    while seen and host.runtime.monotonic() < deadline:
        await host.runtime.sleep(_LOOK_SECONDS)
        for kind, lock in (await _locks(host, namespace)).items():
            if lock != seen.get(kind):
                return f"{lock.holder} renews its lock {kind} {namespace}/{LOCK}; stop it"
    return ""


async def _locks(host: Client, namespace: str) -> dict[str, Lock]:
    found = {}
    for kind in (CONFIGMAPS, ENDPOINTS, LEASES):
        obj = await host.find(kind, LOCK, namespace)
        if obj is not None and (lock := lock_of(kind.name_kind(obj))) is not None:
            found[kind.kind] = lock
    return found
