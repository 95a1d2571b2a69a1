"""Where decisions and members meet: what each member shall have, and how it went.

The desk is a working copy and nothing else: it is filled from the host and the members after every start, and an
object that is not on it is simply left alone.
"""

from __future__ import annotations

from collections.abc import Callable

from hanse.propagation.comparison import Kept, Present, Wanted
from hanse.propagation.intent import Ref


class Desk:
    """What every member shall have, by source object."""

    def __init__(self) -> None:
        self._wanted: dict[Ref, dict[str, Wanted]] = {}
        self._troubles: dict[Ref, dict[str, str]] = {}
        self._reasons: dict[Ref, dict[str, str]] = {}
        self._on_wanted: Callable[[str, Ref], None] = lambda _cluster, _ref: None
        self._confirmed: dict[Ref, set[str]] = {}
        self._on_outcome: Callable[[Ref], None] = lambda _ref: None
        self._on_confirmed: Callable[[Ref], None] = lambda _ref: None

    def connect(
        self,
        on_wanted: Callable[[str, Ref], None],
        on_outcome: Callable[[Ref], None],
        on_confirmed: Callable[[Ref], None],
    ) -> None:
        """Say who acts on a wish for a cluster, who hears how it went, and who hears that a copy is surely gone."""
        self._on_wanted = on_wanted
        self._on_outcome = on_outcome
        self._on_confirmed = on_confirmed

    def place(self, ref: Ref, wanted: dict[str, Wanted]) -> None:
        """Say what the clusters shall have of one source object; a cluster that is not named is left alone."""
        before = self._wanted.get(ref, {})
        # A wish that is still the same stays the same value, which members may hold on to.
        kept = {name: _same(before.get(name), wish) for name, wish in wanted.items()}
        self._wanted[ref] = kept
        troubles = self._troubles.get(ref)
        if troubles:
            self._troubles[ref] = {name: text for name, text in troubles.items() if name in wanted}
        for cluster, wish in kept.items():
            if before.get(cluster) is not wish:
                self._confirmed.get(ref, set()).discard(cluster)
                self._on_wanted(cluster, ref)
        for cluster in before.keys() - kept.keys():
            self._on_wanted(cluster, ref)

    def wanted(self, cluster: str, ref: Ref) -> Wanted | None:
        """Return what a cluster shall have; None says nothing about it."""
        return self._wanted.get(ref, {}).get(cluster)

    def all_wanted(self, ref: Ref) -> dict[str, Wanted]:
        """Return what every cluster shall have of one source object."""
        return self._wanted.get(ref, {})

    def knows(self, ref: Ref) -> bool:
        """Tell whether it was said what the clusters shall have of a source object."""
        return ref in self._wanted

    def refs(self) -> list[Ref]:
        """Return every source object on the desk."""
        return list(self._wanted)

    def forget(self, ref: Ref) -> None:
        """Take a source object off the desk."""
        wishes = self._wanted.pop(ref, {})
        self._troubles.pop(ref, None)
        self._reasons.pop(ref, None)
        self._confirmed.pop(ref, None)
        for cluster in wishes:
            self._on_wanted(cluster, ref)

    def confirm(self, cluster: str, ref: Ref) -> None:
        """Say that a cluster was asked and has no copy, or one that is no longer Hanse's."""
        confirmed = self._confirmed.setdefault(ref, set())
        if cluster not in confirmed:
            confirmed.add(cluster)
            self._on_confirmed(ref)

    def confirmed(self, ref: Ref) -> set[str]:
        """Return the clusters that surely have no copy."""
        return self._confirmed.get(ref, set())

    def holds(self, cluster: str, namespace: str) -> bool:
        """Tell whether a cluster shall have anything in a namespace."""
        return any(
            ref.key.namespace == namespace and isinstance(wishes.get(cluster), Present | Kept)
            for ref, wishes in self._wanted.items()
        )

    def trouble(self, cluster: str, ref: Ref) -> str:
        """Return what stands in the way in a cluster, "" where nothing does."""
        return self._troubles.get(ref, {}).get(cluster, "")

    def reason(self, cluster: str, ref: Ref) -> str:
        """Return the trouble in a cluster in one word, "" where there is none."""
        return self._reasons.get(ref, {}).get(cluster, "") if self.trouble(cluster, ref) else ""

    def report(self, cluster: str, ref: Ref, trouble: str, reason: str = "") -> None:
        """Say how it went in a cluster; only news is passed on."""
        if ref not in self._wanted or self.trouble(cluster, ref) == trouble:
            return
        self._troubles.setdefault(ref, {})[cluster] = trouble
        self._reasons.setdefault(ref, {})[cluster] = reason
        self._on_outcome(ref)


def _same(before: Wanted | None, wish: Wanted) -> Wanted:
    return before if before is not None and before == wish else wish
