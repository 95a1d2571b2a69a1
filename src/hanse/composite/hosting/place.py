"""Where lambda controllers act: one cluster, what they share there, and the kinds that they name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from hanse.composite.hooks.calling import Hook
from hanse.composite.hosting.elsewhere import Elsewhere
from hanse.composite.hosting.shelf import CacheShelf
from hanse.composite.spec import ControllerSpec, HookSpec, KindRef
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden
from hanse.kube.events import EventRecorder
from hanse.kube.resources import Resource


@dataclass(frozen=True, slots=True)
class Manners:
    """What controllers tell of their work beside what all of them do; operators have habits that people rely on.

    With `writes` there is an Event on the parent for every child that is written or cannot be, and for a status that
    cannot be. Conditions of the types `unknown` are Unknown while a parent cannot be synced, for `reason`.
    """

    writes: bool = False
    unknown: frozenset[str] = frozenset()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """The cluster in which controllers act, and what they share there.

    `elsewhere` are the other clusters in which children may be; only the federation has any.
    """

    client: Client
    shelf: CacheShelf
    events: EventRecorder
    open_hook: Callable[[HookSpec], Awaitable[Hook]]
    elsewhere: Elsewhere | None = None
    manners: Manners = Manners()


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds that a controller names, as the server serves them, in the controller's order."""

    parents: tuple[Resource, ...]
    children: tuple[Resource, ...]
    inputs: tuple[Resource, ...] = ()

    @property
    def all(self) -> tuple[Resource, ...]:
        """All of them."""
        return (*self.parents, *self.children, *self.inputs)


class UnknownKind(Exception):
    """The server does not serve a kind that a controller names; it may come to."""


class UnreadableKind(Exception):
    """A kind that a controller names may not be read; the right may come."""


async def require_readable(client: Client, kinds: Iterable[Resource]) -> None:
    """See that kinds can be followed: whoever waits for one that cannot, waits in silence. Raises UnreadableKind."""
    for kind in kinds:
        try:
            await client.get_raw(kind.path(), query=(("limit", "1"),))
        except Forbidden as error:
            raise UnreadableKind(
                f"{kind.group_resource} may not be read; give the right to list and watch: {error}"
            ) from error


async def find_kinds(client: Client, spec: ControllerSpec) -> Kinds:
    """Find every kind that a controller names; raises UnknownKind, having asked the server anew."""

    async def found(refs: Iterable[KindRef]) -> tuple[Resource, ...]:
        return tuple([await find_kind(client, ref) for ref in refs])

    return Kinds(
        parents=await found(rule.kind for rule in spec.parents),
        children=await found(rule.kind for rule in spec.children),
        inputs=await found(rule.kind for rule in spec.inputs),
    )


async def find_kind(client: Client, ref: KindRef) -> Resource:
    """Find one kind by its group, version and plural; raises UnknownKind, having asked the server anew."""
    for attempt in range(2):
        for resource in await client.discovery.resources():
            if resource.plural == ref.resource and resource.api_version == ref.api_version:
                return resource
        if attempt == 0:
            client.discovery.forget()
    raise UnknownKind(f"the server serves no {ref.resource} of {ref.api_version}")
