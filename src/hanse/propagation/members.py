"""The members as the engine sees them: one side each, whether it is pushed to or fetches its work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hanse.clusters.member import Member, PullMember
from hanse.kube.resources import Resource
from hanse.propagation.desk import Desk
from hanse.propagation.intent import Ref
from hanse.propagation.member_side import MemberSide
from hanse.propagation.planning import UNSEEN, Observation
from hanse.propagation.pull_side import PullSide
from hanse.propagation.unanswered import Unanswered


class Members:
    """Finds what is known of a target in every member that is served at the moment."""

    def __init__(
        self, desk: Desk, copy_changed: Callable[[Ref], None], view_changed: Callable[[Resource], None]
    ) -> None:
        """`copy_changed` hears of every change of a copy, `view_changed` of kinds that a member shows or lost."""
        self._desk = desk
        self._copy_changed = copy_changed
        self._view_changed = view_changed
        self._kinds: Sequence[Resource] = ()
        self._sides: dict[str, MemberSide | PullSide] = {}
        self._unanswered: dict[str, Unanswered] = {}

    async def serve(self, member: Member | PullMember) -> None:
        """Keep one member as the desk says, until cancelled."""
        side = self._sides[member.name] = self._side(member)
        try:
            await side.run(self._copy_changed, self._view_changed)
        finally:
            if self._sides.get(member.name) is side:
                del self._sides[member.name]

    def _side(self, member: Member | PullMember) -> MemberSide | PullSide:
        if isinstance(member, PullMember):
            return PullSide(member, self._kinds, self._desk)
        unanswered = self._unanswered.setdefault(member.name, Unanswered())
        return MemberSide(member, self._kinds, self._desk, unanswered)

    def follow(self, kinds: Sequence[Resource]) -> None:
        """Follow exactly these kinds in every member from now on."""
        self._kinds = kinds
        for side in self._sides.values():
            side.follow(kinds)

    def observe(self, target: Ref) -> dict[str, Observation]:
        """Return what is known of a target by member."""
        return {name: side.observe(target) for name, side in self._sides.items()}

    def observe_in(self, cluster: str, target: Ref) -> Observation:
        """Return what is known of a target in one member."""
        side = self._sides.get(cluster)
        return side.observe(target) if side is not None else UNSEEN

    def is_busy(self, cluster: str, target: Ref) -> bool:
        """Tell whether a member has yet to act on what the desk says of a target."""
        side = self._sides.get(cluster)
        return side is not None and side.is_busy(target)

    def enqueue(self, cluster: str, target: Ref) -> None:
        """Have a member look at a target soon."""
        if side := self._sides.get(cluster):
            side.enqueue(target)

    def look_at_everything(self, cluster: str) -> None:
        """Have a member look at everything soon: one that is back shall not wait for the pauses of its absence."""
        if side := self._sides.get(cluster):
            side.look_at_everything()
