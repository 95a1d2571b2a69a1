"""Labels, annotations and other words of Admiralty's API and of Hanse's part in it, each spelt once."""

from __future__ import annotations

PREFIX = "multicluster.admiralty.io/"

# On a Namespace: its annotated pods run elsewhere. The value counts.
NAMESPACE_LABEL = "multicluster-scheduler"
ENABLED = "enabled"

# On a pod (template), by users. What counts of the first three is that they are there.
ELECT = f"{PREFIX}elect"
NO_RESERVATION = f"{PREFIX}no-reservation"
SPEC_CONSTRAINTS = f"{PREFIX}use-constraints-from-spec-for-proxy-pod-scheduling"
PROXY_CONSTRAINTS = f"{PREFIX}proxy-pod-scheduling-constraints"
NO_PREFIX = f"{PREFIX}no-prefix-label-regexp"
USER_ANNOTATIONS = frozenset({ELECT, NO_RESERVATION, SPEC_CONSTRAINTS, PROXY_CONSTRAINTS, NO_PREFIX})

# On a placeholder, by admission: the pod as it was submitted.
MANIFEST = f"{PREFIX}sourcepod-manifest"
# On a placeholder, by admission: what tells that manifest from one that somebody else wrote.
SEAL = "pods.hanse.dev/seal"
# On a placeholder and on what goes with it: there is a finalizer of ours.
HAS_FINALIZER = f"{PREFIX}has-finalizer"
# What stands for the scheduler of a placeholder: nobody answers to it, and no cluster's scheduler takes it.
PROXY_SCHEDULER = "admiralty-proxy"
# Keeps every scheduler and autoscaler from a placeholder until the pod has a place elsewhere.
GATE = "pods.hanse.dev/elsewhere"
# The engine's finalizer on placeholders and on what goes with them, beside Admiralty's one a target.
POD_FINALIZER = "pods.hanse.dev/placed"
# On a placeholder, by Hanse: what targets answered that could not run the pod, as JSON: {TARGET: {"at": TIME, "why":
# SENTENCE}}, and which attempt to place it this is, counted from 1.
ANSWERS = "pods.hanse.dev/answers"
ATTEMPT = "pods.hanse.dev/attempt"
# On a placeholder, by Hanse: the target that its pod runs in, from when it was seen to have a node there; it never
# changes. And one sentence, why it is that one.
TARGET = "pods.hanse.dev/target"
REASON = "pods.hanse.dev/reason"
# On a placeholder, by Hanse: the names of its annotations that came from its pod, by commas.
SHOWN = "pods.hanse.dev/shown"
# On a pod (template), by users: "all" or a number: so many pods of the same controller are placed together or not at
# all; and what else shall follow the pod, of "serviceaccounts", "persistentvolumeclaims" and "namespaces", by commas.
GANG = "pods.hanse.dev/gang"
FOLLOW = "pods.hanse.dev/follow"
# On a pod (template), by users: for how many seconds its target may be lost before it is replaced; "never".
LOST_AFTER = "pods.hanse.dev/lost-after"
# On a pod (template), by users: after so many seconds without a sign of the source a keeper inside its target stops it.
EXPIRES_AFTER = "pods.hanse.dev/expires-after"
# A target's finalizer, from before anything is sent there: pods of its source may be there.
TARGET_FINALIZER = "pods.hanse.dev/drained"
# On a Target or ClusterTarget, by its owner: "true" says that its cluster makes nodes for pods that wait.
AUTOSCALES = "pods.hanse.dev/autoscales"
# In `spec.managedBy` of a Job: it runs whole in another cluster. On such a Job, by Hanse, from when it has begun: the
# target (TARGET), and the generation of the Job that the target has.
JOB_MANAGER = "pods.hanse.dev/whole-job"
GENERATION = "pods.hanse.dev/generation"

# On every object in a target, by which its parent in the source is known.
PARENT_UID = f"{PREFIX}parent-uid"
PARENT_CLUSTER = f"{PREFIX}parent-cluster-name"
PARENT_NAMESPACE = f"{PREFIX}parent-namespace"
PARENT_NAME = f"{PREFIX}parent-name"
# On a chaperon whose pod vanished: since when.
POD_MISSING_SINCE = f"{PREFIX}pod-missing-since"
# A chaperon's finalizer: its pod has yet to end.
CHAPERON_FINALIZER = "pods.hanse.dev/pod"
# On a chaperon, from its creation: the word of the keeper that makes its pod at once; any other waits, as it does for
# one that was written later (`status.fence.making`).
MAKER = "pods.hanse.dev/maker"
# On the pod of a chaperon, if it must not run again once it has ended: the chaperon has yet to write it down.
UNRECORDED_FINALIZER = "pods.hanse.dev/unrecorded"

# On Services and Ingresses that are in several clusters; on their copies; on rerouted Services.
GLOBAL = f"{PREFIX}global"
IS_DELEGATE = f"{PREFIX}is-delegate"
ORIGINAL_SELECTOR = f"{PREFIX}original-selector"
CILIUM_GLOBAL = "io.cilium/global-service"

# On a virtual node: what it is, and which target it stands for.
PROVIDER = "virtual-kubelet.io/provider"
PROVIDER_NAME = "admiralty"
NODE_TYPE, VIRTUAL = "type", "virtual-kubelet"
NODE_TARGET_NAMESPACE = f"{PREFIX}target-namespace"
NODE_TARGET_NAME = f"{PREFIX}target-name"
NODE_CLUSTER_TARGET = f"{PREFIX}cluster-target-name"

# What the door of pods is called on a Cluster of the federation.
PODS_DOOR = "pods"
