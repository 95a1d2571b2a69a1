"""How an object does, judged by its own status."""

import pytest

from hanse.cli.health import Health, Mark, health_of


def pod(phase="Running", ready=True, waiting="", **status):
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
    return {
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a"}]},
        "status": {"phase": phase, "containerStatuses": [{"ready": ready, "state": state}], **status},
    }


def workload(kind="Deployment", replicas=2, generation=1, **status):
    metadata = {"name": "w", "generation": generation}
    return {"kind": kind, "metadata": metadata, "spec": {"replicas": replicas}, "status": status}


NO_ROOM = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes have room"}
STUCK = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"}
QUOTA = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}
JOB_FAILED = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "too many failures"}
UNREADY = {"type": "Ready", "status": "False", "message": "no shards"}


@pytest.mark.parametrize(
    ("obj", "health"),
    [
        (pod(), Health(Mark.OK, "1/1")),
        (pod(ready=False), Health(Mark.WAITING, "0/1", "not ready")),
        (pod("Pending", ready=False), Health(Mark.WAITING, "0/1", "Pending")),
        (pod("Pending", ready=False, waiting="ErrImagePull"), Health(Mark.FAILED, "0/1", "ErrImagePull")),
        (pod(ready=False, waiting="CrashLoopBackOff"), Health(Mark.FAILED, "0/1", "CrashLoopBackOff")),
        (pod("Pending", ready=False, conditions=[NO_ROOM]), Health(Mark.FAILED, "0/1", "0/3 nodes have room")),
        (pod("Failed", ready=False, reason="Evicted"), Health(Mark.FAILED, "0/1", "Evicted")),
        (pod("Succeeded", ready=False), Health(Mark.OK, "0/1", "completed")),
        (workload(readyReplicas=2, observedGeneration=1), Health(Mark.OK, "2/2")),
        (workload(readyReplicas=1, observedGeneration=1), Health(Mark.WAITING, "1/2", "1 not ready")),
        (
            workload(generation=2, readyReplicas=2, observedGeneration=1),
            Health(Mark.WAITING, "2/2", "its controller has yet to see the change"),
        ),
        (
            workload(readyReplicas=2, updatedReplicas=1, observedGeneration=1),
            Health(Mark.WAITING, "2/2", "1 of 2 up to date"),
        ),
        (workload(readyReplicas=1, conditions=[STUCK]), Health(Mark.FAILED, "1/2", "timed out")),
        (workload("ReplicaSet", readyReplicas=0, conditions=[QUOTA]), Health(Mark.FAILED, "0/2", "exceeded quota")),
        (workload("DaemonSet", desiredNumberScheduled=3, numberReady=3), Health(Mark.OK, "3/3")),
        (workload("Job", active=1), Health(Mark.WAITING, "0/1", "1 active")),
        (workload("Job", conditions=[JOB_FAILED]), Health(Mark.FAILED, "0/1", "too many failures")),
        (
            workload("Job", succeeded=1, conditions=[{"type": "Complete", "status": "True"}]),
            Health(Mark.OK, "1/1", "completed"),
        ),
        (workload("PersistentVolumeClaim", phase="Bound"), Health(Mark.OK)),
        (workload("PersistentVolumeClaim"), Health(Mark.WAITING, why="Pending")),
        (
            {"kind": "Service", "metadata": {"name": "s"}, "spec": {"type": "LoadBalancer"}},
            Health(Mark.WAITING, why="no address yet"),
        ),
        ({"kind": "Service", "metadata": {"name": "s"}, "spec": {"type": "ClusterIP"}}, Health(Mark.OK)),
        ({"kind": "ConfigMap", "metadata": {"name": "c"}}, Health(Mark.OK)),
        (workload("VitessCluster", conditions=[UNREADY]), Health(Mark.WAITING, why="no shards")),
        (
            {"kind": "ConfigMap", "metadata": {"name": "c", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
            Health(Mark.WAITING, why="being deleted"),
        ),
    ],
)
def test_an_object_is_judged_by_its_own_status(obj, health):
    assert health_of(obj) == health
