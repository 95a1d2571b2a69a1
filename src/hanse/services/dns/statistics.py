"""What a server has done so far, in numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from hanse.services.dns.types import Rcode


@dataclass(slots=True)
class Statistics:
    """Counts since the start of a server."""

    questions: int = 0
    # Answers by their code.
    answers: dict[Rcode, int] = field(default_factory=lambda: dict.fromkeys(Rcode, 0))
    truncated: int = 0
    # Answers that were not sent, or sent empty, since their network had too many.
    limited: int = 0
    transfers: int = 0
    connections: int = 0
    # Connections that were closed at once since there were too many.
    turned_away: int = 0
