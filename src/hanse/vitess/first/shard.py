"""VitessShard: from the pools of a shard to a volume and a pod for each tablet. Pure."""

from __future__ import annotations

from hanse.api.vitess.kinds import TABLET_UID_LABEL
from hanse.kube.manifest import Obj, labels_of
from hanse.vitess.first.levels import absent, of_kind, ready_condition
from hanse.vitess.first.reparent import is_up, may_be_relieved, next_move
from hanse.vitess.first.tablets import claim_of, pod_of, surplus_replicas, tablets_of


def sync(request: Obj) -> Obj:
    """Return the volumes of a shard, its pods, those first that cannot be the primary, and its status."""
    shard, children = request["parent"], request["children"]
    pods, jobs = children["Pod.v1"], children["Job.batch/v1"]
    observed = of_kind(children, "Pod.v1")
    wanted = tablets_of(shard["spec"])
    ready = sorted(_uid(each) for each in observed if is_up(each))
    # What is too much and could be the primary stays until the primary is elsewhere.
    surplus = [each for each in surplus_replicas(shard["spec"], ready) if may_be_relieved(shard["spec"], each)]
    move = next_move(shard, surplus, pods, jobs)
    staying = [*wanted, *(each for each in surplus if not (move and move.done and move.tablet == each))]
    claims = [claim for each in staying if (claim := claim_of(shard, each)) is not None]
    uids, present = [each.uid_string for each in wanted], sorted(_uid(each) for each in observed)
    missing = absent("tablet", uids, ready) or [f"tablet {each} to go" for each in present if each not in uids]
    return {
        "status": {
            "tablets": present,
            "readyTablets": ready,
            "reparented": move.job["metadata"]["name"] if move and move.done else "",
            "conditions": [ready_condition(missing)],
        },
        "children": [*claims, *(pod_of(shard, each) for each in staying), *([move.job] if move else [])],
    }


def _uid(pod: Obj) -> str:
    return labels_of(pod).get(TABLET_UID_LABEL, "")
