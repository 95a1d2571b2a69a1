"""The stage of a random world: who acts has the federation, chance, and something to choose from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, Conflict, Forbidden, NotFound
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource
from tests.simulation.random_federation import RandomFederation
from tests.simulation.random_objects import KINDS, Chance, Kind
from tests.simulation.random_truth import HOST, LAG_SECONDS, Truth, Weather, bucket_of, owner_of

T = TypeVar("T")
MEMBERS = ("a", "b", "c")


class NothingThereError(Exception):
    """Somebody wanted to change something and there is nothing yet."""


@dataclass(slots=True)
class Stage:
    """A federation, what happened in it, and chance."""

    federation: RandomFederation
    chance: Chance
    seed: int
    story: list[str] = field(default_factory=list)
    probes: int = 0

    @property
    def host(self) -> Client:
        """A user's way to the federation's API."""
        return self.federation.host

    @property
    def truth(self) -> Truth:
        """What is true everywhere."""
        return self.federation.judge.truth

    @property
    def now(self) -> float:
        """Seconds since the world began."""
        return self.federation.runtime.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await self.federation.runtime.sleep(seconds)

    def say(self, sentence: str) -> None:
        """Add to the story."""
        self.story.append(f"{self.now:8.3f} {sentence}")

    async def tell(self, act: Act) -> None:
        """Have somebody do something, and tell of it."""
        try:
            self.say(await act(self))
        except (NotFound, AlreadyExists, Conflict, Forbidden, NothingThereError) as error:
            # A namespace that is going forbids new objects in it.
            self.say(f"came too late: {error}")

    # What there is to choose from

    def some_source(self, *resources: Resource) -> tuple[Kind, Obj]:
        """Choose an object on the federation, of some kinds or of any."""
        found = [
            (kind, obj)
            for kind in KINDS
            if not resources or kind.resource in resources
            for (bucket, path), obj in self.truth.objects[HOST].items()
            if bucket == bucket_of(kind.resource) and "/one-" in path and "deletionTimestamp" not in obj["metadata"]
        ]
        return self.one_of(found)

    def some_copy(self) -> tuple[str, Kind, Obj]:
        """Choose an object that Hanse has in a member."""
        found = [
            (name, kind, obj)
            for name in self.federation.members
            for kind in KINDS
            for (bucket, path), obj in self.truth.objects[name].items()
            if bucket == bucket_of(kind.resource) and "/one-" in path and owner_of(obj)
        ]
        return self.one_of(found)

    def some_cluster(self) -> str:
        """Choose a registered cluster."""
        return self.one_of(list(self.truth.clusters))

    def one_of(self, found: Sequence[T]) -> T:
        """Choose, if there is anything."""
        if not found:
            raise NothingThereError("there is nothing of that sort")
        return self.chance.one_of(found)

    def is_well(self, name: str) -> bool:
        """Tell whether a registered cluster, or the host, has had nothing wrong with it for a good while."""
        truth, now = self.truth, self.now
        if name != HOST and (name not in truth.clusters or now - truth.joined_at[name] < LAG_SECONDS):
            return False
        return truth.weather.get(name, Weather()).calm_for(now) > 2 * LAG_SECONDS


Act = Callable[[Stage], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Theme:
    """What is special about some worlds: what begins them, what is done in them, and what must be over before the end.

    `attend` is what people do again and again while all comes right. `planes` is how many control planes there are.
    """

    name: str
    acts: tuple[Act, ...] = ()
    begin: Callable[[Stage], Awaitable[None]] | None = None
    attend: Callable[[Stage], Awaitable[None]] | None = None
    planes: int = 1
