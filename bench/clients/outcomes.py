"""What the death of a cluster was for the clients of a class: pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.clients.asking import Asker, Try

_CUT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """One class: how many asked how often, what went wrong, and how long the last of them was without service.

    Seconds count from the moment at which the cluster took no more connections. `served_again` is None where a client
    was not served again before the cluster came back; then `after_return` says how long after that it was.
    """

    kind: str
    clients: int
    # How many of them the cluster that died had served last.
    struck: int
    asked: int
    errors: int
    troubled: int
    served_again: float | None
    after_return: float | None
    slowest: float
    reasons: tuple[str, ...]


def outcomes(askers: Iterable[Asker], victim: str, died: float, returned: float) -> list[Outcome]:
    """Return the outcome of every class, in the order in which they began."""
    kinds: dict[str, list[Sequence[Try]]] = {}
    for asker in askers:
        kinds.setdefault(asker.kind, []).append(asker.tries)
    return [outcome(kind, clients, victim, died, returned) for kind, clients in kinds.items()]


def outcome(kind: str, clients: Sequence[Sequence[Try]], victim: str, died: float, returned: float) -> Outcome:
    """Put together what the clients of one class took down."""
    # Connections are cut a moment before new ones are seen to be refused.
    during = [
        [each for each in tries if each.ended > died - _CUT_SECONDS and each.begun < returned] for tries in clients
    ]
    failed = [[each for each in tries if each.why] for tries in during]
    ends = [_served_again(tries, errors[-1]) for tries, errors in zip(clients, failed, strict=True) if errors]
    stuck = any(end is None or end > returned for end in ends)
    return Outcome(
        kind=kind,
        clients=len(clients),
        struck=sum(_served_last_by(tries, died) == victim for tries in clients),
        asked=sum(map(len, during)),
        errors=sum(map(len, failed)),
        troubled=len(ends),
        served_again=None if stuck else max((max(0.0, end - died) for end in ends if end is not None), default=0.0),
        after_return=_after_return(ends, returned) if stuck else None,
        slowest=max((each.ended - each.begun for tries in during for each in tries if not each.why), default=0.0),
        reasons=tuple(sorted({each.why for errors in failed for each in errors})),
    )


def _served_last_by(tries: Sequence[Try], died: float) -> str:
    return next((each.cluster for each in reversed(tries) if each.ended <= died and not each.why), "")


def _served_again(tries: Sequence[Try], last_error: Try) -> float | None:
    return next((each.ended for each in tries if each.begun >= last_error.ended and not each.why), None)


def _after_return(ends: Sequence[float | None], returned: float) -> float | None:
    known = [end for end in ends if end is not None]
    return max(end - returned for end in known) if len(known) == len(ends) else None
