"""The registered clusters that are connected at this moment, for those who come to know of them later than they did.

The registry runs what was attached to it before it began. Sources come and go while it runs: they find here what it is
connected to, and hear when that changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.clusters.member import Member, PullMember
from hanse.pods.chaperons.makers import MakerClient, Makers


class Board:
    """Knows the live member of every registered cluster; attach `serve` to the registry, once."""

    def __init__(self, makers: Makers) -> None:
        """`makers` are those who make the pods of the chaperons that are created by way of this board."""
        self._makers = makers
        self._members: dict[str, Member | PullMember] = {}
        self._listeners: list[Callable[[str], None]] = []

    async def serve(self, member: Member | PullMember) -> None:
        """Show a member for as long as the registry has it."""
        if isinstance(member, Member):
            client = MakerClient(member.client, self._makers, member.name)
            member = Member(member.name, client, member.namespace)
        self._members[member.name] = member
        self._tell(member.name)
        try:
            await asyncio.Event().wait()
        finally:
            if self._members.get(member.name) is member:
                del self._members[member.name]
                self._tell(member.name)

    def member(self, cluster: str) -> Member | PullMember | None:
        """Return the member of a registered cluster, None where it is not connected."""
        return self._members.get(cluster)

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call `listener` with the name of every cluster that comes or goes; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _tell(self, cluster: str) -> None:
        for listener in list(self._listeners):
            listener(cluster)
