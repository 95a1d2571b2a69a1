"""How far one change may reach before a person is asked: pure arithmetic over what would leave where.

What counts is an object that would leave a cluster because nobody wants it there any more: a selector, a policy or a
label has changed. Deleting an object by its name, losing a cluster, draining one by a taint and going back to an
earlier group are not such changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from hanse.kube.manifest import Obj, dig
from hanse.propagation.intent import Ref

_EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class BlastTerms:
    """What one change may take away unasked: fewer objects than `least`, or no more than this share of all."""

    least: int = 20
    share: float = 0.5


@dataclass(frozen=True, slots=True)
class Change:
    """What would be taken away: so many objects of so many, from which clusters, and the first of them by name."""

    objects: int
    of: int
    clusters: tuple[tuple[str, int], ...]
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = ", ".join(f"{name} ({count})" for name, count in self.clusters)
        return f"{self.objects} of {self.of} objects would leave clusters that have them: {where}"


def too_far(leaving: Mapping[Ref, frozenset[str]], of: int, terms: BlastTerms) -> Change | None:
    """Return the change if it reaches too far to be made unasked, None where it does not."""
    if len(leaving) < terms.least or len(leaving) <= of * terms.share:
        return None
    counts = Counter(name for names in leaving.values() for name in names)
    examples = sorted(map(str, leaving))[:_EXAMPLES]
    return Change(len(leaving), of, tuple(sorted(counts.items())), tuple(examples))


def is_approved(change: Change, held: Obj | None) -> bool:
    """Tell whether what a person approved covers the change: no more objects, from no other clusters."""
    if held is None or dig(held, "spec", "approved", default=False) is not True:
        return False
    approved = {str(entry.get("name")) for entry in dig(held, "spec", "clusters", default=[])}
    within: bool = change.objects <= dig(held, "spec", "objects", default=0)
    return within and {name for name, _ in change.clusters} <= approved


def held_sentence(door: str) -> str:
    """Say of an object that it may not leave a cluster for now."""
    return (
        "it would leave a cluster in a change that takes away too much to be made unasked; "
        f"`hanse approve` shows the change and `hanse approve {door}` lets it go on"
    )


def change_spec(change: Change) -> Obj:
    """Write a change into the spec of a HeldChange that nobody has approved yet."""
    return {
        "objects": change.objects,
        "of": change.of,
        "clusters": [{"name": name, "objects": count} for name, count in change.clusters],
        "examples": list(change.examples),
        "approved": False,
    }
