"""Objects that are the engine's concern only while somebody names them: they get a label, and lose it afterwards.

Of a kind that the engine follows by label, most objects are nobody's to carry anywhere, and some are secrets. What is
named is read once, and labelled; from then on it comes through the watch like any other. What is not there is asked for
again from time to time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, finalizers_of, uid_of
from hanse.kube.resources import Resource
from hanse.propagation.dependencies import NAMEABLE
from hanse.propagation.intent import Ref
from hanse.propagation.sources import Sources

# Somebody creates what pods name already: they wait for it, and it is seen soon enough.
_LOOK_SECONDS = 5.0


class Summons:
    """Calls to the engine what others name."""

    def __init__(
        self,
        host: Client,
        sources: Sources,
        selectors: Mapping[Resource, str],
        *,
        finalizer: str,
        admits: Callable[[Ref, Obj], bool],
    ) -> None:
        """`selectors` are the labels by which kinds are followed, as KEY=VALUE; only those of what can be named count.

        `admits` tells whether an object may be carried anywhere at all.
        """
        self.is_named: Callable[[Ref], bool] = lambda _ref: False
        self.found_nothing: Callable[[Ref], None] = lambda _ref: None
        self._host = host
        self._sources = sources
        self._labels = {kind: label.split("=", 1) for kind, label in selectors.items() if kind in NAMEABLE}
        self._finalizer = finalizer
        self._admits = admits
        # What is named in vain: it is not there (True), or it is not to be carried (False).
        self._absent: dict[Ref, bool] = {}
        self._controller: Controller[Ref] = Controller("summons", self._reconcile, host.runtime)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._controller.run()

    def calls(self, kind: Resource) -> bool:
        """Tell whether objects of a kind come and go for the engine without coming and going themselves."""
        return kind in self._labels

    def look(self, ref: Ref) -> None:
        """Look at an object that somebody began or ceased to name, or that came or went."""
        if ref.resource in self._labels:
            self._controller.queue.add(ref)

    def has(self, ref: Ref) -> bool | None:
        """Tell whether the host has an object; None where that is not known, or where it is not to be carried."""
        found = self._sources.has(ref)
        if found or ref.resource not in self._labels:
            return found
        return False if self._absent.get(ref) else None

    def is_expected(self, ref: Ref) -> bool:
        """Tell whether the engine has an object, or may have it in a moment."""
        return self._sources.has(ref) is True or (ref.resource in self._labels and ref not in self._absent)

    async def _reconcile(self, ref: Ref) -> float | None:
        named, known = self.is_named(ref), self._sources.has(ref)
        if known is None:
            return _LOOK_SECONDS
        if known or not named:
            self._absent.pop(ref, None)
        if known:
            return None
        live = await self._host.find(ref.resource, ref.key.name, ref.key.namespace)
        if live is None or not self._admits(ref, live):
            if named and self._absent.get(ref) is not (live is None):
                self._absent[ref] = live is None
                self.found_nothing(ref)
            return _LOOK_SECONDS if named and live is None else None
        if named or self._finalizer in finalizers_of(live):
            # One that is held has to be let go of, even if somebody took the label away.
            await self._call(ref, live)
        return None

    async def _call(self, ref: Ref, live: Obj) -> None:
        key, value = self._labels[ref.resource]
        patch = {"metadata": {"uid": uid_of(live), "labels": {key: value}}}
        try:
            called = await self._host.patch(ref.resource, ref.key.name, patch, ref.key.namespace)
        except NotFound:
            return
        self._absent.pop(ref, None)
        self._sources.remember(ref, called)
