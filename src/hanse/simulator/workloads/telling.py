"""Events as values: a plan says what is to be told, and its controller tells it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Obj


@dataclass(frozen=True, slots=True)
class Told:
    """One event about an object."""

    reason: str
    message: str
    warning: bool = False


async def tell(recorder: EventRecorder, obj: Obj, events: Iterable[Told]) -> None:
    """Record events about an object, in order."""
    for event in events:
        await recorder.record(obj, event.reason, event.message, warning=event.warning)
