"""The pods of applications in one member, and which of them stand behind the Services that clients come in by.

Of pods and EndpointSlices only what is used here is kept. EndpointSlices carry the labels of their Service, so that
only those of load-balanced ones are followed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from hanse.api.shipper.kinds import APP_LABEL, BALANCED, BALANCED_LABEL, RELEASE_LABEL, TRAFFIC_LABEL
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.manifest import Key, Obj, dig, is_deleting, labels_of, name_of, namespace_of
from hanse.kube.resources import ENDPOINT_SLICES, PODS
from hanse.rollouts.targets.traffic import Endpoints, TrafficPod

T = TypeVar("T")

_SERVICE_NAME = "kubernetes.io/service-name"
_READY, _UNREADY, _SERVICE = "ready", "unready", "service"
_LABELS = (APP_LABEL, RELEASE_LABEL, TRAFFIC_LABEL)
_METADATA = ("name", "namespace", "resourceVersion", "deletionTimestamp")
_CONTAINER = ("name", "image", "ready", "restartCount", "state", "lastState")
_FINISHED = ("Succeeded", "Failed")
# A server that takes longer for the first list is done without until it has answered.
_PATIENCE_SECONDS = 3.0


class MemberPods:
    """Follows one member's pods; nothing else is asked of it."""

    def __init__(
        self, client: Client, pod_changed: Callable[[Key, str], None], traffic_changed: Callable[[Key], None]
    ) -> None:
        """`pod_changed` hears the application and the release, `traffic_changed` whose pods or endpoints are others."""
        self._client = client
        self._pods = Cache(client, PODS, labels=APP_LABEL, project=_projected_pod)
        self._slices = Cache(
            client, ENDPOINT_SLICES, labels=f"{BALANCED_LABEL}={BALANCED},{APP_LABEL}", project=_projected_slice
        )
        self._pod_changed = pod_changed
        self._traffic_changed = traffic_changed
        self._traffic: _Grouped[TrafficPod] = _Grouped()
        self._releases: _Grouped[Key] = _Grouped()
        self._behind: _Grouped[Endpoints] = _Grouped()
        self._begun = client.runtime.monotonic()

    async def run(self, connected: Callable[[bool], None]) -> None:
        """Follow until cancelled; `connected` hears when the member begins to show its pods and when it ceases to."""
        self._pods.subscribe(self._note_pod)
        self._slices.subscribe(self._note_slice)
        for cache in (self._pods, self._slices):
            cache.on_connected(lambda _following: connected(not self.blindness))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._pods.run())
            tasks.create_task(self._slices.run())

    @property
    def blindness(self) -> str:
        """Why what is known here cannot be relied on, "" where it can."""
        for cache in (self._pods, self._slices):
            if not (cache.synced and cache.connected):
                why = cache.last_error or "no complete list has come"
                return f"its {cache.resource.plural} cannot be followed: {why}"
        return ""

    @property
    def awaited(self) -> bool:
        """Whether the member has yet to tell for the first time, and will in a moment."""
        told = all(cache.synced for cache in (self._pods, self._slices))
        return not told and self._client.runtime.monotonic() - self._begun < _PATIENCE_SECONDS

    @property
    def lost(self) -> bool:
        """Whether the member has told before and does so no longer."""
        return self._pods.synced and not self._pods.connected

    def applications(self) -> set[Key]:
        """Return the applications of which the member has anything."""
        return {*self._traffic, *self._behind}

    def traffic(self, application: Key) -> list[TrafficPod]:
        """Return the pods of an application, without those that end or have ended."""
        return self._traffic.of(application)

    def endpoints(self, application: Key) -> Endpoints:
        """Return what leads to an application; a pod of two address families is in two slices, and ready by one."""
        slices = self._behind.of(application)
        ready = frozenset(name for each in slices for name in each.ready)
        unready = frozenset(name for each in slices for name in each.unready)
        return Endpoints(frozenset(name for each in slices for name in each.services), ready, unready - ready)

    def pods(self, release: Key) -> list[Obj]:
        """Return the pods of a release that are not on their way out, in order of name."""
        found = (self._pods.get(key) for key in sorted(self._releases.of(release)))
        return [pod for pod in found if pod is not None and not is_deleting(pod)]

    def remember(self, pod: Obj) -> None:
        """Take in a pod that was just written."""
        self._pods.remember(pod)

    def _note_pod(self, change: Change) -> None:
        old, new = change.old, change.new
        named = [None if pod is None else (_release(pod), change.key) for pod in (old, new)]
        self._releases.note(change.key, named[0], named[1])
        for pod in (old, new):
            if pod is not None:
                self._pod_changed(_application(pod), _release(pod).name)
        before, after = _traffic_entry(old), _traffic_entry(new)
        if before != after:
            self._traffic.note(change.key, before, after)
            self._tell(before, after)

    def _note_slice(self, change: Change) -> None:
        before, after = _endpoints_entry(change.old), _endpoints_entry(change.new)
        if before != after:
            self._behind.note(change.key, before, after)
            self._tell(before, after)

    def _tell(self, *entries: tuple[Key, object] | None) -> None:
        for application in {entry[0] for entry in entries if entry is not None}:
            self._traffic_changed(application)


class _Grouped(Generic[T]):
    """Values of objects, by the group that each object belongs to."""

    def __init__(self) -> None:
        self._groups: dict[Key, dict[Key, T]] = {}

    def __iter__(self) -> Iterator[Key]:
        return iter(self._groups)

    def of(self, group: Key) -> list[T]:
        return list(self._groups.get(group, {}).values())

    def note(self, key: Key, before: tuple[Key, T] | None, after: tuple[Key, T] | None) -> None:
        if before is not None and before[0] in self._groups:
            self._groups[before[0]].pop(key, None)
            if not self._groups[before[0]]:
                del self._groups[before[0]]
        if after is not None:
            self._groups.setdefault(after[0], {})[key] = after[1]


def _release(pod: Obj) -> Key:
    return Key(namespace_of(pod), labels_of(pod).get(RELEASE_LABEL, ""))


def _application(obj: Obj) -> Key:
    return Key(namespace_of(obj), labels_of(obj).get(APP_LABEL, ""))


def _traffic_entry(pod: Obj | None) -> tuple[Key, TrafficPod] | None:
    if pod is None or is_deleting(pod) or dig(pod, "status", "phase") in _FINISHED:
        return None
    labels = labels_of(pod)
    return _application(pod), TrafficPod(name_of(pod), labels.get(RELEASE_LABEL, ""), labels.get(TRAFFIC_LABEL))


def _endpoints_entry(endpoint_slice: Obj | None) -> tuple[Key, Endpoints] | None:
    if endpoint_slice is None:
        return None
    ready, unready = frozenset(endpoint_slice[_READY]), frozenset(endpoint_slice[_UNREADY])
    return _application(endpoint_slice), Endpoints(frozenset((endpoint_slice[_SERVICE],)), ready, unready)


def _projected_pod(pod: Obj) -> Obj:
    status: Obj = pod.get("status") or {}
    kept: Obj = {"phase": status.get("phase") or "", "conditions": status.get("conditions") or []}
    for field in ("containerStatuses", "initContainerStatuses"):
        if status.get(field):
            kept[field] = [{name: each[name] for name in _CONTAINER if name in each} for each in status[field]]
    # What says nothing does not come back from a server as it was written.
    return {"metadata": _metadata(pod), "status": _without_nulls(kept)}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _projected_slice(endpoint_slice: Obj) -> Obj:
    pods: dict[bool, list[str]] = {True: [], False: []}
    for endpoint in endpoint_slice.get("endpoints") or ():
        if dig(endpoint, "targetRef", "kind") == "Pod":
            # One that does not say is ready, as the API has it.
            pods[dig(endpoint, "conditions", "ready", default=True)].append(endpoint["targetRef"]["name"])
    return {
        "metadata": _metadata(endpoint_slice),
        _SERVICE: labels_of(endpoint_slice).get(_SERVICE_NAME, ""),
        _READY: sorted(pods[True]),
        _UNREADY: sorted(pods[False]),
    }


def _metadata(obj: Obj) -> Obj:
    metadata = obj["metadata"]
    kept: Obj = {name: metadata[name] for name in _METADATA if name in metadata}
    return {**kept, "labels": {name: value for name, value in labels_of(obj).items() if name in _LABELS}}
