"""Of which clusters it is certain that they never had a copy of a source, although they cannot be asked.

This process alone writes while it leads. So of a source that came to be while it did, it knows every cluster that was
ever asked to have a copy; of one that was there before, it knows nothing of the kind. A source that is merely seen for
the first time may be such a one: its kind was not followed until now, or it had lost the label by which it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.kube.cache import Change
from hanse.kube.manifest import Obj, finalizers_of, is_deleting, uid_of
from hanse.kube.runtime import parse_timestamp
from hanse.propagation.comparison import Absent, Wanted
from hanse.propagation.intent import Intent, Ref


@dataclass(slots=True)
class _Life:
    uid: str
    clusters: set[str] = field(default_factory=set)


class Offers:
    """Remembers where copies of sources were ever asked for."""

    def __init__(self) -> None:
        self._lives: dict[Ref, _Life] = {}
        self._since: float | None = None

    def leads(self, now: float) -> None:
        """Note that nobody else writes from now on, and that everything is known that was there before."""
        self._since = now

    def changed(self, ref: Ref, change: Change, finalizer: str) -> None:
        """Take in that a source has come or gone; the `finalizer` is what the engine holds sources by."""
        if change.new_bytes is None and ref in self._lives:
            self._leaves(ref, change.old, finalizer)
        elif change.old_bytes is None and not change.listed and (source := change.new) is not None:
            self._comes(ref, source)

    def _comes(self, ref: Ref, source: Obj) -> None:
        known, uid = self._lives.get(ref), uid_of(source)
        if known is not None and known.uid == uid:
            # It was out of sight. What it was asked for is not forgotten by that.
            return
        self._lives.pop(ref, None)
        if self._since is not None and _created(source) > self._since:
            self._lives[ref] = _Life(uid)

    def _leaves(self, ref: Ref, last: Obj | None, finalizer: str) -> None:
        # What is held and was not being deleted is still there, without the label by which it is followed.
        if last is None or is_deleting(last) or finalizer not in finalizers_of(last):
            self.forget(ref)

    def note(self, ref: Ref, intent: Intent, wanted: Mapping[str, Wanted]) -> None:
        """Note what clusters are about to be asked for, before they are; only of what must not run twice."""
        if not intent.runs_once:
            self.forget(ref)
        elif (known := self._lives.get(ref)) is not None:
            known.clusters.update(name for name, wish in wanted.items() if not isinstance(wish, Absent))

    def never(self, ref: Ref, uid: str, cluster: str) -> bool:
        """Tell whether a cluster surely never had a copy of that very source."""
        known = self._lives.get(ref)
        return known is not None and known.uid == uid and cluster not in known.clusters

    def forget(self, ref: Ref) -> None:
        """Forget a source that is gone."""
        self._lives.pop(ref, None)


def _created(source: Obj) -> float:
    """Return when a source was made, in whole seconds; before all time where it does not say."""
    told = source["metadata"].get("creationTimestamp")
    return parse_timestamp(told) if told else 0.0
