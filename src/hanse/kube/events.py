"""Events: what happened to an object, told where people look for it; the same thing twice is a count, not a line."""

from __future__ import annotations

from collections import OrderedDict

from hanse.kube.client import Client
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj, name_of, namespace_of, uid_of
from hanse.kube.resources import EVENTS
from hanse.kube.runtime import timestamp
from hanse.kube.transport import Unreachable

_REMEMBERED = 4096


class EventRecorder:
    """Writes Events about objects as one component."""

    def __init__(self, client: Client, component: str) -> None:
        self._client = client
        self._component = component
        self._seen: OrderedDict[tuple[str, ...], tuple[str, int]] = OrderedDict()

    async def record(self, obj: Obj, reason: str, message: str, *, warning: bool = False) -> None:
        """Tell what happened to an object; an Event that cannot be written is let go."""
        kind = "Warning" if warning else "Normal"
        identity = (uid_of(obj), kind, reason, message)
        known = self._seen.get(identity)
        try:
            if known is not None:
                name, count = known
                try:
                    await self._count(obj, name, count + 1)
                    self._remember(identity, name, count + 1)
                    return
                except NotFound:
                    # Events expire; this one starts anew.
                    pass
            self._remember(identity, await self._create(obj, kind, reason, message), 1)
        except (ApiError, Unreachable):
            return

    def _remember(self, identity: tuple[str, ...], name: str, count: int) -> None:
        self._seen[identity] = (name, count)
        self._seen.move_to_end(identity)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    async def _count(self, obj: Obj, name: str, count: int) -> None:
        patch = {"count": count, "lastTimestamp": timestamp(self._client.runtime.now())}
        await self._client.patch(EVENTS, name, patch, _event_namespace(obj))

    async def _create(self, obj: Obj, kind: str, reason: str, message: str) -> str:
        runtime = self._client.runtime
        now = timestamp(runtime.now())
        name = f"{name_of(obj)}.{int(runtime.now() * 1e9):x}{runtime.name_suffix()}"
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": _event_namespace(obj)},
            "involvedObject": {
                "apiVersion": obj["apiVersion"],
                "kind": obj["kind"],
                "name": name_of(obj),
                "namespace": namespace_of(obj),
                "uid": uid_of(obj),
            },
            "type": kind,
            "reason": reason,
            "message": message[:1024],
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": "",
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        await self._client.create(EVENTS, event)
        return name


def _event_namespace(obj: Obj) -> str:
    return namespace_of(obj) or "default"
