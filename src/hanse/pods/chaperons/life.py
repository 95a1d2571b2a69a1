"""What is to be done next for a chaperon: pure, from what it says, the pod it has, and the time.

That a chaperon exists is the permission to have one pod; that somebody deletes it withdraws the permission; and it
goes only when its pod is gone. A pod that must not run twice is made once: it cannot vanish before the chaperon has
recorded it, and what was recorded and is gone is not made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hanse.api.admiralty.keys import CHAPERON_FINALIZER, POD_MISSING_SINCE, UNRECORDED_FINALIZER
from hanse.kube.manifest import Obj, annotations_of, finalizers_of, is_deleting, uid_of
from hanse.kube.runtime import timestamp
from hanse.pods.chaperons.pods import ALWAYS, had_pod, has_ended, pod_of, restart_policy
from hanse.pods.chaperons.reading import Phase, attempt_of, expiry_of, fence_of, missing_since, phase_of
from hanse.pods.chaperons.telling import expired, lost, refused, shown

# A pod that vanished is made again after so long, if its containers are always started again: until then its source
# may say otherwise.
AGAIN_SECONDS = 60.0
# How soon a chaperon is looked at again whose source gives no sign.
_SIGN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Hold:
    """Have the chaperon stay until its pod is gone."""


@dataclass(frozen=True, slots=True)
class Make:
    """Announce that the pod is made, which only one keeper can, and make it."""

    pod: Obj


@dataclass(frozen=True, slots=True)
class Report:
    """Bring the chaperon's status to this."""

    status: Obj


@dataclass(frozen=True, slots=True)
class Mark:
    """Write on the chaperon since when its pod is missing; None takes that away."""

    since: str | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """Let the pod, of exactly this uid, go when somebody deletes it: the chaperon knows of it."""

    uid: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Delete the pod, of exactly this uid, with the grace that it asks for."""

    uid: str


@dataclass(frozen=True, slots=True)
class Release:
    """Let the chaperon go."""


Action = Hold | Make | Report | Mark | Recorded | Stop | Release


@dataclass(frozen=True, slots=True)
class Step:
    """What to do now, in order, and when to look again although nothing changes."""

    actions: tuple[Action, ...] = ()
    again: float | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """What a chaperon's life depends on: its pod, the time, what else is known of its source.

    `newest` is the highest attempt for the same pod that this cluster has seen; `silent` for how long its source has
    given no sign, None where nobody listens for one. For so many seconds a pod may come `late` of a creation that was
    announced; where that is `another` keeper's, there is none to be made meanwhile.
    """

    pod: Obj | None
    now: float
    newest: int = 0
    silent: float | None = None
    late: float = 0.0
    another: bool = False


def next_step(chaperon: Obj, scene: Scene) -> Step:
    """Say what to do next for a chaperon."""
    if is_deleting(chaperon):
        if scene.pod is None and scene.late > 0.0:
            # Nobody may say that there is no pod while one may come.
            return Step(again=scene.late)
        return Step(tuple(_parting(chaperon, scene.pod)))
    if scene.pod is not None:
        return _accompanied(chaperon, scene.pod, scene)
    return _bereft(chaperon, scene) if had_pod(chaperon) else _expecting(chaperon, scene)


def _parting(chaperon: Obj, pod: Obj | None) -> Iterator[Action]:
    if pod is None:
        if CHAPERON_FINALIZER in finalizers_of(chaperon):
            yield Release()
        return
    if not _is_expired(chaperon, pod):
        yield Report(shown(chaperon, pod))
    yield from _stopping(pod)


def _stopping(pod: Obj) -> Iterator[Action]:
    if UNRECORDED_FINALIZER in finalizers_of(pod):
        yield Recorded(uid_of(pod))
    if not is_deleting(pod):
        yield Stop(uid_of(pod))


def _accompanied(chaperon: Obj, pod: Obj, scene: Scene) -> Step:
    left = _patience(chaperon, scene)
    if _is_expired(chaperon, pod) or (left is not None and left <= 0.0 and not has_ended(pod, chaperon)):
        return Step((Report(expired(chaperon, pod, scene.silent or 0.0)), *_stopping(pod)))
    actions: list[Action] = [Report(shown(chaperon, pod))]
    if UNRECORDED_FINALIZER in finalizers_of(pod):
        actions.append(Recorded(uid_of(pod)))
    if POD_MISSING_SINCE in annotations_of(chaperon):
        actions.append(Mark(None))
    return Step(tuple(actions), again=left if left is not None and left > 0.0 else None)


def _bereft(chaperon: Obj, scene: Scene) -> Step:
    if phase_of(chaperon) is Phase.ENDED:
        return Step()
    since = missing_since(chaperon)
    moment = scene.now if since is None else since
    actions: list[Action] = []
    if fence_of(chaperon.get("status")).get("phase") != Phase.LOST:
        actions.append(Report(lost(chaperon, moment)))
    if POD_MISSING_SINCE not in annotations_of(chaperon):
        actions.append(Mark(timestamp(moment)))
    if restart_policy(chaperon) != ALWAYS or fence_of(chaperon.get("status")).get("expired"):
        return Step(tuple(actions))
    if since is None or scene.now - since < AGAIN_SECONDS:
        return Step(tuple(actions), again=AGAIN_SECONDS - (scene.now - moment))
    made = _expecting(chaperon, scene)
    return Step((*actions, *made.actions), made.again)


def _expecting(chaperon: Obj, scene: Scene) -> Step:
    attempt = attempt_of(chaperon)
    if attempt and attempt < scene.newest:
        why = f"attempt {attempt} to place the pod is over: this cluster has been given attempt {scene.newest} since"
        return Step((Report(refused(chaperon, why)),))
    left = _patience(chaperon, scene)
    if left is not None and left <= 0.0:
        return Step(again=_SIGN_SECONDS)
    if scene.another and scene.late > 0.0:
        return Step(again=scene.late)
    hold = () if CHAPERON_FINALIZER in finalizers_of(chaperon) else (Hold(),)
    return Step((*hold, Make(pod_of(chaperon))))


def _patience(chaperon: Obj, scene: Scene) -> float | None:
    """Return for how many seconds more the source may be silent, None where it may for ever."""
    allowed = expiry_of(chaperon)
    return None if allowed is None or scene.silent is None else allowed - scene.silent


def _is_expired(chaperon: Obj, pod: Obj) -> bool:
    fence = fence_of(chaperon.get("status"))
    return bool(fence.get("expired")) and fence.get("podUid") == uid_of(pod)
