"""Who a tablet is: a number that follows from where it stands, and the alias by which Vitess knows it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

UID_DIGITS = 10
_ALIAS = re.compile(rf"(?P<cell>.+)-(?P<uid>[0-9]{{{UID_DIGITS}}})")


@dataclass(frozen=True, slots=True, order=True)
class TabletIdentity:
    """A place for a tablet; whoever changes any of it means another tablet.

    `index` counts from 1. `pool` tells pools of external databases apart and is "" for all others.
    """

    cell: str
    keyspace: str
    shard: str
    type: str
    index: int
    pool: str = ""

    @property
    def uid(self) -> int:
        """The number that topology knows the tablet by."""
        return tablet_uid(self)

    @property
    def alias(self) -> str:
        """The cell and the uid, as Vitess writes them."""
        return tablet_alias(self.cell, self.uid)

    @property
    def uid_text(self) -> str:
        """The uid as it stands in labels and aliases."""
        return uid_text(self.uid)


def tablet_uid(identity: TabletIdentity) -> int:
    """Return the uid of a tablet: the first four bytes of a hash over its place."""
    words = [identity.cell, identity.keyspace, identity.shard, identity.type, str(identity.index)]
    if identity.pool:
        words.append(identity.pool)
    line = " ".join(words) + "\n"
    return int.from_bytes(hashlib.md5(line.encode(), usedforsecurity=False).digest()[:4], "big")


def uid_text(uid: int) -> str:
    """Return a uid with all its ten digits."""
    return f"{uid:0{UID_DIGITS}d}"


def tablet_alias(cell: str, uid: int) -> str:
    """Return a tablet's alias."""
    return f"{cell}-{uid_text(uid)}"


def parse_alias(alias: str) -> tuple[str, int] | None:
    """Read the cell and the uid out of an alias; None where it is none."""
    found = _ALIAS.fullmatch(alias)
    return (found["cell"], int(found["uid"])) if found else None


def duplicate_uids(identities: Iterable[TabletIdentity]) -> dict[int, tuple[TabletIdentity, ...]]:
    """Return the uids that several tablets would have: hashes may collide, and then both would be one to Vitess."""
    found: dict[int, set[TabletIdentity]] = {}
    for identity in identities:
        found.setdefault(identity.uid, set()).add(identity)
    return {uid: tuple(sorted(those)) for uid, those in sorted(found.items()) if len(those) > 1}
