"""Who is asking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MASTERS = "system:masters"
NODES = "system:nodes"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
SERVICE_ACCOUNTS = "system:serviceaccounts"
_SERVICE_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user and the groups that they belong to, as authentication established them."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = field(default="", compare=False)
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    def all_groups(self) -> tuple[str, ...]:
        """Return the groups, with the one that every authenticated user is in."""
        if self.user == ANONYMOUS.user or AUTHENTICATED in self.groups or UNAUTHENTICATED in self.groups:
            return self.groups
        return (*self.groups, AUTHENTICATED)

    @property
    def is_master(self) -> bool:
        """Whether no rule limits this identity."""
        return MASTERS in self.groups


ANONYMOUS = Identity("system:anonymous", (UNAUTHENTICATED,))
SERVER = Identity("system:apiserver", (MASTERS,))


def service_account_user(namespace: str, name: str) -> str:
    """Return the user name of a service account."""
    return f"{_SERVICE_ACCOUNT}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    """Return the groups that every service account of a namespace is in."""
    return (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}")


def split_service_account(user: str) -> tuple[str, str] | None:
    """Return the namespace and name in a service account's user name; None for any other user."""
    namespace, colon, name = user.removeprefix(_SERVICE_ACCOUNT).partition(":")
    if not user.startswith(_SERVICE_ACCOUNT) or not colon or not namespace or not name or ":" in name:
        return None
    return namespace, name
