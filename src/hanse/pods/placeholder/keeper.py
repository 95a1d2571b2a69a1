"""Keeps placeholders as their pods are: binds them, has them show what their pods show, replaces the lost ones."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from hanse.api.admiralty.keys import ANSWERS, ATTEMPT, GATE, REASON, TARGET
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.admiralty.names import target_named
from hanse.api.clusters import Cluster
from hanse.kube.client import Client
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.controller import Controller
from hanse.kube.errors import ApiError, Conflict, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Obj, dig, name_of, namespace_of, uid_of, version_of
from hanse.kube.resources import PODS
from hanse.kube.runtime import parse_timestamp, timestamp
from hanse.pods.chaperons.reading import ENDED_PHASES
from hanse.pods.placeholder.life import (
    Action,
    Bind,
    End,
    Follow,
    Free,
    Place,
    Remember,
    Replace,
    Scene,
    next_step,
    refusing,
)
from hanse.pods.placeholder.reading import answers_text, is_placeholder, target_of
from hanse.pods.placeholder.shapes import readable
from hanse.pods.placeholder.showing import Showing, is_final
from hanse.pods.targeting import SourceRoster
from hanse.propagation.intent import Ref
from hanse.propagation.planning import UNSEEN, Observation
from hanse.propagation.viewing import Speaker, View

# What a target shows in quick succession is shown at once.
_SETTLE_SECONDS = 0.02
# How soon it is looked again whether the others of a gang have found their nodes.
_TOGETHER_SECONDS = 1.0
# As many requests as are under way to one API server at a time.
_WORKERS = 16
_PHASE = ("status", "phase")
# A pod that has only been given a node begins in a moment, and what it shows until then is not worth a write.
_BEGUN = ("Running", *ENDED_PHASES)
# Why a placeholder has failed that nobody makes again.
_REMOVED = "TargetRemoved"
# What a sentence on an object may take.
_REASON_LENGTH = 1024
# What every target answered is stored in one annotation.
_ANSWER_LENGTH = 256
# So long after it began one waits for decisions; where none has come by then, none may come.
_FIRST_DECISIONS_SECONDS = 10.0
# How soon is tried again what the source's API server does not take.
_REFUSED_SECONDS = 60.0


class PlaceholderKeeper:
    """Looks after the placeholders of one source."""

    def __init__(
        self,
        source: Client,
        view: View,
        targets: SourceRoster,
        *,
        nodes: bool = True,
        may_bind: Callable[[Obj], bool] = lambda _placeholder: True,
    ) -> None:
        """`nodes` says that the source has a virtual node for every target.

        `may_bind` tells of a placeholder whose pod has a node whether that is enough: a gang is bound together.
        """
        self._may_bind = may_bind
        self._source = source
        self._runtime = source.runtime
        self._view = view
        self._targets = targets
        self._nodes = nodes
        self._events = EventRecorder(source, "hanse")
        self._showing = Showing(self._patch, self._events)
        self._controller: Controller[Ref] = Controller("placeholders", self._reconcile, self._runtime, workers=_WORKERS)
        # The target that refuses a placeholder (by its uid), and since when.
        self._refusing: dict[Ref, tuple[tuple[str, str], float]] = {}
        # Targets to which placeholders are bound and that are not there, and since when.
        self._absent: dict[str, float] = {}
        self._begun = self._runtime.monotonic()
        view.subscribe(POD_CHAPERONS, lambda ref: self._controller.queue.add_after(ref, _SETTLE_SECONDS))
        targets.subscribe(lambda _target: self._look_at_everything())

    async def run(self) -> None:
        """Work until cancelled."""
        await self._targets.wait_synced()
        self._begun = self._runtime.monotonic()
        self._look_at_everything()
        await self._controller.run()

    def _look_at_everything(self) -> None:
        for ref in self._view.targets(POD_CHAPERONS):
            self._controller.queue.add(ref)

    # The paragraph: observe, decide, act, report

    async def _reconcile(self, ref: Ref) -> float | None:
        speaker = self._view.speaker(ref)
        if speaker is None or not is_placeholder(speaker.source):
            self._refusing.pop(ref, None)
            self._showing.forget(ref.key)
            return None
        placeholder = speaker.source
        scene = self._scene(ref, speaker, self._view.observe(ref, speaker))
        step = next_step(placeholder, scene)
        if isinstance(step.action, Bind) and not target_of(placeholder):
            if not self._may_bind(placeholder):
                return _TOGETHER_SECONDS
            if scene.chosen is None and self._has_just_begun():
                # Whoever decides has yet to say why it is there, which is written beside where it is.
                return _SETTLE_SECONDS * 10
        if step.action is not None:
            try:
                await self._act(speaker.ref, placeholder, step.action, scene)
            except NotFound:
                return None
            except Conflict:
                # Somebody wrote it meanwhile, which the watch tells soon.
                return _SETTLE_SECONDS * 10
            except ApiError as error:
                if not is_final(error):
                    raise
                await self._events.record(placeholder, "NotWritten", f"{_doing(step.action)}: {error}", warning=True)
                return _REFUSED_SECONDS
        return step.wait

    def _has_just_begun(self) -> bool:
        return self._runtime.monotonic() < self._begun + _FIRST_DECISIONS_SECONDS

    def _scene(self, ref: Ref, speaker: Speaker, observed: dict[str, Observation]) -> Scene:
        placeholder, decision = speaker.source, self._view.decision(speaker.ref)
        clusters = {each.name: each for each in self._targets.clusters()}
        names = self._targets.targets()
        places = {
            str(name): replace(
                _place(clusters.get(str(name)), observed.get(str(name), UNSEEN), self._view.trouble(str(name), ref)),
                leaving=self._targets.is_leaving(str(name)),
            )
            for name in names
            if name.serves(namespace_of(placeholder))
        }
        return Scene(
            places,
            self._runtime.now(),
            self._waiting_since(ref, uid_of(placeholder), refusing(placeholder, places)),
            self._absent_since(target_of(placeholder), places),
            frozenset(name.finalizer for name in names),
            nodes=self._nodes,
            chosen=frozenset(decision.chosen()) if decision is not None else None,
        )

    def _waiting_since(self, ref: Ref, uid: str, target: str) -> float | None:
        if not target:
            self._refusing.pop(ref, None)
            return None
        before = self._refusing.get(ref)
        if before is None or before[0] != (uid, target):
            before = self._refusing[ref] = ((uid, target), self._runtime.now())
        return before[1]

    def _absent_since(self, target: str, places: Collection[str]) -> float | None:
        if not target or target in places:
            self._absent.pop(target, None)
            return None
        return self._absent.setdefault(target, self._runtime.now())

    async def _act(self, ref: Ref, placeholder: Obj, action: Action, scene: Scene) -> None:
        match action:
            case Bind(target):
                placeholder = await self._bind(ref, placeholder, target)
                if (chaperon := scene.places[target].chaperon) is not None and dig(chaperon, *_PHASE) in _BEGUN:
                    # It would come back by the watch for this alone, behind all others.
                    await self._showing.follow(ref, placeholder, chaperon)
            case Follow(chaperon):
                await self._showing.follow(ref, placeholder, chaperon)
            case Remember(answers, attempt, news):
                brief = {name: replace(each, why=each.why[:_ANSWER_LENGTH]) for name, each in answers.items()}
                annotations = {ANSWERS: answers_text(brief), ATTEMPT: str(attempt)}
                # Whoever else keeps it may bind it at the same moment: only one of the two comes to pass.
                exactly = {"annotations": annotations, "resourceVersion": version_of(placeholder)}
                written = await self._patch(ref, placeholder, {"metadata": exactly})
                if news:
                    await self._events.record(written, "TargetRefused", news, warning=True)
            case Free(finalizers):
                metadata = {"finalizers": finalizers or None, "resourceVersion": version_of(placeholder)}
                await self._patch(ref, placeholder, {"metadata": metadata})
            case End(why):
                await self._end(ref, placeholder, why)
            case Replace(why, lost):
                await self._replace(ref, placeholder, why, lost=lost)

    async def _bind(self, ref: Ref, placeholder: Obj, target: str) -> Obj:
        """Let nobody move the pod any more, and have the placeholder sit on the node that stands for its target.

        Returns the placeholder as it was written last.
        """
        if dig(placeholder, "metadata", "annotations", TARGET) != target:
            gates = [gate for gate in dig(placeholder, "spec", "schedulingGates") or () if gate.get("name") != GATE]
            placeholder = await self._patch(
                ref,
                placeholder,
                {
                    "metadata": {
                        "annotations": {TARGET: target, REASON: self._reason(ref, target)},
                        "resourceVersion": version_of(placeholder),
                    },
                    "spec": {"schedulingGates": gates or None},
                },
            )
        if self._nodes:
            await self._seat(placeholder, target_named(target).node)
        return placeholder

    async def _seat(self, placeholder: Obj, node: str) -> None:
        metadata = {"name": name_of(placeholder), "namespace": namespace_of(placeholder), "uid": uid_of(placeholder)}
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            await self._source.create(PODS, binding, subresource="binding")
        except Conflict:
            # It sits there already, from before a restart.
            return

    def _reason(self, ref: Ref, target: str) -> str:
        decision = self._view.decision(ref)
        verdict = decision.of(target) if decision is not None else None
        return "; ".join(verdict.reasons)[:_REASON_LENGTH] if verdict is not None else ""

    async def _replace(self, ref: Ref, placeholder: Obj, why: str, *, lost: bool) -> None:
        """Delete a placeholder as an eviction does: its owner is told that it did not fail by itself."""
        await self._events.record(placeholder, "TargetLost" if lost else "PodGone", why, warning=True)
        conditions = self._disrupted(placeholder, "TargetLost" if lost else "PodGone", why)
        await self._patch(ref, placeholder, {"status": {"conditions": conditions}}, "status")
        await self._source.delete(PODS, name_of(placeholder), namespace_of(placeholder), uid=uid_of(placeholder))

    async def _end(self, ref: Ref, placeholder: Obj, why: str) -> None:
        """Have a placeholder fail as what is evicted does, so that whoever made it finds it and what became of it."""
        await self._events.record(placeholder, _REMOVED, why, warning=True)
        conditions = self._disrupted(placeholder, _REMOVED, why)
        status = {"phase": "Failed", "reason": _REMOVED, "message": why, "conditions": conditions}
        await self._patch(ref, placeholder, {"status": status}, "status")

    def _disrupted(self, placeholder: Obj, reason: str, why: str) -> list[Obj]:
        told = condition("DisruptionTarget", status=True, reason=reason, message=why)
        now = timestamp(self._runtime.now())
        return merge_conditions(dig(placeholder, "status", "conditions"), [told], now)

    async def _patch(self, ref: Ref, placeholder: Obj, patch: Obj, subresource: str = "") -> Obj:
        metadata = {**patch.get("metadata", {}), "uid": uid_of(placeholder)}
        written = await self._source.patch(
            PODS,
            name_of(placeholder),
            {**patch, "metadata": metadata},
            namespace_of(placeholder),
            subresource=subresource,
        )
        # What is shown of a pod is news to nobody but its neighbours, and to them only that it has ended.
        ended = dig(written, *_PHASE) in ENDED_PHASES
        self._view.remember(ref, written, quietly=subresource == "status" and not ended)
        return written


def _place(cluster: Cluster | None, observation: Observation, trouble: str) -> Place:
    lost = cluster is not None and cluster.offline and cluster.refused_since
    return Place(
        seen=observation.seen,
        chaperon=readable(observation.copy) if observation.copy is not None else None,
        lost_since=parse_timestamp(cluster.refused_since) if cluster is not None and lost else None,
        trouble=trouble[:_REASON_LENGTH],
    )


def _doing(action: Action) -> str:
    match action:
        case Bind(target):
            return f"to bind it to {target} is refused here"
        case Replace():
            return "to replace it is refused here"
        case _:
            return "to write down what became of it is refused here"
