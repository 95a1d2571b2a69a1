"""The tablets of a shard change one after the other: each is drained, goes, and comes back new; the primary last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hanse.api.planetscale.kinds import (
    CASCADE_ANNOTATION,
    DESIRED_STATE_ANNOTATION,
    DRAIN_STARTED_ANNOTATION,
    OBSERVED_GENERATION_ANNOTATION,
    RELEASED_ANNOTATION,
    SCHEDULED_ANNOTATION,
    VITESS_SHARDS,
)
from hanse.api.planetscale.values import UpdateType
from hanse.kube.manifest import Obj, annotations_of, is_deleting, labels_of, name_of
from hanse.kube.resources import PODS
from hanse.vitess.operator.claims import claim, grows, shrinks, waits_for_restart
from hanse.vitess.operator.clusters import Gathered
from hanse.vitess.operator.drains import drain_finished
from hanse.vitess.operator.keeping import kept, kept_with
from hanse.vitess.operator.mysql_versions import VersionStep, version_step
from hanse.vitess.operator.pods import has_failed, until_available
from hanse.vitess.operator.rolling import pending_text
from hanse.vitess.operator.shaping import with_annotations
from hanse.vitess.operator.shard_scene import ShardScene
from hanse.vitess.operator.tablet_pods import tablet_pod
from hanse.vitess.operator.tablets import Tablet
from hanse.vitess.operator.verdicts import Happening, Mark

FINISH_ROLLING = "rolling update"
_SHORTEST_WAIT = 1.0


@dataclass(frozen=True, slots=True)
class TabletState:
    """A tablet that exists, as it shall be and as it is."""

    tablet: Tablet
    wanted: Obj
    live: Obj

    @property
    def differs(self) -> bool:
        """Whether it has to be made anew to be as it shall be."""
        return _state(self.live) != _state(self.wanted)

    @property
    def pending(self) -> str:
        """What would change; "" where nothing does."""
        if not self.differs:
            return ""
        return pending_text(kept(self.live)["spec"], self.wanted["spec"]) or "the size of its disk\n"

    @property
    def mysql_step(self) -> VersionStep:
        """What making it anew means for its data."""
        return version_step(_mysqld_image(self.live), _mysqld_image(self.wanted))

    @property
    def released(self) -> bool:
        """Whether somebody lets it go."""
        return RELEASED_ANNOTATION in annotations_of(self.live)


def _mysqld_image(pod: Obj) -> str:
    return next((each["image"] for each in pod["spec"]["containers"] if each["name"] == "mysqld"), "")


def _state(pod: Obj) -> str:
    return annotations_of(pod).get(DESIRED_STATE_ANNOTATION, "")


def wanted_pod(scene: ShardScene, tablet: Tablet) -> Obj:
    """Return the Pod of a tablet as it shall be now."""
    pod = tablet_pod(scene.wish(tablet))
    return with_annotations(pod, {OBSERVED_GENERATION_ANNOTATION: str(scene.generation)})


def tablet_states(scene: ShardScene) -> list[TabletState]:
    """Return the tablets that exist and shall exist, by their aliases."""
    found = [
        TabletState(tablet, wanted_pod(scene, tablet), pod)
        for tablet in scene.tablets
        if (pod := scene.pod(tablet)) is not None
    ]
    return sorted(found, key=lambda each: each.tablet.alias)


def add_tablets(scene: ShardScene, gathered: Gathered) -> float | None:
    """Add the claims and Pods of all tablets that shall exist; returns when to look again."""
    _claims(scene, gathered)
    states = {state.tablet.name: state for state in tablet_states(scene)}
    chosen = _cascade(scene, list(states.values()), gathered)
    _downgrades(states.values(), gathered)
    for tablet in scene.tablets:
        state = states.get(tablet.name)
        if state is None:
            gathered.children.append(wanted_pod(scene, tablet))
        elif not has_failed(state.live) and not _goes(scene, state, chosen):
            gathered.children.append(_current(scene, state))
            if state.released and not state.differs:
                gathered.marks.append(Mark(PODS, tablet.name, {RELEASED_ANNOTATION: None}))
    return _wait(scene)


def _claims(scene: ShardScene, gathered: Gathered) -> None:
    for tablet in scene.tablets:
        template, live = tablet.pool.volume_claim, scene.claim(tablet)
        if template is not None:
            gathered.children.append(claim(tablet.name, tablet.labels, template, live))
            if live is not None and shrinks(live, template):
                said = f"tablet {tablet.alias}: its disk cannot shrink; ask for at least as much storage as it has"
                gathered.events.append(Happening("InvalidSpec", said, warning=True))
        elif live is not None:
            gathered.children.append(kept(live))


def _downgrades(states: Iterable[TabletState], gathered: Gathered) -> None:
    for state in states:
        if state.mysql_step is VersionStep.DOWNGRADE:
            before, after = _mysqld_image(state.live), _mysqld_image(state.wanted)
            said = f"tablet {state.tablet.alias}: {after} cannot read what {before} wrote; ask for a newer image"
            gathered.events.append(Happening("MysqldSafeUpgradeFailed", said, warning=True))


def _goes(scene: ShardScene, state: TabletState, chosen: str) -> bool:
    """Tell whether a Pod is to be deleted now, so that it is made anew."""
    if not state.differs or is_deleting(state.live) or state.mysql_step is VersionStep.DOWNGRADE:
        return False
    if state.tablet.name == chosen:
        return True
    return state.released and (drain_finished(state.live) or _is_lone(scene, state.tablet))


def _is_lone(scene: ShardScene, tablet: Tablet) -> bool:
    """Tell whether nobody else could take over from a tablet, so that draining it would never end."""
    return tablet.pool.type.primary_eligible and len(scene.eligible) < 2


def _current(scene: ShardScene, state: TabletState) -> Obj:
    """Return a Pod as it is, with what is to be said on it: what it waits for, and that it shall drain."""
    annotations = {**annotations_of(state.wanted), DESIRED_STATE_ANNOTATION: _state(state.live)}
    if state.differs:
        annotations[SCHEDULED_ANNOTATION] = state.pending
        if state.released and not _is_lone(scene, state.tablet) and state.mysql_step is not VersionStep.DOWNGRADE:
            annotations[DRAIN_STARTED_ANNOTATION] = FINISH_ROLLING
    return kept_with(state.live, labels_of(state.wanted), annotations)


def _cascade(scene: ShardScene, states: list[TabletState], gathered: Gathered) -> str:
    """Let the next tablet go if its turn has come; returns the Pod that is to be deleted at once, "" for none."""
    waiting = [state for state in states if state.differs]
    if not scene.cascades:
        if waiting and _starts(scene, states, gathered):
            gathered.marks.append(_on_shard(scene, "the operator: every tablet has seen the change"))
        return ""
    if not waiting:
        if all(scene.pod(tablet) is not None for tablet in scene.tablets):
            gathered.marks.append(_on_shard(scene, None))
            gathered.events.append(Happening("RollingRestartComplete", "all tablets are as they are asked for"))
        return ""
    if any(state.released for state in states) or any(state.mysql_step is VersionStep.DOWNGRADE for state in states):
        return ""
    if unavailable := scene.unavailable():
        said = f"no tablet is restarted while these are not available: {', '.join(unavailable)}"
        gathered.events.append(Happening("RolloutPaused", said, warning=True))
        return ""
    return _release(scene, waiting, gathered)


def _release(scene: ShardScene, waiting: list[TabletState], gathered: Gathered) -> str:
    lone = next((state for state in waiting if _is_lone(scene, state.tablet)), None)
    others = [state for state in waiting if state is not lone]
    if others:
        if scene.primary is None:
            said = "no tablet is restarted while topology does not say which one is primary"
            gathered.events.append(Happening("RolloutPaused", said, warning=True))
            return ""
        first = min(others, key=lambda each: _turn(scene, each))
        gathered.marks.append(Mark(PODS, first.tablet.name, {RELEASED_ANNOTATION: "by the operator"}))
        return ""
    return lone.tablet.name if lone is not None else ""


def _turn(scene: ShardScene, state: TabletState) -> tuple[bool, bool, str]:
    """Return in which order tablets go: those that are drained already, then the others, the primary last."""
    alias = state.tablet.alias
    return not drain_finished(state.live), alias == scene.primary, alias


def _on_shard(scene: ShardScene, value: str | None) -> Mark:
    return Mark(VITESS_SHARDS, name_of(scene.parent), {CASCADE_ANNOTATION: value})


def _starts(scene: ShardScene, states: list[TabletState], gathered: Gathered) -> bool:
    """Tell whether the operator itself begins to restart tablets: all of them have seen what is asked for now."""
    if scene.strategy.type is UpdateType.IMMEDIATE:
        return len(states) == len(scene.tablets) and lowest_generation(scene) == scene.generation
    if not scene.strategy.storage_flows:
        return False
    growing = list(_growing(scene))
    if growing:
        said = f"the disks of these tablets have not grown yet: {', '.join(growing)}"
        gathered.events.append(Happening("PVCResizeWaiting", said))
        return False
    claims = [found for tablet in scene.tablets if (found := scene.claim(tablet)) is not None]
    return bool(claims) and all(map(waits_for_restart, claims))


def _growing(scene: ShardScene) -> Iterator[str]:
    for tablet in scene.tablets:
        live = scene.claim(tablet)
        template = tablet.pool.volume_claim
        if live is not None and template is not None and (grows(live, template) or not waits_for_restart(live)):
            yield tablet.alias


def lowest_generation(scene: ShardScene) -> int:
    """Return the oldest generation of the shard that any of its tablets has been looked at for; 0 where one is missing.

    A Pod that is looked at is annotated with it, whether or not anything about it changes.
    """
    pods = [scene.pod(tablet) for tablet in scene.tablets]
    seen = [0 if pod is None else int(annotations_of(pod).get(OBSERVED_GENERATION_ANNOTATION) or 0) for pod in pods]
    return min(seen, default=scene.generation)


def _wait(scene: ShardScene) -> float | None:
    """Return when the next tablet will count as available, if any is about to."""
    pods = [pod for tablet in scene.tablets if (pod := scene.pod(tablet)) is not None]
    waits = [wait for pod in pods if (wait := until_available(pod, scene.observed.now)) > 0]
    return max(min(waits), _SHORTEST_WAIT) if waits else None
