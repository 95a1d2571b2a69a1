"""Which checkers look after a Service: a few of them, chosen so that a change of one moves little."""

from __future__ import annotations

from collections.abc import Iterable

from hanse.kube.manifest import Key
from hanse.placement.hashing import fnv1_32

# As many as an etcd that spans a federation has members: two may be wrong or gone, and more would only cost.
MOST_CHECKERS = 5


def choose_checkers(checkers: Iterable[str], service: Key, most: int = MOST_CHECKERS) -> tuple[str, ...]:
    """Return who probes a Service, in order of name.

    Every checker draws its own lot for every Service, and the highest ones win: whoever comes or goes takes or leaves
    its share, and nobody else's work moves.
    """
    drawn = sorted(checkers, key=lambda checker: (_lot(checker, service), checker), reverse=True)
    return tuple(sorted(drawn[:most]))


def _lot(checker: str, service: Key) -> int:
    # The hash mixes its last bytes badly, so that what differs comes first and is followed by what does not.
    return fnv1_32(f"{checker}/{service}/{checker[::-1]}".encode())
