"""Observes and writes a parent's children in other clusters: by PlacedChildren, which the engine carries there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from hanse.api.placed_children import PLACED_CHILDREN, PlacedChild, parse_placed_child, placed_child_spec
from hanse.composite.children import ChildId
from hanse.composite.hosting.acting import Outcome
from hanse.composite.hosting.elsewhere import Elsewhere
from hanse.composite.hosting.parents import owner_of, owners_of
from hanse.composite.hosting.place import Place
from hanse.composite.hosting.rounds import Rounds
from hanse.composite.hosting.shelf import Kept
from hanse.composite.placing import Abroad, Fleet, author_of, children_abroad, is_elsewhere, placed_key, placed_manifest
from hanse.composite.planning import Action, Create, Delete, Plan, Update, id_of
from hanse.composite.settling import Settling
from hanse.kube.cache import Change
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from hanse.kube.manifest import Key, Obj, dig, is_deleting, key_of, name_of, namespace_of, uid_of
from hanse.kube.patches.differences import differences
from hanse.kube.resources import Resource
from hanse.kube.runtime import timestamp
from hanse.propagation.intent import Ref


class HandsAbroad:
    """What `Hands` are beside the parent, for other clusters."""

    def __init__(self, client: Client, kept: Kept, elsewhere: Elsewhere, settling: Settling) -> None:
        self._client = client
        self._kept = kept
        self._elsewhere = elsewhere
        self._settling = settling
        # Whether any parent has children in other clusters, or would if there were others.
        self.travels = False

    def fleet_for(self, answer: Sequence[Obj]) -> Fleet:
        """Return the clusters in which the children of an answer may be, and their labels."""
        self.travels = self.travels or any(map(is_elsewhere, answer))
        return self._elsewhere.fleet

    def observe(self, parent: Obj, kinds: Collection[Resource]) -> Abroad:
        """Return the children of these kinds that a parent has in other clusters."""
        declared = {(kind.api_version, kind.kind) for kind in kinds}
        shown: dict[ChildId, Obj] = {}
        asked: dict[ChildId, Obj] = {}
        troubles: list[str] = []
        for source in self._kept.family.children_of(uid_of(parent)):
            placed = parse_placed_child(source)
            if (placed.resource.api_version, placed.resource.kind) not in declared:
                continue
            found = children_abroad(source, placed, self._elsewhere.sights(source, placed))
            shown |= found.shown
            asked |= found.asked
            troubles += found.troubles
        return Abroad(shown, asked, tuple(troubles))

    async def carry_out(self, parent: Obj, plan: Plan) -> Outcome:
        """Ask for what was planned, one write for a child in all its clusters; what fails for one stops no other."""
        outcome, wanted = Outcome(), self._wanted(parent, plan.actions)
        for key, actions in wanted.items():
            source = self._kept.cache.get(key)
            if source is not None and is_deleting(source):
                # It is made anew once this one is gone, which comes by the watch.
                continue
            placed = self._changed(parent, source, actions)
            if source is None and (taken := self._elsewhere.taken(Ref(placed.resource, placed.key), key)):
                outcome.add(_failed(actions, taken))
                continue
            try:
                await self._write(parent, source, placed)
            except (Conflict, AlreadyExists):
                continue
            except ApiError as error:
                if isinstance(error, NotFound) and source is not None:
                    continue
                outcome.add(_failed(actions, str(error)))
            else:
                self._remember(parent, actions)
        return outcome

    def _wanted(self, parent: Obj, actions: Sequence[Action]) -> Mapping[Key, list[Action]]:
        """Return the actions by their PlacedChild; one whose parent has another author by now is written for that."""
        wanted: dict[Key, list[Action]] = {}
        for source in self._kept.family.children_of(uid_of(parent)):
            if parse_placed_child(source).author != author_of(parent):
                wanted[key_of(source)] = []
        for action in actions:
            resource, child = _resource(action), id_of(action)
            key = placed_key(parent, resource, Key(child.namespace, child.name))
            wanted.setdefault(key, []).append(action)
        return wanted

    def _changed(self, parent: Obj, source: Obj | None, actions: Sequence[Action]) -> PlacedChild:
        """Return what is asked for once these actions are done."""
        if source is not None:
            placed = parse_placed_child(source)
        else:
            child = id_of(actions[0])
            placed = PlacedChild(_resource(actions[0]), Key(child.namespace, child.name))
        placed = replace(placed, author=author_of(parent)).within(self._elsewhere.fleet)
        now = timestamp(self._client.runtime.now())
        for action in actions:
            match action:
                case Create(wanted, body) | Update(wanted, body, _):
                    placed = replace(placed, resource=wanted.resource).present_in(wanted.id.cluster, body)
                case _:
                    placed = placed.absent_in(id_of(action).cluster, now)
        return placed

    async def _write(self, parent: Obj, source: Obj | None, placed: PlacedChild) -> None:
        if source is None:
            written = await self._client.create(PLACED_CHILDREN, placed_manifest(parent, placed))
        elif placed.templates:
            written = await self._client.update(PLACED_CHILDREN, {**source, "spec": placed_child_spec(placed)})
        else:
            # All that it still names is where copies can be, and the engine sees to those.
            await self._client.delete(PLACED_CHILDREN, name_of(source), namespace_of(source), uid=uid_of(source))
            return
        self._kept.cache.remember(written)

    def _remember(self, parent: Obj, actions: Sequence[Action]) -> None:
        """Have a hook noticed that has the same fields written again and again."""
        for action in actions:
            if isinstance(action, Update):
                self._settling.wrote(
                    uid_of(parent),
                    dig(parent, "metadata", "generation", default=0),
                    str(id_of(action)),
                    (each for each in differences(action.live, action.body) if not each.path.startswith("metadata.")),
                    self._client.runtime.now(),
                )


async def hands_abroad(place: Place, kind: Resource, rounds: Rounds, stack: AsyncExitStack) -> HandsAbroad | None:
    """Take hold of children in other clusters for as long as the stack is open; None where there are no clusters.

    Whatever changes there brings the parent of the child back.
    """
    if place.elsewhere is None:
        return None
    await place.elsewhere.ready()
    kept = await stack.enter_async_context(place.shelf.lend(PLACED_CHILDREN))
    hands = HandsAbroad(place.client, kept, place.elsewhere, rounds.settling)

    def placed_changed(change: Change) -> None:
        for key in owners_of(change, kind):
            rounds.add(kind, key)

    def child_changed(placed: Key) -> None:
        source = kept.cache.get(placed)
        if source is not None and (key := owner_of(source, kind)) is not None:
            rounds.add(kind, key)

    def fleet_changed() -> None:
        for key in rounds.parents[kind].cache if hands.travels else ():
            rounds.add(kind, key)

    stack.callback(kept.cache.subscribe(placed_changed))
    stack.callback(place.elsewhere.follow(child_changed, fleet_changed))
    return hands


def _failed(actions: Sequence[Action], why: str) -> Outcome:
    children = [id_of(action) for action in actions]
    return Outcome([f"{child}: {why}" for child in children], set(children))


def _resource(action: Action) -> Resource:
    return action.resource if isinstance(action, Delete) else action.child.resource
