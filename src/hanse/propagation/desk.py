"""Where decisions and members meet: what each member shall have, and how it went.

The desk is a working copy and nothing else: it is filled from the host and the members after every start, and an
object that is not on it is simply left alone.
"""

from __future__ import annotations

from collections.abc import Callable

from hanse.propagation.comparison import Kept, Present, Wanted
from hanse.propagation.intent import Ref


class Desk:
    """What every member shall have of each object."""

    def __init__(self, unspoken: Callable[[str, str], bool] = lambda _cluster, _namespace: False) -> None:
        """`unspoken` tells whether a cluster may have in a namespace what has yet to be put on the desk."""
        self._unspoken = unspoken
        self._wanted: dict[Ref, dict[str, Wanted]] = {}
        self._within: dict[str, set[Ref]] = {}
        self._troubles: dict[Ref, dict[str, str]] = {}
        self._reasons: dict[Ref, dict[str, str]] = {}
        self._on_wanted: Callable[[str, Ref], None] = lambda _cluster, _ref: None
        # By cluster the uid of the source of which it surely has no copy.
        self._confirmed: dict[Ref, dict[str, str]] = {}
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

    def place(self, ref: Ref, wanted: dict[str, Wanted]) -> bool:
        """Say what the clusters shall have of one object; a cluster that is not named is left alone.

        Returns whether that is anything new.
        """
        before = self._wanted.get(ref, {})
        # A wish that is still the same stays the same value, which members may hold on to.
        kept = {name: _same(before.get(name), wish) for name, wish in wanted.items()}
        self._wanted[ref] = kept
        self._within.setdefault(ref.key.namespace, set()).add(ref)
        troubles = self._troubles.get(ref)
        if troubles:
            self._troubles[ref] = {name: text for name, text in troubles.items() if name in wanted}
        fresh = [cluster for cluster, wish in kept.items() if before.get(cluster) is not wish]
        for cluster in fresh:
            self._confirmed.get(ref, {}).pop(cluster, None)
            self._on_wanted(cluster, ref)
        dropped = before.keys() - kept.keys()
        for cluster in dropped:
            self._on_wanted(cluster, ref)
        return bool(fresh or dropped)

    def wanted(self, cluster: str, ref: Ref) -> Wanted | None:
        """Return what a cluster shall have; None says nothing about it."""
        return self._wanted.get(ref, {}).get(cluster)

    def all_wanted(self, ref: Ref) -> dict[str, Wanted]:
        """Return what every cluster shall have of one object."""
        return self._wanted.get(ref, {})

    def knows(self, ref: Ref) -> bool:
        """Tell whether it was said what the clusters shall have of an object."""
        return ref in self._wanted

    def author(self, ref: Ref) -> str:
        """Return the uid of the source whose wishes are on the desk, "" where there is none."""
        return next((wish.source_uid for wish in self._wanted.get(ref, {}).values()), "")

    def refs(self) -> list[Ref]:
        """Return every object on the desk."""
        return list(self._wanted)

    def forget(self, ref: Ref) -> None:
        """Take an object off the desk."""
        wishes = self._wanted.pop(ref, {})
        if (within := self._within.get(ref.key.namespace)) is not None:
            within.discard(ref)
            if not within:
                del self._within[ref.key.namespace]
        self._troubles.pop(ref, None)
        self._reasons.pop(ref, None)
        self._confirmed.pop(ref, None)
        for cluster in wishes:
            self._on_wanted(cluster, ref)

    def confirm(self, cluster: str, ref: Ref, wish: Wanted) -> None:
        """Say that a cluster was asked and has no copy, or one that is no longer Hanse's.

        What was found out for a wish that counts no longer is let go: by now a copy may have been made.
        """
        if self.wanted(cluster, ref) is not wish:
            return
        confirmed = self._confirmed.setdefault(ref, {})
        if confirmed.get(cluster) != wish.source_uid:
            confirmed[cluster] = wish.source_uid
            self._on_confirmed(ref)

    def confirmed(self, ref: Ref, source_uid: str) -> set[str]:
        """Return the clusters that surely have no copy of that source."""
        return {name for name, uid in self._confirmed.get(ref, {}).items() if uid == source_uid}

    def holds(self, cluster: str, namespace: str) -> bool:
        """Tell whether a cluster shall have anything in a namespace, or may have what nobody has decided on yet."""
        wanted = (self.wanted(cluster, ref) for ref in self._within.get(namespace, ()))
        return any(isinstance(wish, Present | Kept) for wish in wanted) or self._unspoken(cluster, namespace)

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
