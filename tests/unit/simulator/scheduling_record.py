"""What kube-scheduler 1.36.3 said of each case; `tests/kubernetes/test_scheduling.py` holds it to its word."""

RECORDED = {
    "there are no nodes": ("no nodes available to schedule pods"),
    "no node has so much cpu": (
        "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are "
        "available: 3 Preemption is not helpful for scheduling."
    ),
    "others have taken the cpu": (
        "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are "
        "available: 3 No preemption victims found for incoming pod."
    ),
    "cpu is taken on some and too little on others": (
        "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are "
        "available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for "
        "scheduling."
    ),
    "neither cpu nor memory": (
        "0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory. no new claims to deallocate, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    ),
    "cpu here, memory there": (
        "0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. no new claims to deallocate, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    ),
    "no node has such a device": (
        "0/2 nodes are available: 2 Insufficient example.com/gpu. no new claims to deallocate, preemption: "
        "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    ),
    "the devices are taken": (
        "0/1 nodes are available: 1 Insufficient example.com/gpu. no new claims to deallocate, preemption: "
        "0/1 nodes are available: 1 No preemption victims found for incoming pod."
    ),
    "too little ephemeral storage": (
        "0/2 nodes are available: 2 Insufficient ephemeral-storage. no new claims to deallocate, preemption: "
        "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    ),
    "too many pods": (
        "0/1 nodes are available: 1 Too many pods. no new claims to deallocate, preemption: 0/1 nodes are "
        "available: 1 No preemption victims found for incoming pod."
    ),
    "too many pods and too little cpu": (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Too many pods. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    ),
    "every node is cordoned": (
        "0/3 nodes are available: 3 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 "
        "nodes are available: 3 Preemption is not helpful for scheduling."
    ),
    "taints that are not tolerated": (
        "0/2 nodes are available: 2 node(s) had untolerated taint(s). no new claims to deallocate, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    ),
    "a toleration of another value": (
        "0/1 nodes are available: 1 node(s) had untolerated taint(s). no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    ),
    "a taint that evicts": (
        "0/1 nodes are available: 1 node(s) had untolerated taint(s). no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    ),
    "one cordoned, one tainted, one too small": (
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were "
        "unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is "
        "not helpful for scheduling."
    ),
    "counts are sorted as text": (
        "0/13 nodes are available: 1 node(s) were unschedulable, 10 Insufficient cpu, 2 node(s) had "
        "untolerated taint(s). no new claims to deallocate, preemption: 0/13 nodes are available: 13 "
        "Preemption is not helpful for scheduling."
    ),
    "a node selector that no node matches": (
        "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. no new claims to "
        "deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    ),
    "a required zone that is not there": (
        "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. no new claims to "
        "deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    ),
    "a number that no label exceeds": (
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. no new claims to "
        "deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    ),
    "selector and affinity must both match": (
        "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. no new claims to "
        "deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    ),
    "a node of a name that is not there": (
        "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. no new claims to "
        "deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    ),
    "a node of a name that is full": (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. no "
        "new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for "
        "incoming pod, 2 Preemption is not helpful for scheduling."
    ),
    "two names at once": ("0/2 nodes are available: pod affinity terms conflict. not found"),
    "the host port is taken": (
        "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports. no new "
        "claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for "
        "incoming pod."
    ),
    "nobody to be near to": (
        "0/2 nodes are available: 2 node(s) didn't match pod affinity rules. no new claims to deallocate, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    ),
    "the neighbour's zone is cordoned": (
        "0/2 nodes are available: 1 node(s) didn't match pod affinity rules, 1 node(s) were unschedulable. "
        "no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for "
        "scheduling."
    ),
    "a neighbour of another namespace": (
        "0/1 nodes are available: 1 node(s) didn't match pod affinity rules. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    ),
    "one of its kind everywhere": (
        "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. no new claims to "
        "deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    ),
    "those that are there do not want it": (
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules. no new claims "
        "to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    ),
    "unwanted by some, too small the others": (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy existing pods anti-affinity "
        "rules. no new claims to deallocate, preemption: 0/2 nodes are available: 1 No preemption victims "
        "found for incoming pod, 1 Preemption is not helpful for scheduling."
    ),
    "zones would be too uneven": (
        "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) were "
        "unschedulable. no new claims to deallocate, preemption: 0/2 nodes are available: 1 No preemption "
        "victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    ),
    "too few zones": (
        "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints. no new claims to "
        "deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    ),
    "a node without the label to spread over": (
        "0/3 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) didn't "
        "match pod topology spread constraints (missing required label), 1 node(s) were unschedulable. no "
        "new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for "
        "incoming pod, 2 Preemption is not helpful for scheduling."
    ),
    "no such claim": ('0/2 nodes are available: persistentvolumeclaim "data" not found. not found'),
    "a claim that is not bound yet": (
        "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    ),
    "no volume for a claim that waits": (
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. no new claims "
        "to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    ),
    "the volume is elsewhere": (
        "0/3 nodes are available: 3 node(s) didn't match PersistentVolume's node affinity. no new claims to "
        "deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    ),
    "the volume is gone": ('0/2 nodes are available: persistentvolume "pv" not found. not found'),
    "the volume is in a zone that is full": (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match PersistentVolume's node "
        "affinity. no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims "
        "found for incoming pod, 2 Preemption is not helpful for scheduling."
    ),
    "the volume's own zone label": (
        "0/3 nodes are available: 3 node(s) had no available volume zone. no new claims to deallocate, "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    ),
    "a claim for one pod that has one": (
        "0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
        "access mode already in-use by another pod. no new claims to deallocate, preemption: 0/1 nodes are "
        "available: 1 No preemption victims found for incoming pod."
    ),
    "a pod that must not push others out": (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible "
        "due to preemptionPolicy=Never."
    ),
    "pushing the humble out is not enough": (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are "
        "available: 1 Insufficient cpu."
    ),
    "pushing out helps with nothing that is tainted": (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). no new claims to "
        "deallocate, preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 "
        "Preemption is not helpful for scheduling."
    ),
}
