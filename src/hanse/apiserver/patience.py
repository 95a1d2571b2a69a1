"""How long a server waits for its clients: for a request, for a body, and for somebody to read an answer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds until a connection is given up: idle or within a header, within a body, with unread bytes."""

    header_seconds: float = 75.0
    body_seconds: float = 60.0
    unread_seconds: float = 60.0


PATIENT = Patience()


@dataclass(frozen=True, slots=True)
class Unread:
    """Bytes that wait for a client, and since when it has taken none of them."""

    size: int
    since: float


def look_at(before: Mapping[K, Unread], sizes: Mapping[K, int], now: float) -> dict[K, Unread]:
    """Return what waits for each client now; one for which less waits than before has been reading."""
    waiting: dict[K, Unread] = {}
    for key, size in sizes.items():
        last = before.get(key)
        if size:
            waiting[key] = Unread(size, now if last is None or size < last.size else last.since)
    return waiting
