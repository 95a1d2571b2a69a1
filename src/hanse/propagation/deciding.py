"""Plans for the engine: of an object and its copies, with what is known beyond them.

That is what others were promised, how many replicas clusters have turned out to hold, where a copy can never have
been, and whether so much may leave clusters at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hanse.clusters.roster import Roster
from hanse.kube.manifest import Obj, uid_of
from hanse.kube.runtime import Runtime
from hanse.propagation.candidates import ClusterIndex
from hanse.propagation.guard import Guard
from hanse.propagation.intent import Intent, Ref
from hanse.propagation.offers import Offers
from hanse.propagation.planning import Observation, Planned, plan
from hanse.propagation.promises import Promises
from hanse.propagation.turns import remembered
from hanse.propagation.waiting_pods import WaitingPods


class Decider:
    """Decides what each cluster shall have next of an object."""

    def __init__(self, registry: Roster, waiting: WaitingPods, runtime: Runtime) -> None:
        self.offers = Offers()
        self._registry = registry
        self._waiting = waiting
        self._runtime = runtime
        self._index = ClusterIndex()
        self._promises = Promises()

    def plan(self, ref: Ref, source: Obj, intent: Intent, observed: Mapping[str, Observation], guard: Guard) -> Planned:
        """Plan, and plan again without any move where the guard does not let the object leave a cluster."""
        clusters, now, memory = self._registry.clusters(), self._runtime.now(), remembered(source)
        uid = uid_of(source)
        observed = {
            name: each if each.seen or not self.offers.never(ref, uid, name) else replace(each, empty=True)
            for name, each in observed.items()
        }
        requests = intent.placement.requests
        promised = self._promises.to_others(ref, clusters) if requests is not None else {}
        planned = plan(
            intent,
            clusters,
            observed,
            now=now,
            index=self._index,
            memory=memory,
            promised=promised,
            estimated=self._waiting.estimates(ref, intent, observed),
        )
        if requests is not None:
            had = {name: intent.scale.asked(each.copy) for name, each in observed.items() if each.copy is not None}
            self._promises.note(ref, requests, had, planned.decision.replicas)
        if guard.judge(ref, planned.leaving) or not planned.leaving:
            return planned
        held = plan(intent, clusters, observed, now=now, index=self._index, memory=memory, hold=True)
        notes = (guard.sentence, *held.decision.notes) if guard.sentence else held.decision.notes
        return replace(held, decision=replace(held.decision, notes=notes))

    def rest(self, ref: Ref) -> None:
        """Forget what is only known of sources that are looked after."""
        self._promises.forget(ref)
        self._waiting.forget(ref)
