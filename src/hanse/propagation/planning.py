"""From an intent and the world to what each member shall have: pure, and the same for a rehearsal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hanse.api.clusters import Cluster
from hanse.kube.manifest import Obj
from hanse.kube.patches.json_patch import JsonPatchError
from hanse.kube.resources import NAMESPACES
from hanse.kube.runtime import parse_timestamp
from hanse.placement.ask import State
from hanse.placement.candidate import Amounts
from hanse.placement.decision import Decision, Verdict, decide
from hanse.placement.fleet import Fleet
from hanse.placement.planner import Preferences
from hanse.placement.sparing import with_spares
from hanse.placement.transition import Holding, may_leave, next_replicas, next_replicas_at_most
from hanse.propagation.candidates import ClusterIndex, candidate_of
from hanse.propagation.comparison import Absent, Kept, Present, Released, Wanted
from hanse.propagation.intent import Intent
from hanse.propagation.parts import Parted, Scene, part
from hanse.propagation.removal import DELETED, Removal
from hanse.propagation.rendering import owned_by, owns, render
from hanse.propagation.scale import Path
from hanse.propagation.turns import Remembered, in_turn
from hanse.propagation.unanswered import Asked
from hanse.propagation.waves import Wave
from hanse.propagation.wellness import has_entrance


@dataclass(frozen=True, slots=True)
class Observation:
    """What is known of a source's copy in one cluster.

    `seen` is False while what the cluster has cannot be relied on: it has not told everything yet, or no changes arrive
    from it. `refusal` says why that has lasted so long that one goes on without it, and `unseen_for` how long that is;
    where the cluster is `unserved` with the kind, or nothing in the object's namespace is ours there, it can have no
    copy, and one that is `empty` never had any. What it was `asked` to make and has left unanswered may be there any
    moment.
    """

    seen: bool
    copy: Obj | None = None
    refusal: str = ""
    unseen_for: float | None = None
    unserved: bool = False
    empty: bool = False
    asked: Asked | None = None


UNSEEN = Observation(seen=False)
# A cluster that joins is probed at once; one of which nothing was heard for so long is done without.
_FIRST_WORD_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Planned:
    """A decision and what follows from it now.

    `leaving` are the clusters that shall lose their copy because nobody wants it there any more, None while a cluster
    has yet to tell what it has. `wave` says how far a changed template has spread. `spoiled` are the clusters whose
    overrides do not apply, each with the sentence that says why. What is `final` is where the decision leads in the
    end: what the members make of it changes nothing. `held` are the clusters that get no copy yet, and why.
    """

    decision: Decision
    wanted: dict[str, Wanted]
    leaving: frozenset[str] | None = frozenset()
    wave: Wave = field(default_factory=Wave)
    spoiled: Mapping[str, str] = field(default_factory=dict)
    final: bool = False
    held: Mapping[str, str] = field(default_factory=dict)


def plan(
    intent: Intent,
    clusters: Sequence[Cluster],
    observed: Mapping[str, Observation],
    *,
    now: float = 0.0,
    index: ClusterIndex | None = None,
    hold: bool = False,
    memory: Remembered | None = None,
    promised: Mapping[str, Amounts] | None = None,
    estimated: Mapping[str, int] | None = None,
) -> Planned:
    """Decide where the object goes and what each cluster shall have next on the way there.

    `index` is what somebody who plans often keeps between two plans. With `hold` nothing goes to another cluster,
    though what is there is kept up to date. `memory` is what the source keeps of its rollout, `promised` what
    of each cluster's free room others will take, `estimated` how many replicas clusters have turned out to hold.
    """
    refusals = refusals_of(clusters, observed)
    unjudged = [moment for cluster in clusters if (moment := _judged_by(cluster)) is not None and moment > now]
    blind = bool(unjudged) or any(
        not refusals[cluster.name] and not observed.get(cluster.name, UNSEEN).seen for cluster in clusters
    )
    copies = _copies(intent, observed, refusals)
    state = State(
        current={name: _held(intent, copy) for name, copy in copies.items()},
        refusals={name: why for name, why in refusals.items() if why},
        refused_since={name: now - each.unseen_for for name, each in observed.items() if each.unseen_for is not None},
        now=now,
        asked=_asked(intent, copies),
        promised=promised or {},
        estimated=estimated or {},
    )
    fleet = index.of(clusters) if index is not None else Fleet(map(candidate_of, clusters))
    decision = _decide(intent, fleet, state)
    chosen = decision.chosen()
    # Whatever a cluster holds that cannot be counted on is left alone.
    uncounted = {verdict.cluster for verdict in decision.verdicts if verdict.keep}
    lost = [each for each in clusters if each.name in uncounted or refusals[each.name]]
    elsewhere = sum(intent.scale.asked(copy) for each in lost if (copy := _own(intent, observed.get(each.name))))
    asked = _coming(intent, observed, refusals, now)
    coming = [each for name, each in asked.items() if name not in chosen]
    elsewhere += sum(intent.scale.asked(each.manifest) for each in coming)
    untold = tuple(each.name for each in lost if _is_untold(intent, each, observed))
    copies = {name: copy for name, copy in copies.items() if name not in uncounted}
    silent = tuple(cluster.name for cluster in clusters if not observed.get(cluster.name, UNSEEN).seen)
    scene = Scene(
        fleet,
        intent.placement,
        decision,
        state,
        copies,
        silent,
        blind,
        str(intent.key),
        {name: copy for name in uncounted if (copy := _own(intent, observed.get(name)))},
        untold,
    )
    # Where no cluster is wanted any more, what runs stays: only somebody's word takes the last copy.
    hold = hold or (not chosen and not intent.nowhere)
    step = _Step(
        intent,
        scene,
        counts=_replicas_now(
            intent, decision, copies, elsewhere, steady=blind or hold, blind=blind, untold=bool(untold)
        ),
        parted=part(intent.parts, _with_coming(scene, asked)) if intent.parts is not None else None,
        patches=_patches(intent, fleet),
        refused=_refused(intent, fleet),
        stays=_staying(intent, chosen, copies, observed),
        hold=hold,
        inherited=_inherited(intent, observed, refusals),
        held=intent.one_address.held_back(clusters, chosen) if intent.one_address is not None else {},
    )
    planned = step.planned(None if blind else _leaving(intent, decision, copies))
    planned = replace(planned, final=not uncounted and step.is_last())
    if moments := [*unjudged, *(each.until for each in coming if each.until is not None and each.until > now)]:
        until = planned.decision.until
        planned = replace(planned, decision=replace(planned.decision, until=min([*moments, until or moments[0]])))
    if intent.placement.rollout is None:
        return planned
    unseen = [name for name in chosen if name in silent]
    vacant = [name for name in chosen if _is_vacant(observed.get(name, UNSEEN))]
    return _in_turn(
        intent, planned, fleet, copies, unseen=unseen, vacant=vacant, memory=memory or Remembered(), now=now
    )


def _judged_by(cluster: Cluster) -> float | None:
    """Return until when one waits for the first word on a cluster's health; None where there was one.

    A federation that begins with clusters full of work hears of them one by one, and must not move what the ones have
    not told of yet to those that have.
    """
    if cluster.ready or cluster.offline or cluster.refused_since or not cluster.created:
        return None
    return parse_timestamp(cluster.created) + _FIRST_WORD_SECONDS


def _is_vacant(observation: Observation) -> bool:
    """Tell whether a cluster has nothing of the name and can get a copy: what is in its way may be so for ever."""
    return observation.seen and observation.copy is None and not observation.unserved


def _is_untold(intent: Intent, cluster: Cluster, observed: Mapping[str, Observation]) -> bool:
    """Tell whether nobody knows what a lost cluster holds of what must not run twice.

    A control plane that starts while a cluster is lost has never seen what it holds. It holds nothing of what was
    created after it was lost; one that is ready, and only cannot be read, does not say since when.
    """
    seen = observed.get(cluster.name, UNSEEN)
    known = seen.seen or seen.unserved or seen.empty or seen.copy is not None
    if not intent.runs_once or known:
        return False
    return cluster.ready or not (cluster.refused_since and intent.created > cluster.refused_since)


def _coming(
    intent: Intent, observed: Mapping[str, Observation], lost: Mapping[str, str], now: float
) -> dict[str, Asked]:
    """Return what clusters were asked to make of what must not run twice, and may make yet."""
    asked = {name: each.asked for name, each in observed.items() if each.asked is not None and each.copy is None}
    return {
        name: each
        for name, each in (asked.items() if intent.runs_once else ())
        if each.may_come(now, lost=bool(lost.get(name))) and owns(intent, each.manifest)
    }


def _with_coming(scene: Scene, asked: Mapping[str, Asked]) -> Scene:
    """Return a scene in which what clusters may make yet is there: what it would do is given to nobody else."""
    chosen = set(scene.decision.chosen())
    copies = {name: each.manifest for name, each in asked.items() if name in chosen}
    uncounted = {name: each.manifest for name, each in asked.items() if name not in chosen}
    return replace(scene, copies={**copies, **scene.copies}, uncounted={**uncounted, **scene.uncounted})


def _own(intent: Intent, observation: Observation | None) -> Obj | None:
    copy = observation.copy if observation is not None else None
    return copy if copy is not None and owns(intent, copy) else None


def _copies(intent: Intent, observed: Mapping[str, Observation], refusals: Mapping[str, str]) -> dict[str, Obj]:
    """Return the copies of clusters that can be relied on."""
    return {
        name: observation.copy
        for name, observation in observed.items()
        if observation.seen
        and observation.copy is not None
        and owns(intent, observation.copy)
        and not refusals.get(name)
    }


def _inherited(intent: Intent, observed: Mapping[str, Observation], refusals: Mapping[str, str]) -> set[str]:
    """Return the clusters that can be asked and have a copy of a source from which this one inherits."""
    return {
        name
        for name, observation in (observed.items() if intent.inherits else ())
        if observation.seen
        and observation.copy is not None
        and not refusals.get(name)
        and owned_by(observation.copy, "", intent.inherits)
    }


@dataclass(frozen=True, slots=True)
class _Step:
    """What may be done next: how many replicas for whom, who keeps a copy for now, and whether nothing moves at all."""

    intent: Intent
    scene: Scene
    counts: Mapping[str, int]
    parted: Parted | None
    patches: Mapping[str, Sequence[Obj]]
    refused: Mapping[str, str]
    stays: Collection[str]
    hold: bool
    inherited: Collection[str] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    plain: dict[int | None, Obj] = field(default_factory=dict)

    def planned(self, leaving: frozenset[str] | None) -> Planned:
        decision = self.scene.decision
        notes = [*decision.notes, *(self.parted.notes if self.parted is not None else ())]
        wanted: dict[str, Wanted] = {}
        spoiled: dict[str, str] = {}
        for verdict in decision.verdicts:
            try:
                wish = self._wish(verdict)
            except JsonPatchError as error:
                # What it has stays; the others get theirs.
                notes.append(f"the overrides for {verdict.cluster} do not apply: {error}")
                spoiled[verdict.cluster] = str(error)
                wish = None
            if wish is None and verdict.cluster in self.inherited:
                # Whatever becomes of it later: the source that it comes from shall not have to wait for that.
                wish = Kept(self.intent.source_uid, inherits=self.intent.inherits)
            if wish is not None:
                wanted[verdict.cluster] = wish
            elif verdict.chosen and verdict.cluster in self.held:
                notes.append(f"{verdict.cluster}: {self.held[verdict.cluster]}")
        moments = [each.until for each in (decision, self.parted) if each is not None and each.until is not None]
        decision = replace(decision, notes=tuple(notes), until=min(moments, default=None))
        return Planned(decision, wanted, leaving, spoiled=spoiled, held=self.held)

    def is_last(self) -> bool:
        """Tell whether this step leads to all that was decided, with nothing to be seen or to be left on the way."""
        scene, decision = self.scene, self.scene.decision
        if scene.blind or scene.silent or self.hold or self.held or self.parted is not None:
            return False
        if decision.until is not None or decision.overflow or self.intent.placement.rollout is not None:
            return False
        if scene.copies.keys() - set(decision.chosen()):
            return False
        return all(self.counts.get(each.cluster) == each.replicas for each in decision.verdicts if each.chosen)

    def _wish(self, verdict: Verdict) -> Wanted | None:
        """Return what a cluster shall have next, None to leave it alone."""
        name, copies, uid = verdict.cluster, self.scene.copies, self.intent.source_uid
        inherits = self.intent.inherits
        if (self.intent.replicas is not None or self.parted is not None) and name in self.scene.silent:
            # How many it shall have next depends on how many it has, which it has yet to tell.
            return None
        if name not in copies and (self.hold or not verdict.chosen or name in self.held):
            return None
        if not verdict.chosen and self.scene.blind:
            return None
        if not verdict.chosen and (self.hold or name in self.stays):
            return Kept(uid, inherits=inherits)
        if self.parted is not None and name not in self.parted.fields:
            if name not in copies:
                return None
            return (
                Kept(uid, inherits=inherits)
                if self.scene.blind or self.hold
                else Absent(uid, inherits, self.intent.removal)
            )
        if self.intent.settled and verdict.chosen:
            return Kept(uid, inherits=inherits)
        count = self.counts.get(name)
        if count == 0 and not self.intent.scale.replicas:
            # None of what is one by being there is to be there.
            return Absent(uid, inherits, self.intent.removal) if name in copies else None
        if not verdict.chosen and not count:
            # Leaving: it drains as the others get ready, and goes when nothing is left in it.
            return Absent(uid, inherits, self.intent.removal)
        return self._present(verdict, count)

    def _present(self, verdict: Verdict, count: int | None) -> Present:
        intent, parted, name = self.intent, self.parted, verdict.cluster
        if name in self.refused:
            raise JsonPatchError(self.refused[name])
        fields = parted.fields.get(name, {}) if parted is not None else {}
        patch = self.patches.get(name, ())
        if patch or fields:
            manifest = render(intent, count, patch, fields)
        else:
            # A hundred clusters that shall have the same share one manifest.
            if count not in self.plain:
                self.plain[count] = render(intent, count)
            manifest = self.plain[count]
        return Present(
            manifest,
            intent.source_uid,
            shared=verdict.chosen and intent.resource == NAMESPACES,
            mend=intent.mend,
            retain=(*_kept(intent.retain, patch), *(parted.retained.get(name, ()) if parted is not None else ())),
            adopt=intent.adopt,
            inherits=intent.inherits,
        )


def _leaving(intent: Intent, decision: Decision, copies: Mapping[str, Obj]) -> frozenset[str]:
    """Return the clusters that shall lose what they have because nobody wants it there any more."""
    if intent.apart or (not decision.chosen() and not intent.nowhere):
        return frozenset()
    unwanted = {verdict.cluster: verdict.chosen for verdict in decision.verdicts if verdict.unwanted}
    return frozenset(
        name for name, copy in copies.items() if name in unwanted and (not unwanted[name] or intent.scale.asked(copy))
    )


def _decide(intent: Intent, fleet: Fleet, state: State) -> Decision:
    def decided(replicas: int | None) -> Decision:
        return decide(fleet, intent.placement, replicas=replicas, state=state, key=str(intent.key))

    spare = intent.placement.failover.spare_clusters
    if intent.replicas is None or intent.parts is not None or not spare:
        return decided(intent.replicas)
    return with_spares(intent.replicas, spare, decided)


def _staying(
    intent: Intent, chosen: Sequence[str], copies: Mapping[str, Obj], observed: Mapping[str, Observation]
) -> set[str]:
    """Return the clusters that keep a copy without replicas for now, since those that were chosen need theirs first."""
    leaving = copies.keys() - set(chosen)
    if intent.replicas is not None or intent.parts is not None or intent.apart or not leaving:
        return set()
    well = {name: intent.health(copy) is None and has_entrance(copy) for name, copy in copies.items()}
    if intent.resource == NAMESPACES:
        well |= {name: True for name in chosen if observed.get(name, UNSEEN).copy is not None}
    return set(leaving - may_leave(chosen, well))


def _in_turn(
    intent: Intent,
    planned: Planned,
    fleet: Fleet,
    copies: Mapping[str, Obj],
    *,
    unseen: Collection[str],
    vacant: Collection[str],
    memory: Remembered,
    now: float,
) -> Planned:
    """Let a changed template reach the clusters as its policy says."""
    decision = planned.decision
    wanted, wave = in_turn(
        intent,
        fleet,
        planned.wanted,
        copies,
        chosen=decision.chosen(),
        unseen=unseen,
        vacant=vacant,
        memory=memory,
        now=now,
    )
    moments = [moment for moment in (decision.until, wave.until) if moment is not None]
    return replace(planned, decision=replace(decision, until=min(moments, default=None)), wanted=wanted, wave=wave)


def _held(intent: Intent, copy: Obj) -> int:
    """Return what placement shall count as running in a cluster.

    The planner of federation v1 looks at what is ready. Everything else keeps to what was asked of the cluster: a
    rollout, in which pods come and go, is no reason to move any.
    """
    if isinstance(intent.placement.division, Preferences):
        return intent.scale.ready_in(copy)
    return intent.scale.asked(copy)


def _asked(intent: Intent, copies: Mapping[str, Obj]) -> dict[str, int]:
    """Return what was asked of each cluster, where placement counts something else as running."""
    if not isinstance(intent.placement.division, Preferences):
        return {}
    return {name: intent.scale.asked(copy) for name, copy in copies.items()}


def _patches(intent: Intent, fleet: Fleet) -> dict[str, list[Obj]]:
    """Return the operations of all overrides for each cluster that has any, in order."""
    found: dict[str, list[Obj]] = {}
    for override in intent.overrides:
        for slot in fleet.slots(fleet.within(override.clusters)):
            found.setdefault(fleet.names[slot], []).extend(override.patch)
    return found


def _refused(intent: Intent, fleet: Fleet) -> dict[str, str]:
    """Return for each cluster whose overrides are known not to apply why that is so."""
    return {
        fleet.names[slot]: override.problem
        for override in intent.overrides
        if override.problem
        for slot in fleet.slots(fleet.within(override.clusters))
    }


def _kept(retained: Sequence[Path], patch: Sequence[Obj]) -> tuple[Path, ...]:
    """Return the fields in which a cluster keeps what it has: an override counts before that."""
    changed = [f"{operation['path']}/" for operation in patch]
    return tuple(path for path in retained if not any(f"/{'/'.join(path)}/".startswith(each) for each in changed))


def refusals_of(clusters: Sequence[Cluster], observed: Mapping[str, Observation]) -> dict[str, str]:
    """Return for each cluster why no work may go there now, "" where it may."""
    return {cluster.name: cluster.refusal or observed.get(cluster.name, UNSEEN).refusal for cluster in clusters}


def _replicas_now(
    intent: Intent,
    decision: Decision,
    copies: Mapping[str, Obj],
    elsewhere: int,
    *,
    steady: bool,
    blind: bool,
    untold: bool,
) -> dict[str, int]:
    """Return how many replicas each cluster shall be asked for now.

    In a `steady` federation what clusters hold stays as it is: while one of them cannot be relied on, the replicas that
    seem to be missing may well be there. Of what must not run twice others then get no more than is surely missing,
    and in a `blind` one, in which a cluster has yet to tell what it has, nothing. `elsewhere` is how many clusters hold
    that cannot be counted on, and may well run them; where it is `untold` how many these are, nobody else grows.
    """
    if intent.replicas is None or intent.parts is not None:
        return {}
    planned = {verdict.cluster: verdict.replicas or 0 for verdict in decision.verdicts if verdict.chosen}
    wanted = sum(planned.values())
    held_now = {name: intent.scale.asked(copy) for name, copy in copies.items()}
    if untold:
        return _without_growth(intent.replicas, planned, held_now)
    if steady:
        if not intent.placement.at_most_once:
            return planned | held_now
        planned = (dict.fromkeys(planned, 0) if blind else planned) | held_now
    held = {name: Holding(intent.scale.asked(copy), intent.scale.available_in(copy)) for name, copy in copies.items()}
    if not intent.placement.at_most_once:
        # What waits for room in a full cluster runs elsewhere already.
        return next_replicas(wanted - sum(decision.overflow.values()), planned, held)
    running = {name: intent.scale.running_in(copy) for name, copy in copies.items()}
    return next_replicas_at_most(min(wanted, intent.replicas - elsewhere), planned, held, running)


def _without_growth(wanted: int, planned: Mapping[str, int], held: Mapping[str, int]) -> dict[str, int]:
    """Leave everybody what they have, and take from it only what is more than is wanted altogether."""
    surplus = sum(held.values()) - wanted
    result = {**dict.fromkeys(planned, 0), **held}
    for name, count in sorted(held.items()):
        taken = max(0, min(count - planned.get(name, 0), surplus))
        result[name] -= taken
        surplus -= taken
    return result


@dataclass(frozen=True, slots=True)
class TornDown:
    """What is left to do for a source that is being deleted: wishes, and the clusters that keep it waiting."""

    wanted: dict[str, Wanted]
    waiting_for: tuple[str, ...]


def tear_down(
    source_uid: str,
    clusters: Sequence[Cluster],
    confirmed: Collection[str],
    *,
    orphan: bool,
    removal: Removal = DELETED,
    without: Collection[str] = (),
) -> TornDown:
    """Remove (or release) every copy; a cluster counts as done only when it has confirmed that it has none.

    Those `without` any are not asked.
    """
    clusters = [cluster for cluster in clusters if cluster.name not in without]
    wish: Wanted = Released(source_uid) if orphan else Absent(source_uid, removal=removal)
    wanted = {cluster.name: wish for cluster in clusters if not cluster.refusal}
    waiting = tuple(cluster.name for cluster in clusters if cluster.name not in confirmed)
    return TornDown(wanted, waiting)
