"""HorizontalPodAutoscalers: every fifteen seconds, as many replicas as the use of resources asks for.

Use is read from the metrics API of the cluster (metrics.k8s.io), as Kubernetes does: who serves it there is another's
affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import orjson

from hanse.kube.cache import Change
from hanse.kube.errors import ApiError, Conflict, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, dig, name_of, namespace_of, uid_of
from hanse.kube.resources import Resource
from hanse.kube.runtime import parse_timestamp
from hanse.kube.selectors import LabelSelector
from hanse.simulator.workloads.autoscaler_pace import Memory
from hanse.simulator.workloads.autoscaler_plan import (
    AutoscalerPlan,
    Readings,
    failed_status,
    plan_autoscaler,
    resources_of,
)
from hanse.simulator.workloads.autoscaler_usage import Usage, milli
from hanse.simulator.workloads.kinds import AUTOSCALERS
from hanse.simulator.workloads.telling import tell
from hanse.simulator.world import World
from hanse.simulator.writing import write_status

SYNC_SECONDS = 15.0

_METRICS_PATH = "/apis/metrics.k8s.io/v1beta1/namespaces/{}/pods"
_UNREAD = "unable to fetch metrics from resource metrics API"
_NOT_SERVED = "the server could not find the requested resource (get pods.metrics.k8s.io)"
_WINDOW = re.compile(r"(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9.]+)s)?")


class Autoscalers:
    """Carries out the next step of each autoscaler."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("horizontalpodautoscaler", self._reconcile)
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._cache = world.cache(AUTOSCALERS)
        self._events = EventRecorder(world.client, "horizontal-pod-autoscaler")
        self._memories: dict[str, Memory] = {}
        self._cache.subscribe(self._changed)

    def _changed(self, change: Change) -> None:
        if change.new_bytes is None and (gone := change.old) is not None:
            self._memories.pop(uid_of(gone), None)
        else:
            # Changes do not hasten it: the pace is part of what an autoscaler promises.
            self.controller.queue.add_after(change.key, SYNC_SECONDS)

    async def _reconcile(self, key: Key) -> float | None:
        autoscaler = self._cache.get(key)
        if autoscaler is None:
            return None
        try:
            target, scale = await self._scale_of(autoscaler)
        except ApiError as error:
            message = f"the HPA controller was unable to get the target's current scale: {error}"
            await self._fail(autoscaler, "FailedGetScale", message, str(error))
            return SYNC_SECONDS
        plan = await self._plan(autoscaler, scale)
        if plan.replicas is not None:
            try:
                await self._rescale(target, scale, plan.replicas)
            except ApiError as error:
                told = f"New size: {plan.replicas}; reason: {plan.reason}; error: {error}"
                await self._events.record(autoscaler, "FailedRescale", told, warning=True)
                message = f"the HPA controller was unable to update the target scale: {error}"
                await self._fail(autoscaler, "FailedUpdateScale", message, "")
                return SYNC_SECONDS
        self._memories[uid_of(autoscaler)] = plan.memory
        await write_status(self._client, AUTOSCALERS, autoscaler, plan.status)
        await tell(self._events, autoscaler, plan.events)
        return SYNC_SECONDS

    async def _scale_of(self, autoscaler: Obj) -> tuple[Resource, Obj]:
        reference = autoscaler["spec"]["scaleTargetRef"]
        target = await self._client.resource_of({"apiVersion": reference["apiVersion"], "kind": reference["kind"]})
        namespace = namespace_of(autoscaler)
        return target, await self._client.get(target, reference["name"], namespace, subresource="scale")

    async def _plan(self, autoscaler: Obj, scale: Obj) -> AutoscalerPlan:
        text = str(dig(scale, "status", "selector", default=""))
        selector = LabelSelector.parse(text)
        chosen = [facts for facts in self._pods.in_namespace(namespace_of(scale)) if selector.matches(facts.labels)]
        found = (self._pods.cache.get(facts.key) for facts in chosen)
        return plan_autoscaler(
            autoscaler,
            current=int(dig(scale, "spec", "replicas", default=0)),
            pods=[pod for pod in found if pod is not None],
            readings=await self._read(autoscaler, text),
            memory=self._memories.get(uid_of(autoscaler), Memory()),
            now=self._runtime.now(),
        )

    async def _read(self, autoscaler: Obj, selector: str) -> Readings:
        """Ask the metrics API what the target's pods use."""
        path = _METRICS_PATH.format(namespace_of(autoscaler))
        try:
            answer = await self._client.get_raw(path, query=(("labelSelector", selector),))
        except NotFound:
            return Readings({}, f"{_UNREAD}: {_NOT_SERVED}")
        except ApiError as error:
            return Readings({}, f"{_UNREAD}: {error}")
        items: list[Obj] = orjson.loads(answer).get("items") or []
        return Readings({wanted: usage_of(items, *wanted) for wanted in resources_of(autoscaler)})

    async def _rescale(self, target: Resource, scale: Obj, replicas: int) -> None:
        version = scale["metadata"].get("resourceVersion")
        patch = {"metadata": {"resourceVersion": version}, "spec": {"replicas": replicas}}
        namespace = namespace_of(scale)
        try:
            await self._client.patch(target, name_of(scale), patch, namespace, subresource="scale")
        except Conflict:
            # Its status moves on while it is scaled: only what it asks for is ours.
            await self._client.patch(
                target, name_of(scale), {"spec": {"replicas": replicas}}, namespace, subresource="scale"
            )

    async def _fail(self, autoscaler: Obj, reason: str, message: str, event: str) -> None:
        if event:
            await self._events.record(autoscaler, reason, event, warning=True)
        status = failed_status(autoscaler, reason, message, self._runtime.now())
        await write_status(self._client, AUTOSCALERS, autoscaler, status)


def usage_of(items: Iterable[Obj], resource: str, container: str) -> dict[str, Usage]:
    """Read what pods use of a resource, all containers or one, from PodMetrics."""
    found: dict[str, Usage] = {}
    for item in items:
        parts = [part for part in item.get("containers") or () if container in ("", part.get("name"))]
        amounts = [dig(part, "usage", resource) for part in parts]
        if parts and all(amount is not None for amount in amounts):
            measured = parse_timestamp(str(item["timestamp"])) if item.get("timestamp") else 0.0
            window = _seconds(str(item.get("window") or "0s"))
            found[str(item["metadata"]["name"])] = Usage(sum(map(milli, amounts)), measured, window)
    return found


def _seconds(text: str) -> float:
    match = _WINDOW.fullmatch(text)
    hours, minutes, seconds = match.groups() if match else (None, None, None)
    return float(hours or 0) * 3600 + float(minutes or 0) * 60 + float(seconds or 0)
