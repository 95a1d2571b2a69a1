"""From the submitted pod to the PodChaperon that a target gets: what its pod shall be there."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.api.admiralty.keys import (
    CHAPERON_FINALIZER,
    NO_PREFIX,
    PARENT_CLUSTER,
    PARENT_NAME,
    PARENT_NAMESPACE,
    PARENT_UID,
    PREFIX,
    PROXY_CONSTRAINTS,
    SPEC_CONSTRAINTS,
)
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.admiralty.names import child_name
from hanse.api.names import PREFIX as HANSE_PREFIX
from hanse.kube.cel.regex import matches
from hanse.kube.manifest import Key, Obj, annotations_of, key_of, labels_of, uid_of
from hanse.pods.placeholder.annotations import shown_before
from hanse.pods.placeholder.reading import attempt_of, expires_after

# What belongs to the API of pods, to Admiralty or to Hanse is between them and the source.
_OWN = (PREFIX, "pods.hanse.dev/", HANSE_PREFIX, "kubectl.kubernetes.io/last-applied-configuration")
_TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_CONSTRAINTS = ("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints")
# What the source's admission and scheduler gave the pod; the target's give their own.
_GIVEN = ("nodeName", "priority", "preemptionPolicy", "schedulingGates")


def chaperon_key(source: str, placeholder: Key) -> Key:
    """Return what the chaperon of a placeholder is called in every target."""
    return Key(placeholder.namespace, child_name(source, placeholder.namespace, placeholder.name))


def chaperon_of(source: str, placeholder: Obj, pod: Obj) -> Obj:
    """Return the chaperon for a target that is another cluster than the source."""
    key = key_of(placeholder)
    name = chaperon_key(source, key)
    return {
        "apiVersion": POD_CHAPERONS.api_version,
        "kind": POD_CHAPERONS.kind,
        "metadata": {
            "name": name.name,
            "namespace": name.namespace,
            "labels": {**labels_of(pod), **parent_labels(source, placeholder)},
            "annotations": {**_asked(placeholder, pod), PARENT_NAMESPACE: key.namespace, PARENT_NAME: key.name},
            "finalizers": [CHAPERON_FINALIZER],
        },
        "spec": delegate_spec(pod),
        "fence": _fence(placeholder, pod),
    }


def parent_labels(source: str, placeholder: Obj) -> dict[str, str]:
    """Return the labels by which everything of a placeholder is found in a target."""
    return {PARENT_UID: uid_of(placeholder), PARENT_CLUSTER: source}


def home_labels(source: str, placeholder: Obj, pod: Obj) -> dict[str, str]:
    """Return the labels in the source itself, where the pod's owner must not take the chaperon's pod for its own."""
    return {**prefixed(labels_of(pod), annotations_of(pod).get(NO_PREFIX)), **parent_labels(source, placeholder)}


def prefixed(labels: Mapping[str, str], keep: str | None) -> dict[str, str]:
    """Return labels under keys of Admiralty's; those whose `key=value` the pattern `keep` matches stay as they are.

    Raises ValueError where that is no pattern.
    """
    return {
        key if keep is not None and matches(f"{key}={value}", keep) else PREFIX + key.rpartition("/")[2]: value
        for key, value in labels.items()
    }


def delegate_spec(pod: Obj) -> Obj:
    """Return the spec of the pod that runs: the submitted one without what only the source could mean."""
    spec = {name: value for name, value in pod["spec"].items() if name not in _GIVEN}
    annotations = annotations_of(pod)
    if SPEC_CONSTRAINTS in annotations and PROXY_CONSTRAINTS not in annotations:
        spec = {name: value for name, value in spec.items() if name not in _CONSTRAINTS}
    return _without_token(spec)


def _fence(placeholder: Obj, pod: Obj) -> Obj:
    expiry = expires_after(pod)
    return {"attempt": attempt_of(placeholder)} | ({"expirySeconds": expiry} if expiry is not None else {})


def _asked(placeholder: Obj, pod: Obj) -> dict[str, str]:
    """Return the annotations that the pod shall have; what came from it is not asked for in return."""
    shown = shown_before(placeholder)
    return {name: text for name, text in annotations_of(pod).items() if not name.startswith(_OWN) and name not in shown}


def _without_token(spec: Obj) -> Obj:
    """Take the source's service account token out; a target that has an account of that name gives its own."""
    mounts = [mount for each in _containers(spec) for mount in each.get("volumeMounts") or ()]
    tokens = {mount.get("name") for mount in mounts if mount.get("mountPath") == _TOKEN_PATH}
    if not tokens:
        return spec
    result = dict(spec)
    for kind in ("containers", "initContainers"):
        if kind in spec:
            result[kind] = [_without_mount(each) for each in spec[kind]]
    used = {mount.get("name") for each in _containers(result) for mount in each.get("volumeMounts") or ()}
    result["volumes"] = [
        volume for volume in spec.get("volumes") or () if volume.get("name") not in tokens or volume["name"] in used
    ]
    return result


def _containers(spec: Obj) -> list[Obj]:
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def _without_mount(container: Obj) -> Obj:
    if "volumeMounts" not in container:
        return container
    mounts = [mount for mount in container["volumeMounts"] or () if mount.get("mountPath") != _TOKEN_PATH]
    return {**container, "volumeMounts": mounts}
