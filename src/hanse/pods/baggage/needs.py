"""What follows a pod into its target: ConfigMaps and Secrets always, some other kinds where the pod asks for it."""

from __future__ import annotations

from hanse.api.admiralty.keys import FOLLOW
from hanse.api.plain_kinds import CLAIMS
from hanse.kube.manifest import Key, Obj, annotations_of, dig, namespace_of
from hanse.kube.resources import NAMESPACES, SERVICE_ACCOUNTS
from hanse.pods.placeholder.template import delegate_spec
from hanse.propagation.dependencies import NO_NEEDS, Need, Needs, named_by
from hanse.propagation.intent import Ref

# What only follows where the pod's annotation says so: an account brings no rights along, a claim no data.
_OPTIONAL = frozenset({SERVICE_ACCOUNTS, CLAIMS})


def needs_of(workload: Obj) -> Needs:
    """Return what follows a pod, or the pods of a Job, into the cluster that it goes to.

    The token of the pod's account is not among it: the target mounts one of its own.
    """
    pod = dig(workload, "spec", "template") or workload
    if not isinstance(dig(pod, "spec", "containers"), list):
        return NO_NEEDS
    metadata = {"namespace": namespace_of(workload)}
    named = named_by({"kind": "Pod", "metadata": metadata, "spec": delegate_spec({"metadata": {}, **pod})})
    asked = followed_kinds(workload) | followed_kinds(pod)
    kept = [need for need in named if need.ref.resource not in _OPTIONAL or need.ref.resource.plural in asked]
    if NAMESPACES.plural in asked and namespace_of(workload):
        kept.append(Need(Ref(NAMESPACES, Key("", namespace_of(workload)))))
    return Needs(tuple(kept), follow=bool(kept))


def followed_kinds(pod: Obj) -> frozenset[str]:
    """Return the kinds, as in URLs, that the annotation of a pod has follow it beyond what always does."""
    metadata = pod.get("metadata")
    text = annotations_of(pod).get(FOLLOW, "") if isinstance(metadata, dict) else ""
    return frozenset(word.strip() for word in text.split(",") if word.strip())
