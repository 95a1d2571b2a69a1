"""The other clusters as lambda controllers on the federation see them: which there are, and what they have."""

from __future__ import annotations

from collections.abc import Callable

from hanse.api.clusters import Cluster
from hanse.api.placed_children import PLACED_CHILDREN, PlacedChild
from hanse.clusters.roster import Roster
from hanse.composite.placing import Fleet, Sight
from hanse.kube.manifest import Key, Obj, key_of
from hanse.propagation.intent import Ref
from hanse.propagation.planning import UNSEEN
from hanse.propagation.viewing import View


class Elsewhere:
    """Tells of children in other clusters, by what the engine knows of them; one for all controllers."""

    def __init__(self, view: View, registry: Roster) -> None:
        self._view = view
        self._registry = registry
        # None before anybody asked: until then nobody depends on what clusters there are.
        self._clusters: dict[str, object] | None = None
        self._children: list[Callable[[Key], None]] = []
        self._fleets: list[Callable[[], None]] = []
        view.follow(PLACED_CHILDREN, self._child_changed)
        registry.subscribe(self._cluster_changed)

    async def ready(self) -> None:
        """Wait until it is known which clusters there are."""
        await self._registry.wait_synced()
        self._clusters = self._standing()

    @property
    def fleet(self) -> Fleet:
        """The labels of every registered cluster, in order of name."""
        return {cluster.name: cluster.labels for cluster in self._registry.clusters()}

    def follow(self, child: Callable[[Key], None], fleet: Callable[[], None]) -> Callable[[], None]:
        """Call `child` with the key of each PlacedChild of which something is another, and `fleet` when clusters are.

        What is returned ends that.
        """
        self._children.append(child)
        self._fleets.append(fleet)

        def stop() -> None:
            self._children.remove(child)
            self._fleets.remove(fleet)

        return stop

    def _child_changed(self, source: Ref) -> None:
        for listener in self._children:
            listener(source.key)

    def _cluster_changed(self, _name: str) -> None:
        if self._clusters is None:
            return
        before, self._clusters = self._clusters, self._standing()
        for listener in self._fleets if before != self._clusters else ():
            listener()

    def _standing(self) -> dict[str, object]:
        """Return what of clusters children depend on; what they have free, say, is none of that."""
        return {
            cluster.name: (cluster.labels, bool(cluster.refusal), cluster.unschedulable)
            for cluster in self._registry.clusters()
        }

    def taken(self, target: Ref, own: Key) -> str:
        """Say who has an object that is about to be asked for by one's own PlacedChild, "" where nobody else does.

        For the engine two that come within a second are equally old: whoever asks second would take it away.
        """
        speaker = self._view.speaker(target)
        if speaker is None or speaker.ref == Ref(PLACED_CHILDREN, own):
            return ""
        return _spoken_for(target, speaker.ref)

    def sights(self, source: Obj, placed: PlacedChild) -> dict[str, Sight]:
        """Return what is known of a child in each cluster that its PlacedChild names."""
        ref, target = Ref(PLACED_CHILDREN, key_of(source)), Ref(placed.resource, placed.key)
        speaker, standing = self._view.speaker(target), self._view.standing(ref)
        registered = {cluster.name: cluster for cluster in self._registry.clusters()}
        is_ours = speaker is not None and speaker.ref == ref
        observed = self._view.observe(target, speaker) if speaker is not None and is_ours else {}
        problem = standing.problem if standing is not None else ""
        if standing is not None and standing.spoken_by is not None:
            problem = _spoken_for(target, standing.spoken_by)
        found = {}
        for name in placed.clusters:
            cluster = registered.get(name)
            if cluster is None:
                found[name] = Sight(known=True, trouble=f"no cluster {name} is registered: join it, or name another")
                continue
            seen = observed.get(name, UNSEEN)
            lost = (cluster.refusal or ("" if seen.seen else seen.refusal)) if is_ours else ""
            row = standing.rows.get(name) if standing is not None else None
            in_the_way = (row.held or ("" if lost else row.trouble)) if row is not None else ""
            found[name] = Sight(
                copy=seen.copy,
                known=is_ours and seen.seen and not cluster.refusal,
                lost=lost,
                trouble=problem or in_the_way or ("" if seen.copy is not None else _closed(cluster)),
            )
        return found


def _spoken_for(target: Ref, holder: Ref) -> str:
    kind = target.resource.kind
    return f"{holder.resource.kind} {holder.key} speaks for every {kind} {target.key}: name this one otherwise"


def _closed(cluster: Cluster) -> str:
    return "its cluster is cordoned and takes no new work: uncordon it" if cluster.unschedulable else ""
