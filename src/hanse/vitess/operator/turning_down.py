"""Tablets that nobody asks for any more: they go once they are drained, are not the primary, and are not missed."""

from __future__ import annotations

from hanse.api.planetscale.kinds import COMPONENT_LABEL, DRAIN_STARTED_ANNOTATION
from hanse.kube.manifest import Obj, is_deleting, labels_of
from hanse.kube.resources import PODS
from hanse.vitess.operator.clusters import Gathered
from hanse.vitess.operator.drains import drain_finished
from hanse.vitess.operator.keeping import asked_annotations, kept, kept_with
from hanse.vitess.operator.kinds import CLAIMS
from hanse.vitess.operator.shard_scene import ShardScene
from hanse.vitess.operator.tablets import VTTABLET, alias_of
from hanse.vitess.operator.verdicts import Happening

TURN_DOWN = "turning down"
ORPHANS = "orphanedTablets"


def add_orphans(scene: ShardScene, gathered: Gathered) -> None:
    """Add the Pods that must stay for now, and the claims of all that are there."""
    for pod in scene.orphans():
        alias = alias_of(pod)
        veto = turndown_veto(scene, pod, alias)
        if veto is None:
            continue
        reason, message = veto
        annotations = {**asked_annotations(pod), DRAIN_STARTED_ANNOTATION: TURN_DOWN}
        gathered.children.append(kept_with(pod, {}, annotations))
        gathered.orphans.setdefault(ORPHANS, {})[alias] = {"reason": reason, "message": message}
        gathered.events.append(Happening("TurndownBlocked", f"tablet {alias}: {message}", warning=True))
    wanted = {tablet.name for tablet in scene.tablets}
    for name, claim in scene.observed.of(CLAIMS).items():
        if name in wanted or labels_of(claim).get(COMPONENT_LABEL) != VTTABLET:
            continue
        alias = alias_of(claim)
        # A Pod may also go with its node, long before it was drained: then its disk may hold what nobody else has.
        there = name in scene.observed.of(PODS)
        claim_veto = ("PodExists", "its Pod is still there") if there else missed(scene, alias)
        if claim_veto is not None:
            gathered.children.append(kept(claim))
            said = {"reason": claim_veto[0], "message": claim_veto[1]}
            gathered.orphans.setdefault(ORPHANS, {}).setdefault(alias, said)


def turndown_veto(scene: ShardScene, pod: Obj, alias: str) -> tuple[str, str] | None:
    """Return why a tablet must stay, None where it may go."""
    if is_deleting(pod):
        return None
    if not drain_finished(pod):
        return "Draining", "it is being drained"
    return missed(scene, alias)


def missed(scene: ShardScene, alias: str) -> tuple[str, str] | None:
    """Return why a shard may miss a tablet that it does not have any more, or its disk; None where it does not."""
    if scene.primary is None:
        return "PrimaryUnknown", "topology does not say whether it is the primary"
    if scene.primary == alias:
        return "Primary", "it is the primary of its shard"
    if not scene.all_ready():
        return "ShardNotHealthy", "other tablets of its shard are not ready"
    return None
