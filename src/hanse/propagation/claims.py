"""Which source speaks for an object that several of them want in the members.

A plain Namespace and a FederatedNamespace of the same name both mean the members' Namespace. One of them is its holder,
the others wait and say so; when the holder goes, the next one takes its copies over as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from hanse.propagation.intent import Ref


@dataclass(frozen=True, slots=True)
class Claim:
    """That a source has to do with a target: since when, whether before those that came first, and whether it goes."""

    uid: str
    since: str
    supersedes: bool = False
    going: bool = False


class Claims:
    """The sources of each target."""

    def __init__(self) -> None:
        self._claims: dict[Ref, dict[Ref, Claim]] = {}
        self._targets: dict[Ref, Ref] = {}

    def stake(self, source: Ref, target: Ref, claim: Claim) -> bool:
        """Note what a source has to do with a target; says whether that changes who speaks for it."""
        if self._targets.get(source) not in (None, target):
            self.drop(source)
        before = self.holder(target)
        self._targets[source] = target
        self._claims.setdefault(target, {})[source] = claim
        return self.holder(target) != before

    def drop(self, source: Ref) -> Ref | None:
        """Note that a source has to do with nothing any more; returns what it had to do with."""
        target = self._targets.pop(source, None)
        if target is not None:
            claims = self._claims[target]
            del claims[source]
            if not claims:
                del self._claims[target]
        return target

    def sources(self) -> list[Ref]:
        """Return every source."""
        return list(self._targets)

    def of(self, target: Ref) -> list[Ref]:
        """Return every source of a target."""
        return list(self._claims.get(target, ()))

    def holder(self, target: Ref) -> Ref | None:
        """Return the source that speaks for a target: a living one, then one that supersedes, then the oldest."""
        claims = self._claims.get(target)
        if not claims:
            return None
        if len(claims) == 1:
            return next(iter(claims))

        def rank(source: Ref) -> tuple[bool, bool, str, str]:
            claim = claims[source]
            return claim.going, not claim.supersedes, claim.since, str(source)

        return min(claims, key=rank)

    def claim(self, source: Ref) -> Claim | None:
        """Return what was noted of a source."""
        target = self._targets.get(source)
        return self._claims[target][source] if target is not None else None

    def rivals(self, source: Ref) -> tuple[str, ...]:
        """Return the uids of the other sources of its target: their copies become the holder's."""
        target = self._targets.get(source)
        claims = self._claims[target] if target is not None else {}
        return tuple(claim.uid for other, claim in claims.items() if other != source) if len(claims) > 1 else ()
