"""Calling the hook of a controller out of files, for a parent out of a file, as the control plane would."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from hanse.api.metacontroller.kinds import DECORATOR_ANNOTATION, MAP_ANNOTATION, MAP_KEY_ANNOTATION
from hanse.api.placed_children import CLUSTER_ANNOTATION
from hanse.cli.composite_files import KnownKinds, Local, LocalObjects
from hanse.cli.composite_rehearsing import Effect, Rehearsal, Step, Wanted, child_steps, status_step
from hanse.cli.failures import Failure, Misuse
from hanse.composite.bodies import (
    customize_request,
    decorator_request,
    is_strict,
    map_request,
    read_customize,
    read_decorator,
    read_map,
    read_sync,
    sync_request,
)
from hanse.composite.children import Observed, child_id
from hanse.composite.claiming import attached, claim, generated_labels, selector_of
from hanse.composite.hooks.calling import Hook, HookBusy, HookFailed, HookParts, HookUnusable
from hanse.composite.hooks.opening import open_hook
from hanse.composite.hosting.telling import observed_generation
from hanse.composite.mapped import map_key
from hanse.composite.placing import Fleet
from hanse.composite.preparing import prepared
from hanse.composite.related import RelatedRule, matches, read_rules
from hanse.composite.spec import HookSpec, Sort
from hanse.kube.manifest import Obj, annotations_of, controller_of, labels_of, name_of, namespace_of, owner_reference
from hanse.kube.patches.merge_patch import apply_merge_patch
from hanse.kube.resources import NAMESPACES, Resource, gvk
from hanse.kube.runtime import Runtime

_NO_UID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class Given:
    """What files say of the cluster: a parent, the children that it has, and other objects (inputs of a map, too)."""

    parent: Obj
    children: tuple[Obj, ...] = ()
    related: tuple[Obj, ...] = ()
    finalizing: bool = False
    fleet: Fleet | None = None
    """The labels of the clusters in which children may be; None where all are beside the parent."""


Opening = Callable[[HookSpec], Awaitable[Hook]]


def opening_here(local: Local, given: Given, runtime: Runtime) -> Opening:
    """Return how the hooks of a controller are opened on this machine, with what files have for Secrets."""
    objects = LocalObjects((*local.manifests, *given.related))
    return partial(open_hook, parts=HookParts(runtime, objects, trusted=True))


async def rehearse(local: Local, given: Given, opening: Opening) -> list[Rehearsal]:
    """Call the hook and say what would follow; raises Failure where that is nothing, and Misuse."""
    manifests = (*local.manifests, given.parent, *given.children, *given.related)
    try:
        return await _Asking(local, given, KnownKinds(manifests), opening).rehearse()
    except (HookFailed, HookBusy, HookUnusable) as error:
        raise Failure(str(error)) from error


class _Asking:
    def __init__(self, local: Local, given: Given, kinds: KnownKinds, opening: Opening) -> None:
        self._local = local
        self._spec = local.spec
        self._kinds = kinds
        self._opening = opening
        self._finalizing = given.finalizing
        self._fleet = given.fleet
        self._rules = {kinds.of(rule.kind): rule for rule in local.spec.children}
        self._parent = self._completed(given.parent, self._parent_kind(given.parent))
        self._related = given.related
        self._children = self._observed(given.children)

    async def rehearse(self) -> list[Rehearsal]:
        match self._spec.sort:
            case Sort.COMPOSITE:
                return [await self._composite()]
            case Sort.DECORATOR:
                return [await self._decorator()]
            case Sort.MAP:
                return [await self._mapped(key, each) for key, each in self._inputs()]

    async def _composite(self) -> Rehearsal:
        parent, spec = self._parent, self._spec
        selector = selector_of(parent, spec)
        if isinstance(selector, str):
            raise Failure(f"{_name(parent)}: {selector}")
        claims = claim(parent, self._children, selector)
        hook = self._hook()
        related = await self._asked_for()
        body = sync_request(self._local.controller, parent, claims.own, related, self._finalizing, hook.version)
        raw = await self._called(hook, body)
        answer = read_sync(raw, is_strict(hook))
        if isinstance(answer, str):
            raise Failure(f"the answer cannot be used: {answer}")
        notes = [f"{_name(obj)}: the parent's selector does not match it, so it is let go" for _, obj in claims.release]
        wanted = self._wanted(claims.own, answer.children, notes)
        steps = [*child_steps(parent, wanted), *status_step(parent, observed_generation(answer.status, parent))]
        return Rehearsal(_name(parent), raw, tuple(steps), tuple(self._notes(notes)))

    async def _decorator(self) -> Rehearsal:
        target = self._parent
        hook = self._hook()
        attachments = attached(target, self._children, self._spec.name)
        related = await self._asked_for()
        body = decorator_request(self._local.controller, target, attachments, related, self._finalizing, hook.version)
        raw = await self._called(hook, body)
        answer = read_decorator(raw, is_strict(hook))
        if isinstance(answer, str):
            raise Failure(f"the answer cannot be used: {answer}")
        wanted = self._wanted(attachments, answer.attachments, [])
        patch = {"metadata": {"labels": dict(answer.labels), "annotations": dict(answer.annotations)}}
        steps = [*child_steps(target, wanted), *status_step(target, answer.status)]
        steps += _decorated(target, patch)
        return Rehearsal(_name(target), raw, tuple(steps), tuple(self._notes(wanted.notes)))

    async def _mapped(self, key: str, given: Obj) -> Rehearsal:
        hook = self._spec.hooks.map
        if hook is None:
            raise Failure("spec.hooks.map: the controller has no such hook")
        made = attached(self._parent, self._children, self._spec.name, MAP_ANNOTATION)
        outputs = {
            kind: [obj for obj in objects if annotations_of(obj).get(MAP_KEY_ANNOTATION) == key]
            for kind, objects in made.items()
        }
        body = map_request(self._local.controller, self._parent, key, given, outputs, hook.version)
        raw = await self._called(hook, body)
        answer = read_map(raw, is_strict(hook))
        if isinstance(answer, str):
            raise Failure(f"the answer for {key} cannot be used: {answer}")
        wanted = self._wanted(outputs, answer, [], map_key=key)
        return Rehearsal(key, raw, tuple(child_steps(self._parent, wanted)), tuple(wanted.notes))

    def _hook(self) -> HookSpec:
        name = "finalize" if self._finalizing else "sync"
        found: HookSpec | None = getattr(self._spec.hooks, name)
        if found is None:
            advice = "it has only finalize: add --finalizing" if name == "sync" else "leave --finalizing out"
            raise Misuse(f"--finalizing: the controller has no hook {name}; {advice}")
        return found

    async def _called(self, spec: HookSpec, body: Obj) -> Obj:
        hook = await self._opening(spec)
        try:
            return await hook.call(body, self._parent)
        finally:
            await hook.close()

    async def _asked_for(self) -> Observed:
        """Return the related objects that the customize hook asks for; none without such a hook."""
        hook = self._spec.hooks.customize
        if hook is None:
            return {}
        raw = await self._called(hook, customize_request(self._local.controller, self._parent))
        rules = read_customize(raw, is_strict(hook))
        if not isinstance(rules, str):
            found = read_rules(
                rules, namespace_of(self._parent), hook.version, lambda ref: self._kinds.of(ref).namespaced
            )
            if not isinstance(found, str):
                return {kind: [*self._matching(kind, found)] for kind in {self._kinds.of(rule.kind) for rule in found}}
            rules = found
        raise Failure(f"the customize hook: {rules}")

    def _matching(self, kind: Resource, rules: Sequence[RelatedRule]) -> Iterator[Obj]:
        spaces = {name_of(each): labels_of(each) for each in self._related if each["kind"] == NAMESPACES.kind}
        for obj in self._of_kind(self._related, kind):
            asked = (rule for rule in rules if self._kinds.of(rule.kind) == kind)
            if any(matches(rule, obj, spaces.get(namespace_of(obj))) for rule in asked):
                yield obj

    def _inputs(self) -> Iterator[tuple[str, Obj]]:
        found = 0
        for rule in self._spec.inputs:
            kind = self._kinds.of(rule.kind)
            for obj in self._of_kind(self._related, kind):
                found += 1
                yield map_key(kind, obj), obj
        if not found:
            raise Misuse("--related: give the inputs of the map, objects of the kinds of spec.inputResources")

    def _of_kind(self, objects: Iterable[Obj], kind: Resource) -> Iterator[Obj]:
        for obj in objects:
            if gvk(obj) == (kind.group, kind.version, kind.kind):
                yield self._completed(obj, kind)

    def _observed(self, children: Sequence[Obj]) -> Observed:
        observed = {kind: [self._child(obj) for obj in self._of_kind(children, kind)] for kind in self._rules}
        strangers = len(children) - sum(map(len, observed.values()))
        if strangers:
            declared = ", ".join(kind.group_resource for kind in self._rules)
            raise Misuse(f"--children: {strangers} of them are of no kind of the controller's children, {declared}")
        return observed

    def _child(self, child: Obj) -> Obj:
        """Return a child as the parent's, which files need not say."""
        metadata = dict(child["metadata"])
        if self._spec.generate_selector:
            metadata["labels"] = {**labels_of(child), **generated_labels(self._parent, self._spec)}
        if controller_of(child) is None:
            metadata["ownerReferences"] = [*metadata.get("ownerReferences", ()), owner_reference(self._parent)]
        if self._spec.sort is Sort.DECORATOR:
            metadata["annotations"] = {DECORATOR_ANNOTATION: self._spec.name, **annotations_of(child)}
        return {**child, "metadata": metadata}

    def _parent_kind(self, parent: Obj) -> Resource:
        known = [self._kinds.of(rule.kind) for rule in self._spec.parents]
        for kind in known:
            if gvk(parent) == (kind.group, kind.version, kind.kind):
                return kind
        wanted = " or ".join(f"{kind.kind} of {kind.api_version}" for kind in known)
        raise Misuse(
            f"--parent: it is a {parent['kind']} of {parent['apiVersion']}, and the controller is for {wanted}"
        )

    def _completed(self, obj: Obj, kind: Resource) -> Obj:
        """Return an object with what a server would have given it."""
        metadata = {"uid": _NO_UID, "generation": 1, **(obj.get("metadata") or {})}
        if not metadata.get("name"):
            raise Misuse(f"-f: every object needs metadata.name, and a {obj['kind']} has none")
        if kind.namespaced:
            metadata["namespace"] = metadata.get("namespace") or "default"
        return {**obj, "metadata": metadata}

    def _wanted(self, observed: Observed, answer: Sequence[Obj], notes: list[str], map_key: str = "") -> Wanted:
        children = prepared(answer, self._parent, self._spec, self._rules, map_key=map_key, fleet=self._fleet)
        if isinstance(children, str):
            raise Failure(f"the answer cannot be carried out: {children}")
        there = {
            child_id(obj, annotations_of(obj).get(CLUSTER_ANNOTATION, "")): obj
            for objects in observed.values()
            for obj in objects
        }
        return Wanted(there, children, self._rules, notes)

    def _notes(self, notes: Sequence[str]) -> Iterator[str]:
        yield from notes
        if any(rule.method.rolling for rule in self._rules.values()):
            yield "children of rolling kinds change one after the other, and not all at once as it is shown here"
        if self._related and self._spec.hooks.customize is None:
            yield "there is no customize hook, so the hook was told of no related objects"


def _decorated(target: Obj, patch: Obj) -> list[Step]:
    before = {"metadata": {"labels": labels_of(target), "annotations": annotations_of(target)}}
    after = apply_merge_patch(before, patch)
    return [] if before == after else [Step(_name(target), Effect.UPDATED, before, after)]


def _name(obj: Obj) -> str:
    place = f"{namespace_of(obj)}/" if namespace_of(obj) else ""
    return f"{obj['kind']} {place}{name_of(obj)}"
