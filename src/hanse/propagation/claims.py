"""Which source speaks for an object that several of them want in the members.

A plain Namespace and a FederatedNamespace of the same name both mean the members' Namespace. One of them is its holder,
the others wait and say so; when the holder goes, the next one takes its copies over as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from hanse.api.names import FINALIZER
from hanse.kube.manifest import Obj, finalizers_of, is_deleting, uid_of
from hanse.kube.resources import Resource
from hanse.propagation.door import NO_KIN, Door, Kin
from hanse.propagation.intent import Ref


@dataclass(frozen=True, slots=True)
class Claim:
    """That a source has to do with a target: since when, whether before those that came first, and whether it goes.

    One that is `resting` keeps what it has, and takes nothing more. Among its `kin` the one of the highest rank speaks.
    """

    uid: str
    since: str
    supersedes: bool = False
    going: bool = False
    resting: bool = False
    kin: Kin = NO_KIN


def claim_of(door: Door, source: Obj, finalizer: str = FINALIZER) -> Claim | None:
    """Return what a source has to do with its target; None for one that is not federated and never was."""
    admitted = door.admits(source)
    if not admitted and finalizer not in finalizers_of(source):
        return None
    going = is_deleting(source) or door.lets_go(source)
    return Claim(
        uid_of(source),
        source["metadata"].get("creationTimestamp", ""),
        supersedes=door.supersedes(source),
        going=going,
        resting=not admitted and not going,
        kin=door.kin(source),
    )


class Claims:
    """The sources of each target."""

    def __init__(self) -> None:
        self._claims: dict[Ref, dict[Ref, Claim]] = {}
        self._targets: dict[Ref, Ref] = {}

    def stake(self, source: Ref, target: Ref, claim: Claim) -> bool:
        """Note what a source has to do with a target; says whether that is news to the others.

        It is where another one speaks for the target now, or where a copy may be marked as a source's that it knew
        nothing of. A source that had to do with another target has to be dropped first.
        """
        claims = self._claims.setdefault(target, {})
        before, known = self.holder(target), claims.get(source)
        self._targets[source] = target
        claims[source] = claim
        return self.holder(target) != before or known is None or known.uid != claim.uid

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

    def target(self, source: Ref) -> Ref | None:
        """Return what a source has to do with."""
        return self._targets.get(source)

    def is_of(self, source: Ref, kind: Resource) -> bool:
        """Tell whether a source has to do with an object of a kind."""
        target = self._targets.get(source)
        return target is not None and target.resource == kind

    def of(self, target: Ref) -> list[Ref]:
        """Return every source of a target."""
        return list(self._claims.get(target, ()))

    def holder(self, target: Ref) -> Ref | None:
        """Return the source that speaks for a target: a living one, then one that supersedes, then the oldest.

        Of a family the oldest counts for all, and the one of the highest rank speaks.
        """
        claims = self._claims.get(target)
        if not claims:
            return None
        if len(claims) == 1:
            return next(iter(claims))

        since = {claim.kin.family: claim.since for claim in sorted(claims.values(), key=_age, reverse=True)}

        def rank(source: Ref) -> tuple[bool, bool, str, int, str, str]:
            claim = claims[source]
            begun = since[claim.kin.family] if claim.kin.family else claim.since
            return claim.going, not claim.supersedes, begun, -claim.kin.rank, claim.since, str(source)

        return min(claims, key=rank)

    def heir(self, source: Ref, target: Ref) -> Ref | None:
        """Return the source to which one that goes leaves its copies; None where it has to see to them itself."""
        holder = self.holder(target)
        if holder is None or holder == source or self._claims[target][holder].resting:
            return None
        return holder

    def claim(self, source: Ref) -> Claim | None:
        """Return what was noted of a source."""
        target = self._targets.get(source)
        return self._claims[target][source] if target is not None else None

    def family(self, source: Ref) -> list[Ref]:
        """Return the other sources of its target that are of a source's family."""
        target = self._targets.get(source)
        claims = self._claims[target] if target is not None else {}
        family = claims[source].kin.family if source in claims else ""
        return [other for other, claim in claims.items() if family and other != source and claim.kin.family == family]

    def rivals(self, source: Ref) -> tuple[str, ...]:
        """Return the uids of the other sources of its target: their copies become the holder's."""
        target = self._targets.get(source)
        claims = self._claims[target] if target is not None else {}
        return tuple(claim.uid for other, claim in claims.items() if other != source) if len(claims) > 1 else ()


def _age(claim: Claim) -> str:
    return claim.since
