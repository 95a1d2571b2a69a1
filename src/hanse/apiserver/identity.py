"""Who is asking."""

from __future__ import annotations

from dataclasses import dataclass, field

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user and the groups that they belong to, as authentication established them."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = field(default="", compare=False)

    def all_groups(self) -> tuple[str, ...]:
        """Return the groups, with the one that every authenticated user is in."""
        if self.user == ANONYMOUS.user or AUTHENTICATED in self.groups:
            return self.groups
        return (*self.groups, AUTHENTICATED)

    @property
    def is_master(self) -> bool:
        """Whether no rule limits this identity."""
        return MASTERS in self.groups


ANONYMOUS = Identity("system:anonymous", (UNAUTHENTICATED,))
SERVER = Identity("system:apiserver", (MASTERS,))
