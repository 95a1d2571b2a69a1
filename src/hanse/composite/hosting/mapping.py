"""One MapController at work: for every input that a parent selects, the outputs that a hook makes of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import AsyncExitStack
from functools import partial

from hanse.api.metacontroller.kinds import MAP_ANNOTATION, MAP_KEY_ANNOTATION
from hanse.composite.bodies import is_strict, map_request, read_map, read_tombstone, tombstone_request
from hanse.composite.children import ChildId, Observed, by_id
from hanse.composite.claiming import attached, is_controlled_by, stored_selector
from hanse.composite.hosting.acting import Hands
from hanse.composite.hosting.opened import OpenedHooks
from hanse.composite.hosting.place import Kinds, Place
from hanse.composite.hosting.rounds import Root, Rounds, SyncProblem
from hanse.composite.hosting.shelf import Kept
from hanse.composite.hosting.telling import observed_generation
from hanse.composite.mapped import counted, map_key
from hanse.composite.planning import plan
from hanse.composite.preparing import Child, prepared
from hanse.composite.spec import ControllerSpec
from hanse.kube.cache import Change
from hanse.kube.manifest import Obj, annotations_of, is_deleting, labels_of, namespace_of, owner_reference, uid_of
from hanse.kube.patches.differences import digest
from hanse.kube.resources import Resource
from hanse.kube.selectors import LabelSelector


class HostedMap:
    """Runs one MapController for all its parents."""

    def __init__(self, controller: Obj, spec: ControllerSpec, kinds: Kinds, hooks: OpenedHooks, place: Place) -> None:
        self._controller = controller
        self._spec = spec
        self._hooks = hooks
        self._place = place
        (self._kind,) = kinds.parents
        self._input_rules = dict(zip(kinds.inputs, spec.inputs, strict=True))
        self._rules = dict(zip(kinds.children, spec.children, strict=True))
        self._rounds = Rounds(spec, kinds, place, self)
        self._inputs: dict[Resource, Kept] = {}
        # What was answered for an input, by the uid of the parent: asked again only if the hook is told something else.
        self._answers: dict[str, dict[str, tuple[str, tuple[Obj, ...]]]] = {}

    async def run(self) -> None:
        """Map until cancelled."""
        async with AsyncExitStack() as stack:
            await self._rounds.follow(stack)
            self._hands = Hands(
                self._place.client,
                {kind: kept.cache for kind, kept in self._rounds.children.items()},
                self._rounds.settling,
                server_side=self._spec.server_side,
            )
            for kind in self._input_rules:
                self._inputs[kind] = await stack.enter_async_context(self._place.shelf.lend(kind))
                stack.callback(self._inputs[kind].cache.subscribe(partial(self._input_changed, kind)))
            await self._rounds.run(stack)

    @property
    def objects(self) -> int:
        """How many objects it looks after."""
        return self._rounds.objects

    @property
    def waiting(self) -> int:
        """How many objects are to be looked at as soon as can be."""
        return self._rounds.waiting

    def concerns(self, root: Root, obj: Obj) -> bool:
        """Say that it is for the parents that match and stay; what goes is the garbage collector's."""
        return self._rounds.matches(root, obj) and not is_deleting(obj)

    def forget(self, root: Root, uid: str) -> None:
        """Drop what is remembered of a parent that is gone."""
        self._hands.forget(uid)
        self._answers.pop(uid, None)

    async def sync(self, root: Root, obj: Obj) -> float | None:
        """Ask for the outputs of every input, carry out what the hook says, and count."""
        selector = stored_selector(obj)
        if isinstance(selector, str):
            raise SyncProblem(selector)
        inputs = dict(self._selected(obj, selector))
        outputs = self._outputs(obj)
        desired: list[Child] = []
        for key, given in inputs.items():
            desired += await self._mapped(obj, key, given, _of_key(outputs, key))
        kept = await self._kept(obj, outputs, inputs.keys())
        observed = {child: live for child, live in by_id(outputs).items() if child not in kept}
        planned = plan(observed, desired, self._rules, owner=owner_reference(obj), marks=self._hands.marks(obj))
        outcome = await self._hands.carry_out(obj, observed, planned)
        status = counted(self._by_kind(obj, selector), self._outputs(obj))
        problem = "; ".join(outcome.problems)
        written = await self._rounds.teller.write(self._kind, obj, observed_generation(status, obj), problem)
        if written is not None:
            self._rounds.parents[self._kind].cache.remember(written)
        if problem:
            raise SyncProblem(problem)
        return None

    def _input_changed(self, kind: Resource, change: Change) -> None:
        for key in self._rounds.parents[self._kind].cache:
            if key.namespace in ("", change.key.namespace):
                self._rounds.add(self._kind, key)

    def _by_kind(self, parent: Obj, selector: LabelSelector) -> Observed:
        return {kind: [*self._of_kind(kind, parent, selector)] for kind in self._input_rules}

    def _selected(self, parent: Obj, selector: LabelSelector) -> Iterator[tuple[str, Obj]]:
        for kind, found in self._by_kind(parent, selector).items():
            for obj in found:
                yield map_key(kind, obj), obj

    def _of_kind(self, kind: Resource, parent: Obj, selector: LabelSelector) -> Iterator[Obj]:
        rule = self._input_rules[kind]
        for obj in self._inputs[kind].cache.objects(namespace_of(parent)):
            labels = labels_of(obj)
            wanted = selector.matches(labels) and rule.labels.matches(labels)
            if wanted and not is_deleting(obj) and not is_controlled_by(obj, parent):
                yield obj

    def _outputs(self, parent: Obj) -> Observed:
        owned = {kind: [*kept.family.children_of(uid_of(parent))] for kind, kept in self._rounds.children.items()}
        return attached(parent, owned, self._spec.name, MAP_ANNOTATION)

    async def _mapped(self, parent: Obj, key: str, given: Obj, outputs: Observed) -> list[Child]:
        spec, hook = self._spec.hooks.map, self._hooks.map
        if spec is None or hook is None:
            raise SyncProblem("spec.hooks.map: the controller has no such hook")
        body = map_request(self._controller, parent, key, given, outputs, spec.version)
        asked, answers = digest(body), self._answers.setdefault(uid_of(parent), {})
        known = answers.get(key)
        if known is None or known[0] != asked:
            answer = read_map(await hook.call(body, parent), is_strict(spec))
            if isinstance(answer, str):
                raise SyncProblem(f"the map hook for {key}: {answer}")
            known = answers[key] = (asked, answer)
        children = prepared(known[1], parent, self._spec, self._rules, map_key=key)
        if isinstance(children, str):
            raise SyncProblem(f"the map hook for {key}: {children}")
        return children

    async def _kept(self, parent: Obj, outputs: Observed, present: Collection[str]) -> set[ChildId]:
        """Return the outputs of inputs that are gone which the tombstone hook wants to keep, just as they are."""
        spec, hook = self._spec.hooks.tombstone, self._hooks.tombstone
        answers = self._answers.setdefault(uid_of(parent), {})
        for key in [key for key in answers if key not in present]:
            del answers[key]
        if spec is None or hook is None:
            return set()
        kept: set[ChildId] = set()
        gone = {_key_of(obj) for obj in by_id(outputs).values()} - set(present)
        for key in sorted(gone):
            left = _of_key(outputs, key)
            body = tombstone_request(self._controller, parent, key, left, spec.version)
            answer = read_tombstone(await hook.call(body, parent), is_strict(spec))
            if isinstance(answer, str):
                raise SyncProblem(f"the tombstone hook for {key}: {answer}")
            named = {(obj["apiVersion"], obj["kind"], obj["metadata"]["name"]) for obj in answer}
            kept |= {child for child in by_id(left) if (child.api_version, child.kind, child.name) in named}
        return kept


def _key_of(output: Obj) -> str:
    return annotations_of(output).get(MAP_KEY_ANNOTATION, "")


def _of_key(outputs: Observed, key: str) -> Observed:
    return {kind: [obj for obj in objects if _key_of(obj) == key] for kind, objects in outputs.items()}
