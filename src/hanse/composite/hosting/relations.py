"""The objects that hooks want to see beside the children: which ones they are, and whose hook a change concerns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from hanse.composite.bodies import customize_request, is_strict, read_customize
from hanse.composite.children import Observed
from hanse.composite.hooks.calling import Hook, HookFailed
from hanse.composite.hosting.opened import OpenedHooks
from hanse.composite.hosting.place import Place, UnknownKind, UnreadableKind, find_kind, require_readable
from hanse.composite.hosting.shelf import Kept
from hanse.composite.related import RelatedRule, matches, read_rules
from hanse.composite.spec import ControllerSpec, HookSpec, KindRef
from hanse.kube.cache import Cache, Change
from hanse.kube.manifest import Key, Obj, dig, labels_of, namespace_of, uid_of
from hanse.kube.resources import NAMESPACES, Resource


@dataclass(frozen=True, slots=True)
class _Known:
    """What was asked for by a parent as it was at one generation."""

    uid: str
    generation: int
    rules: tuple[tuple[Resource, RelatedRule], ...]


class Relations:
    """Asks the customize hook once for every generation of a parent, and follows the kinds that it names."""

    def __init__(
        self, controller: Obj, spec: HookSpec, hook: Hook, place: Place, concern: Callable[[Resource, Key], None]
    ) -> None:
        """`concern` is told of every parent whose hook a change concerns, by its kind and key."""
        self._controller = controller
        self._spec = spec
        self._hook = hook
        self._place = place
        self._concern = concern
        self._stack = AsyncExitStack()
        self._kept: dict[Resource, Kept] = {}
        self._known: dict[tuple[Resource, Key], _Known] = {}

    async def close(self) -> None:
        """Follow nothing any more."""
        await self._stack.aclose()

    def forget(self, resource: Resource, key: Key) -> None:
        """A parent is gone."""
        self._known.pop((resource, key), None)

    async def of(self, resource: Resource, key: Key, parent: Obj) -> Observed:
        """Return what a parent's hook wants to see; raises HookFailed, HookBusy and UnknownKind."""
        found: dict[Resource, dict[Key, Obj]] = {}
        for kind, rule in await self._rules(resource, key, parent):
            kept = await self._following(kind)
            found.setdefault(kind, {}).update(self._matching(kept.cache, rule))
        return {kind: list(objects.values()) for kind, objects in found.items()}

    async def _rules(self, resource: Resource, key: Key, parent: Obj) -> tuple[tuple[Resource, RelatedRule], ...]:
        known, generation = self._known.get((resource, key)), dig(parent, "metadata", "generation", default=0)
        if known is not None and (known.uid, known.generation) == (uid_of(parent), generation):
            return known.rules
        rules = await self._asked(parent)
        for kind, rule in rules:
            await self._following(kind)
            if rule.namespaces is not None:
                await self._following(NAMESPACES)
        self._known[resource, key] = _Known(uid_of(parent), generation, rules)
        return rules

    async def _asked(self, parent: Obj) -> tuple[tuple[Resource, RelatedRule], ...]:
        answer = read_customize(
            await self._hook.call(customize_request(self._controller, parent), parent), is_strict(self._spec)
        )
        if isinstance(answer, str):
            raise HookFailed(f"the customize hook: {answer}")
        kinds: dict[KindRef, Resource] = {}
        for raw in answer:
            ref = KindRef(raw["apiVersion"], raw["resource"])
            try:
                kinds[ref] = await find_kind(self._place.client, ref)
            except UnknownKind as error:
                raise HookFailed(f"the customize hook: {error}") from error
        rules = read_rules(answer, namespace_of(parent), self._spec.version, lambda ref: kinds[ref].namespaced)
        if isinstance(rules, str):
            raise HookFailed(f"the customize hook: {rules}")
        followed = {*kinds.values(), *(NAMESPACES for rule in rules if rule.namespaces is not None)}
        try:
            await require_readable(self._place.client, sorted(followed - self._kept.keys(), key=str))
        except UnreadableKind as error:
            raise HookFailed(f"the customize hook: {error}") from error
        return tuple((kinds[rule.kind], rule) for rule in rules)

    async def _following(self, kind: Resource) -> Kept:
        if kind not in self._kept:
            kept = await self._stack.enter_async_context(self._place.shelf.lend(kind))
            if kind not in self._kept:
                self._kept[kind] = kept
                self._stack.callback(kept.cache.subscribe(partial(self._changed, kind)))
        return self._kept[kind]

    def _matching(self, cache: Cache, rule: RelatedRule) -> Iterator[tuple[Key, Obj]]:
        if rule.names and rule.namespace:
            named = (cache.get(Key(rule.namespace, name)) for name in sorted(rule.names))
            candidates = [obj for obj in named if obj is not None]
        else:
            candidates = list(cache.objects(rule.namespace))
        for obj in candidates:
            if matches(rule, obj, self._labels_of_namespace(obj, rule)):
                yield Key(namespace_of(obj), obj["metadata"]["name"]), obj

    def _labels_of_namespace(self, obj: Obj, rule: RelatedRule) -> dict[str, str] | None:
        if rule.namespaces is None:
            return None
        namespace = self._kept[NAMESPACES].cache.get(Key("", namespace_of(obj)))
        return None if namespace is None else labels_of(namespace)

    def _changed(self, kind: Resource, change: Change) -> None:
        versions = [obj for obj in (change.old, change.new) if obj is not None]
        for (resource, key), known in self._known.items():
            if any(self._concerns(kind, versions, of, rule) for of, rule in known.rules):
                self._concern(resource, key)

    def _concerns(self, kind: Resource, versions: list[Obj], of: Resource, rule: RelatedRule) -> bool:
        if kind == NAMESPACES and rule.namespaces is not None:
            return any(rule.namespaces.matches(labels_of(obj)) for obj in versions)
        return of == kind and any(matches(rule, obj, self._labels_of_namespace(obj, rule)) for obj in versions)


def relations_of(
    controller: Obj,
    spec: ControllerSpec,
    hooks: OpenedHooks,
    place: Place,
    concern: Callable[[Resource, Key], None],
    stack: AsyncExitStack,
) -> Relations | None:
    """Return what a controller's parents are related to, followed until the stack closes; None without such a hook."""
    if spec.hooks.customize is None or hooks.customize is None:
        return None
    relations = Relations(controller, spec.hooks.customize, hooks.customize, place, concern)
    stack.push_async_callback(relations.close)
    return relations
