"""Creations of which a member has not said what became of them: what was asked for may be there any moment.

A request that hangs, or whose connection broke, may still be carried out, and no watch tells of it before. Of what must
not run twice nobody else may have one until that is certain.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

from hanse.kube.manifest import Obj
from hanse.propagation.intent import Ref

# So long after its end a request that got no answer may come to pass in a server that can be reached again.
LATE_SECONDS = 15.0
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Asked:
    """What a member was asked to make, and until when it may come late; None while the request is under way."""

    manifest: Obj
    until: float | None = None

    def may_come(self, now: float, *, lost: bool) -> bool:
        """Tell whether it may still be made; in a cluster that is `lost` it may as soon as that is back."""
        return lost or self.until is None or self.until > now


class Unanswered:
    """The creations that one member has left unanswered, those that were sent last."""

    def __init__(self) -> None:
        self._asked: OrderedDict[Ref, Asked] = OrderedDict()
        self._before: dict[Ref, float] = {}

    def sends(self, ref: Ref, manifest: Obj) -> None:
        """Note a creation that is about to be sent."""
        before = self._asked.pop(ref, None)
        if before is not None and before.until is not None:
            self._before[ref] = before.until
        self._asked[ref] = Asked(manifest)
        if len(self._asked) > _REMEMBERED:
            self._before.pop(self._asked.popitem(last=False)[0], None)

    def refused(self, ref: Ref) -> None:
        """Note that the last creation was surely not carried out; an earlier one may still be."""
        asked, until = self._asked.pop(ref, None), self._before.pop(ref, None)
        if asked is not None and until is not None:
            self._asked[ref] = replace(asked, until=until)

    def broke_off(self, ref: Ref, now: float) -> None:
        """Note that a creation ended and nobody said how."""
        self._before.pop(ref, None)
        if (asked := self._asked.pop(ref, None)) is not None:
            self._asked[ref] = replace(asked, until=now + LATE_SECONDS)

    def seen(self, ref: Ref) -> None:
        """Note that what was asked for is there."""
        self._before.pop(ref, None)
        self._asked.pop(ref, None)

    def get(self, ref: Ref) -> Asked | None:
        """Return what a member was asked to make and may make yet."""
        return self._asked.get(ref)
