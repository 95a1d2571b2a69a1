"""For how long a kind in a member could not be followed, as far as that is the member's doing."""

from __future__ import annotations

from dataclasses import dataclass

# A kind of which nothing reliable has been seen for so long is done without.
UNSEEN_SECONDS = 10.0
LOOK_SECONDS = UNSEEN_SECONDS / 8


@dataclass(frozen=True, slots=True)
class Blindness:
    """How long it has lasted, and how many objects lists had brought by then.

    It is counted in looks and not taken from a clock: a process that has too much to do looks late, and must not take
    that for the member's silence.
    """

    seconds: float = 0.0
    listed: int = 0

    @property
    def is_final(self) -> bool:
        """Whether it has lasted so long that one goes on without the member."""
        return self.seconds >= UNSEEN_SECONDS

    def after_another_look(self, listed: int, *, failing: bool) -> Blindness:
        """Return it one look later; a list that grows is slow, unless it is one that was tried before in vain."""
        grows = listed > self.listed and not failing
        return Blindness(0.0 if grows else self.seconds + LOOK_SECONDS, listed)
