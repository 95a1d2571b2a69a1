"""What is to be done next for a placeholder: pure, from what it says, what its target shows, and the time.

While its pod looks for a node in a target, the engine may still move it. Once the pod has one, the placeholder is bound
to that target for good, as a pod is to its node; what becomes of the pod becomes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.api.admiralty.keys import PREFIX
from hanse.kube.manifest import Obj, controller_of, dig, finalizers_of, is_deleting
from hanse.pods.chaperons.reading import Phase, is_scheduled, phase_of, trouble_of
from hanse.pods.placeholder.reading import Answer, answers_of, attempt_of, lost_after, target_of

# A target that has not found a node for so long is left out, and asked again after a while.
VERIFY_SECONDS = 10.0
ANSWER_SECONDS = 60.0
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Place:
    """A target as a placeholder's life depends on it: what it shows of the pod, and since when it is lost.

    `seen` is False while what it has cannot be relied on. `trouble` says why it does not take the chaperon. One that is
    `leaving` is being removed, and stays until nothing runs there any more.
    """

    seen: bool = False
    chaperon: Obj | None = None
    lost_since: float | None = None
    trouble: str = ""
    leaving: bool = False

    @property
    def refusal(self) -> str:
        """Why the pod does not get to run there, "" where it may yet."""
        return self.trouble if self.chaperon is None else trouble_of(self.chaperon)


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind the placeholder to a target, in which its pod has a node."""

    target: str


@dataclass(frozen=True, slots=True)
class Follow:
    """Have the placeholder show what its pod shows."""

    chaperon: Obj


@dataclass(frozen=True, slots=True)
class Remember:
    """Write down which targets are left out for now, and which attempt comes next; `news` is told as an event."""

    answers: dict[str, Answer]
    attempt: int
    news: str = ""


@dataclass(frozen=True, slots=True)
class Replace:
    """Delete the placeholder, so that its owner makes another one; `lost` where its target is, and may still run it."""

    why: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """Have the placeholder fail, and stay to say why: nobody makes another one."""

    why: str


@dataclass(frozen=True, slots=True)
class Free:
    """Keep only these finalizers: nothing waits for targets that are not there any more."""

    finalizers: list[str]


Action = Bind | Follow | Remember | Replace | End | Free


@dataclass(frozen=True, slots=True)
class Step:
    """What to do now, if anything, and when to look again although nothing changes."""

    action: Action | None = None
    wait: float | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything a placeholder's life depends on.

    `waiting_since` is when its present target began to refuse it, `absent_since` when the one to which it is bound was
    first seen not to be there. `finalizers` are those of all targets there are. In a source with virtual `nodes`
    placeholders are bound to them. The targets that are `chosen` are those in which the pod shall be, none where it
    shall stay where it is; None says that this was not decided yet.
    """

    places: Mapping[str, Place] = field(default_factory=dict)
    now: float = 0.0
    waiting_since: float | None = None
    absent_since: float | None = None
    finalizers: frozenset[str] = frozenset()
    nodes: bool = True
    chosen: frozenset[str] | None = frozenset()


def next_step(placeholder: Obj, scene: Scene) -> Step:
    """Say what to do next for a placeholder."""
    if is_deleting(placeholder):
        return Step()
    held = finalizers_of(placeholder)
    freed = [each for each in held if not each.startswith(PREFIX) or each in scene.finalizers]
    if freed != held:
        return Step(Free(freed))
    target = target_of(placeholder)
    return _bound(placeholder, target, scene) if target else _looking(placeholder, scene)


def refusing(placeholder: Obj, places: Mapping[str, Place]) -> str:
    """Return the target that was offered the pod and does not take it, or finds no node for it, "" where none is."""
    if target_of(placeholder):
        return ""
    return next((name for name, each in places.items() if each.seen and each.refusal), "")


def _bound(placeholder: Obj, target: str, scene: Scene) -> Step:
    place = scene.places.get(target)
    if place is None:
        # Somebody may make it again, under the same name and with all its pods.
        since = scene.now if scene.absent_since is None else scene.absent_since
        return _lost(placeholder, f"target {target}, in which it ran, has not been there", since, scene.now)
    if place.lost_since is not None:
        return _lost(placeholder, f"target {target} has been lost", place.lost_since, scene.now)
    if place.leaving:
        return Step(_unless_ended(placeholder, _drained(placeholder, target)))
    if scene.nodes and not dig(placeholder, "spec", "nodeName"):
        return Step(Bind(target))
    if not place.seen:
        return Step()
    if place.chaperon is None:
        return Step(_unless_ended(placeholder, Replace(f"its pod in {target} was deleted there")))
    if phase_of(place.chaperon) is Phase.LOST:
        return Step(_unless_ended(placeholder, Replace(f"its pod in {target} was deleted or evicted there")))
    return Step(Follow(place.chaperon))


def _drained(placeholder: Obj, target: str) -> Action:
    if controller_of(placeholder) is not None:
        return Replace(f"target {target} is being removed")
    return End(f"target {target}, in which it ran, was removed, and nothing makes it again elsewhere")


def _lost(placeholder: Obj, what: str, since: float, now: float) -> Step:
    """Replace what a lost target ran, once it has been lost for long enough and if there is somebody to replace it."""
    patience = lost_after(placeholder)
    if patience is None or controller_of(placeholder) is None or _is_ended(placeholder):
        return Step()
    if now - since < patience:
        return Step(wait=patience - (now - since))
    return Step(Replace(f"{what} for {patience:.0f} s", lost=True))


def _looking(placeholder: Obj, scene: Scene) -> Step:
    answers = answers_of(placeholder)
    for name, place in scene.places.items():
        chaperon = place.chaperon
        if chaperon is not None and place.lost_since is not None:
            return _lost(placeholder, f"target {name} has been lost", place.lost_since, scene.now)
        if not place.seen or place.leaving or (chaperon is not None and is_deleting(chaperon)):
            continue
        if chaperon is not None and is_scheduled(chaperon):
            if _is_wanted(name, answers, scene.chosen):
                return Step(Bind(name))
            # It came too late: the pod is being taken back there.
            continue
        if chaperon is not None and phase_of(chaperon) is Phase.LOST:
            # It had no node yet, and nobody makes it again there.
            return Step(Replace(f"its pod in {name} was deleted there"))
        if place.refusal and name not in answers:
            return _refused(placeholder, name, place.refusal, scene)
    return _forgetting(placeholder, scene)


def _is_wanted(target: str, answers: Mapping[str, Answer], chosen: frozenset[str] | None) -> bool:
    """Tell whether the pod may stay in a target; the last one that refused it keeps it where no other takes it."""
    if chosen is not None and not chosen:
        return True
    return target not in answers and (chosen is None or target in chosen)


def _refused(placeholder: Obj, target: str, why: str, scene: Scene) -> Step:
    since = scene.now if scene.waiting_since is None else scene.waiting_since
    if scene.now - since < VERIFY_SECONDS:
        return Step(wait=VERIFY_SECONDS - (scene.now - since))
    answers = answers_of(placeholder) | {target: Answer(scene.now, why)}
    return Step(Remember(answers, attempt_of(placeholder) + 1, f"{target}: {why}"))


def _forgetting(placeholder: Obj, scene: Scene) -> Step:
    """Ask targets again that were left out for long enough, and have nothing of the pod any more."""
    answers = answers_of(placeholder)
    due = {name for name, each in answers.items() if scene.now - each.at >= ANSWER_SECONDS}
    free = {name for name in due if (place := scene.places.get(name)) is None or (place.seen and not place.chaperon)}
    if free:
        kept = {name: each for name, each in answers.items() if name not in free}
        return Step(Remember(kept, attempt_of(placeholder)))
    moments = [each.at + ANSWER_SECONDS - scene.now for name, each in answers.items() if name not in due]
    return Step(wait=min(moments, default=None))


def _unless_ended(placeholder: Obj, action: Action) -> Action | None:
    """Leave what has ended as it is: its owner counts it."""
    return None if _is_ended(placeholder) else action


def _is_ended(placeholder: Obj) -> bool:
    return dig(placeholder, "status", "phase") in _ENDED
