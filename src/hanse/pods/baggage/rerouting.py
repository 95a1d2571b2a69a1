"""Services of a source led past placeholders, which answer nobody, to the pods that run in the source itself.

Where a target is in another cluster, a Service that selects placeholders gets its selector under Admiralty's prefix,
and the owner's own is kept beside it; whoever joins Services of several clusters finds it marked. That is undone when
it selects no placeholder any more, or when there is no other cluster. All is written only where it is not so already.
"""

from __future__ import annotations

import asyncio

from hanse.api.admiralty.keys import CILIUM_GLOBAL, GLOBAL, HAS_FINALIZER, MANIFEST, ORIGINAL_SELECTOR
from hanse.api.namespaces import is_system
from hanse.api.plain_kinds import INGRESSES
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.manifest import (
    Key,
    Obj,
    annotations_of,
    dig,
    is_deleting,
    labels_of,
    namespace_of,
    version_of,
)
from hanse.kube.resources import PODS, SERVICES
from hanse.pods.baggage.companion import elsewhere, is_copy
from hanse.pods.baggage.elected import Elected
from hanse.pods.baggage.selectors import original_selector, rerouted, selector_text
from hanse.pods.baggage.services import INGRESS_ANNOTATIONS, SERVICE_ANNOTATIONS, backends
from hanse.pods.targeting import SourceRoster
from hanse.propagation.intent import Ref

# Pods come and go in numbers; what follows from all of them is looked at once.
_SETTLE_SECONDS = 0.1


def service_patch(service: Obj, *, led: bool) -> Obj | None:
    """Return what is to be changed in a Service that is `led` past placeholders, or no longer; None for nothing.

    Raises ValueError where its pattern of labels that keep their keys is none.
    """
    original = original_selector(service)
    if led:
        annotations: dict[str, str | None] = {**SERVICE_ANNOTATIONS, ORIGINAL_SELECTOR: selector_text(original)}
        if CILIUM_GLOBAL in annotations_of(service):
            del annotations[CILIUM_GLOBAL]
        return _patch(service, annotations, rerouted(service, original))
    if ORIGINAL_SELECTOR not in annotations_of(service):
        return None
    return _patch(service, dict.fromkeys((*SERVICE_ANNOTATIONS, ORIGINAL_SELECTOR)), original)


def ingress_patch(ingress: Obj, *, led: bool) -> Obj | None:
    """Return what is to be changed in an Ingress that leads to such a Service, or no longer; None for nothing."""
    return _patch(ingress, dict(INGRESS_ANNOTATIONS) if led else {GLOBAL: None}, None)


def _patch(obj: Obj, annotations: dict[str, str | None], selector: dict[str, str] | None) -> Obj | None:
    have = annotations_of(obj)
    news = {name: text for name, text in annotations.items() if have.get(name) != text}
    held = dig(obj, "spec", "selector") or {}
    patch: Obj = {"metadata": {"resourceVersion": version_of(obj), **({"annotations": news} if news else {})}}
    if selector is not None and selector != held:
        patch["spec"] = {"selector": {**dict.fromkeys(held), **selector}}
    return patch if news or "spec" in patch else None


class Rerouter:
    """Leads the Services of one source past its placeholders."""

    def __init__(self, source: Client, targets: SourceRoster) -> None:
        self._source = source
        self._runtime = source.runtime
        self._targets = targets
        self._services = Cache(source, SERVICES)
        self._ingresses = Cache(source, INGRESSES)
        self._pods = Cache(source, PODS, labels=f"{HAS_FINALIZER}=true", project=_labels_alone)
        self._elected = Elected()
        # The Services and the Ingresses of each namespace, so that nobody looks through all of them for every pod.
        self._within: dict[str, set[Ref]] = {}
        self._controller: Controller[Ref] = Controller("rerouting", self._reconcile, self._runtime, workers=2)
        targets.subscribe(lambda _target: self._look_at_everything())

    async def run(self) -> None:
        """Work until cancelled."""
        caches = (self._pods, self._services, self._ingresses)
        async with asyncio.TaskGroup() as tasks:
            for cache in caches:
                tasks.create_task(cache.run())
            await self._targets.wait_synced()
            for cache in caches:
                await cache.wait_synced()
            # Before all of them are known, a Service might seem to select nothing.
            self._pods.subscribe(self._pod_changed)
            self._services.subscribe(self._service_changed)
            self._ingresses.subscribe(self._ingress_changed)
            tasks.create_task(self._controller.run())

    def _soon(self, ref: Ref) -> None:
        self._controller.queue.add_after(ref, _SETTLE_SECONDS)

    def _look_at_everything(self) -> None:
        for resource, cache in ((SERVICES, self._services), (INGRESSES, self._ingresses)):
            for key in cache if cache.synced else ():
                self._soon(Ref(resource, key))

    def _pod_changed(self, change: Change) -> None:
        if self._elected.take_in(change):
            for ref in self._within.get(change.key.namespace, ()):
                self._soon(ref)

    def _service_changed(self, change: Change) -> None:
        self._changed(Ref(SERVICES, change.key), change)
        for ref in self._within.get(change.key.namespace, ()):
            if ref.resource == INGRESSES:
                self._soon(ref)

    def _ingress_changed(self, change: Change) -> None:
        self._changed(Ref(INGRESSES, change.key), change)

    def _changed(self, ref: Ref, change: Change) -> None:
        within = self._within.setdefault(ref.key.namespace, set())
        (within.discard if change.new_bytes is None else within.add)(ref)
        if not within:
            del self._within[ref.key.namespace]
        self._soon(ref)

    # The paragraph: observe, decide, act

    async def _reconcile(self, ref: Ref) -> float | None:
        cache = self._services if ref.resource == SERVICES else self._ingresses
        obj = cache.get(ref.key)
        if obj is None or is_deleting(obj) or is_copy(obj) or is_system(ref.key.namespace):
            return None
        try:
            patch = self._patch_of(ref, obj)
        except ValueError:
            # The door of global Services says on it what is wrong with its pattern.
            return None
        if patch is not None:
            try:
                cache.remember(await self._source.patch(ref.resource, ref.key.name, patch, ref.key.namespace))
            except NotFound:
                return None
        return None

    def _patch_of(self, ref: Ref, obj: Obj) -> Obj | None:
        away = bool(elsewhere(self._targets, ref.key.namespace))
        if ref.resource == SERVICES:
            return service_patch(obj, led=away and self._selects(obj))
        found = (self._services.get(Key(ref.key.namespace, name)) for name in backends(obj))
        return ingress_patch(obj, led=away and any(each is not None and self._selects(each) for each in found))

    def _selects(self, service: Obj) -> bool:
        return not is_copy(service) and self._elected.has(namespace_of(service), original_selector(service))


def _labels_alone(pod: Obj) -> Obj:
    """Keep of a placeholder what Services can select it by, and that it is one."""
    metadata = pod["metadata"]
    kept = {name: metadata[name] for name in ("name", "namespace", "resourceVersion", "uid") if name in metadata}
    annotations = {MANIFEST: ""} if MANIFEST in annotations_of(pod) else {}
    spec = {"schedulerName": dig(pod, "spec", "schedulerName")}
    return {
        **pod,
        "metadata": {**kept, "labels": labels_of(pod), "annotations": annotations},
        "spec": spec,
        "status": {},
    }
