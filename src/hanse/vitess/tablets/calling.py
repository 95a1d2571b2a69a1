"""How tablets and vtctld are asked, whatever carries the question."""

from __future__ import annotations

from typing import Protocol, TypeVar

from hanse.api.vitess_records.tablet_manager import NOT_REPLICATING, Method
from hanse.api.vitess_records.topology import Tablet
from hanse.api.vitess_records.wire import Message

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)


class CallFailed(Exception):
    """A tablet or vtctld did not answer in time, or refused; in one sentence."""


class NotReplicating(CallFailed):
    """A tablet was asked for its replication, and is nobody's replica."""


class Unanswered(CallFailed):
    """Nobody answered in time: whether what was asked for is done, or is done yet, is not known."""


class TabletCaller(Protocol):
    """Asks tablet managers."""

    async def ask(self, tablet: Tablet, method: Method[Q, A], question: Q, timeout: float) -> A:
        """Return what a tablet answers; raises CallFailed."""


class VtctldCaller(Protocol):
    """Asks a vtctld."""

    async def ask_vtctld(self, address: str, method: Method[Q, A], question: Q, timeout: float) -> A:
        """Return what vtctld answers; raises CallFailed."""


def failure(who: str, method: str, message: str, *, answered: bool = True) -> CallFailed:
    """Return the error for an answer that was none, or for one that was a refusal."""
    kind = NotReplicating if NOT_REPLICATING in message else CallFailed if answered else Unanswered
    return kind(f"{method} of {who}: {message}")
