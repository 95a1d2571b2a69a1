"""How a random world must be once nobody disturbs it any more, and once everything in it was deleted."""

from __future__ import annotations

from collections.abc import Iterator

from hanse.api.admiralty.keys import JOB_MANAGER, PARENT_CLUSTER, PARENT_UID, PREFIX, TARGET
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, POD_CHAPERONS, TARGETS
from hanse.api.admiralty.names import target_named
from hanse.api.plain_kinds import JOBS
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Obj, annotations_of, dig, finalizers_of, is_deleting, key_of, labels_of, name_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, NODES, PODS
from hanse.pods.placeholder.reading import is_placeholder
from tests.simulation.pods.random_acts import BAD, RUN_SECONDS, Stage
from tests.simulation.pods.random_judge import KEPT
from tests.simulation.pods.random_world import HOME

_ENDED = ("Succeeded", "Failed")
_PHASES = ("Running", *_ENDED)
_OURS = (PREFIX, "pods.hanse.dev/")


def problems(stage: Stage) -> list[str]:
    """Return what is not as it would be at home, one sentence each."""
    placeholders = {uid_of(pod): pod for pod in stage.judge.of(HOME, PODS) if is_placeholder(pod)}
    found = [sentence for pod in placeholders.values() for sentence in _placeholder_problems(stage, pod)]
    for uid, name in stage.bare.items():
        if uid not in stage.judge.touched:
            found += _bare_problems(placeholders.get(uid), name)
    found += [sentence for obj in stage.judge.of(HOME, DEPLOYMENTS) for sentence in _deployment_problems(obj)]
    found += [sentence for obj in stage.judge.of(HOME, JOBS) for sentence in _job_problems(stage, obj)]
    for place in stage.federation.members:
        found += [f"{place}: pod {key_of(pod)} has not ended yet" for pod in stage.judge.of(place, PODS) if _works(pod)]
        for kind in (PODS, POD_CHAPERONS):
            for obj in stage.judge.of(place, kind):
                parent = labels_of(obj).get(PARENT_UID)
                if parent is not None and parent not in placeholders:
                    found.append(f"{place}: {kind.kind} {key_of(obj)} is there for a placeholder that is gone")
    return found


def _placeholder_problems(stage: Stage, pod: Obj) -> Iterator[str]:
    named, phase = f"placeholder {key_of(pod)}", dig(pod, "status", "phase")
    if is_deleting(pod):
        yield f"{named} is still being deleted, held by {finalizers_of(pod)}"
    elif phase not in _PHASES:
        yield f"{named} is {phase}: {dig(pod, 'status', 'conditions')}"
    elif phase == "Running":
        delegates = stage.judge.delegates(uid_of(pod))
        aims = {str(aim.name): aim.cluster for aim in stage.aims}
        target = annotations_of(pod).get(TARGET, "")
        if [place for place, _pod in delegates] != [aims.get(target)]:
            yield f"{named} runs in {target} and its pods are in {[place for place, _pod in delegates]}"
        elif dig(delegates[0][1], "status", "phase") != "Running":
            yield f"{named} is Running and its pod is {dig(delegates[0][1], 'status', 'phase')}"


def _works(pod: Obj) -> bool:
    """Tell whether a pod is yet to end by itself: then its cluster has other room to tell of, and nothing is steady."""
    return RUN_SECONDS in annotations_of(pod) and dig(pod, "status", "phase") not in _ENDED


def _bare_problems(pod: Obj | None, name: str) -> Iterator[str]:
    if pod is None:
        yield f"pod {name} is gone and nobody deleted it"
        return
    restart, phase = dig(pod, "spec", "restartPolicy"), dig(pod, "status", "phase")
    ended = "Failed" if name.startswith(BAD) else "Succeeded"
    wanted = {"Never": (ended,), "OnFailure": ("Running",) if name.startswith(BAD) else ("Succeeded",)}
    if phase not in wanted.get(restart, ("Running",)):
        yield f"pod {name} ({restart}) is {phase}"


def _deployment_problems(obj: Obj) -> Iterator[str]:
    wanted, status = dig(obj, "spec", "replicas"), obj.get("status") or {}
    counts = [status.get(name, 0) for name in ("replicas", "availableReplicas", "updatedReplicas")]
    if counts != [wanted] * 3:
        yield f"Deployment {name_of(obj)} should have {wanted} replicas and tells of {counts}"


def _job_problems(stage: Stage, obj: Obj) -> Iterator[str]:
    whole = dig(obj, "spec", "managedBy") == JOB_MANAGER
    if PARENT_UID in labels_of(obj) or (whole and uid_of(obj) in stage.judge.touched):
        return
    wanted = "Failed" if name_of(obj).startswith(BAD) else "Complete"
    conditions = dig(obj, "status", "conditions")
    if not is_true(conditions, wanted):
        yield f"Job {name_of(obj)} should be {wanted} and has {conditions}, {obj.get('status')}"
    elif wanted == "Complete" and dig(obj, "status", "succeeded") != dig(obj, "spec", "completions", default=1):
        yield f"Job {name_of(obj)} has {dig(obj, 'status', 'succeeded')} of {dig(obj, 'spec', 'completions')}"


def leftovers(stage: Stage) -> list[str]:
    """Return what is left after everything was deleted."""
    found = []
    for place, held in stage.judge.objects.items():
        for (bucket, path), obj in held.items():
            named = f"{place}: {KEPT[bucket].kind} {path}"
            if PARENT_CLUSTER in labels_of(obj) or PARENT_UID in labels_of(obj):
                found.append(f"{named} is left over")
            if KEPT[bucket] in (TARGETS, CLUSTER_TARGETS):
                continue
            found += [f"{named} keeps finalizer {each}" for each in finalizers_of(obj) if each.startswith(_OURS)]
    wanted = sorted(target_named(str(aim.name)).node for aim in stage.aims)
    nodes = sorted(name_of(obj) for obj in stage.judge.of(HOME, NODES) if name_of(obj).startswith("admiralty-"))
    return found if nodes == wanted else [*found, f"virtual nodes are {nodes} and should be {wanted}"]
