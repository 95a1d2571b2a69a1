"""Disruption budgets: whether one more pod may be evicted, and the count of those that were."""

from __future__ import annotations

from hanse.apiserver import objects, status
from hanse.apiserver.core import Call
from hanse.apiserver.registry import Served
from hanse.apiserver.storage import Stale
from hanse.kube.manifest import Obj, dig, labels_of, name_of
from hanse.kube.runtime import timestamp
from hanse.kube.selectors import LabelSelector

_VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."


async def allow_eviction(call: Call, pod: Obj, *, dry_run: bool) -> None:
    """Take one disruption from the budget that covers a pod; raises 429 where none is left."""
    if dig(pod, "status", "phase") in ("Succeeded", "Failed", "Pending"):
        return
    served = call.core.registry.find("policy", "v1", "poddisruptionbudgets")
    budgets = _covering(call, served, pod) if served else []
    if not budgets or served is None:
        return
    if len(budgets) > 1:
        raise status.internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    await _take(call, served, name_of(budgets[0]), pod, dry_run=dry_run)


def _covering(call: Call, served: Served, pod: Obj) -> list[Obj]:
    found = []
    for record in call.core.storage.scan(served.bucket, f"{call.namespace}/"):
        budget = call.core.stored_form(served, record.value)
        if LabelSelector.from_object(dig(budget, "spec", "selector")).matches(labels_of(pod)):
            found.append(budget)
    return found


async def _take(call: Call, served: Served, name: str, pod: Obj, *, dry_run: bool) -> None:
    while True:
        record = call.core.record(served, call.namespace, name)
        if record is None:
            return
        budget = objects.copy(call.core.stored_form(served, record.value))
        allowed = int(dig(budget, "status", "disruptionsAllowed", default=0))
        if allowed <= 0:
            raise _refusal(name, budget)
        budget["status"]["disruptionsAllowed"] = allowed - 1
        budget["status"].setdefault("disruptedPods", {})[name_of(pod)] = timestamp(call.core.runtime.now())
        if dry_run:
            return
        try:
            await call.core.replace(served, budget, record.revision)
        except Stale:
            continue
        return


def _refusal(name: str, budget: Obj) -> Exception:
    needed = dig(budget, "status", "desiredHealthy", default=0)
    healthy = dig(budget, "status", "currentHealthy", default=0)
    told = f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
    return status.failure(
        429, "TooManyRequests", _VIOLATED, {"causes": [{"reason": "DisruptionBudget", "message": told}]}
    )
