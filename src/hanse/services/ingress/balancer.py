"""What makes a global load balancer for an Ingress in many clusters: Google's, Hanse's own, or another cloud's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hanse.kube.client import Client
from hanse.kube.manifest import Obj

# Hears each step as it is taken, in a line for people.
Tell = Callable[[str], None]


class Refused(Exception):
    """What was asked for is not done; there may be several reasons, a sentence each."""

    def __init__(self, *sentences: str) -> None:
        super().__init__("; ".join(sentences))
        self.sentences = sentences


@dataclass(frozen=True, slots=True)
class Wish:
    """A load balancer as somebody asks for it: its name, its Ingress with every default, and the clusters behind it."""

    name: str
    ingress: Obj
    clusters: Mapping[str, Client]


@dataclass(frozen=True, slots=True)
class Standing:
    """A load balancer as it is: where clients reach it, and the clusters behind it."""

    name: str
    address: str
    clusters: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What `get-status` says of it."""
        return (
            f"Load balancer {self.name} has IPAddress {self.address} and is spread across {len(self.clusters)} "
            f"clusters ({','.join(self.clusters)})"
        )


class GlobalBalancer(Protocol):
    """Keeps load balancers; each of these may be asked again after a failure, and goes on where it ended."""

    async def ensure(self, wish: Wish, *, force: bool, tell: Tell) -> None:
        """Have it as wished; one that is there and differs is changed only with `force`. Raises Refused."""

    async def delete(self, wish: Wish, *, force: bool, tell: Tell) -> None:
        """Take it away; `force` goes on after what cannot be removed. Raises Refused."""

    async def remove_clusters(self, wish: Wish, *, force: bool, tell: Tell) -> None:
        """Take the clusters of the wish out of it; all of them only with `force`. Raises Refused."""

    async def find(self, name: str) -> Standing | None:
        """Return how it stands, None where there is none of that name."""

    async def list(self) -> Sequence[Standing]:
        """Return all of them, in order of name."""


def removal_problem(standing: Standing, leaving: Mapping[str, Client], *, force: bool) -> str:
    """Say why these clusters cannot be taken out of a load balancer, "" where they can."""
    if force or set(standing.clusters) - set(leaving):
        return ""
    return (
        "This will remove the ingress from all clusters. You should use hanse ingress delete to delete the ingress "
        "completely. If you really want to just remove it from existing clusters without deleting it completely, use "
        "--force flag with remove-clusters command"
    )
