"""Targets and ClusterTargets as plain values, each with the sentence that says why it cannot be used. Pure.

The definitions refuse what is ill-formed when it is written; what got past them, or was there before, is read with care
all the same: one odd target must not stop the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hanse.api.admiralty.keys import AUTOSCALES, TARGET_FINALIZER
from hanse.api.admiralty.names import TargetName
from hanse.kube.cel.regex import pattern_problem
from hanse.kube.manifest import Key, Obj, annotations_of, dig, finalizers_of, is_deleting, name_of, namespace_of, uid_of

# The key of a Secret under which Admiralty looks for a kubeconfig when none is named.
DEFAULT_KEY = "config"
_WAYS = "spec must have exactly one of self: true, kubeconfigSecret and clusterName"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where a kubeconfig is: a Secret, a key of it, and a context, "" for the current one."""

    secret: Key
    key: str = DEFAULT_KEY
    context: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """A place in which pods of a source may run; where `trouble` says why not, nothing else counts.

    It is the source `itself`, or the registered `cluster`, or where the `credentials` lead. What is wrong with it and
    does not keep it from being used is the `warning`. One that is `held` stays until it is
    drained when it is `leaving`.
    """

    name: TargetName
    uid: str = ""
    created: str = ""
    itself: bool = False
    cluster: str = ""
    credentials: Credentials | None = None
    autoscales: bool = False
    excluded_labels: str = ""
    leaving: bool = False
    held: bool = False
    trouble: str = ""
    warning: str = ""

    @property
    def age(self) -> tuple[str, TargetName]:
        """What orders targets from the oldest to the youngest."""
        return self.created, self.name


def read_target(obj: Obj) -> Target:
    """Read a Target or ClusterTarget."""
    name = TargetName(namespace_of(obj), name_of(obj))
    way = _way(obj.get("spec"), name)
    fields = {"trouble": way} if isinstance(way, str) else way
    pattern, warning = _pattern(dig(obj, "spec", "excludedLabelsRegexp"))
    return Target(
        name=name,
        uid=uid_of(obj),
        created=dig(obj, "metadata", "creationTimestamp", default=""),
        autoscales=annotations_of(obj).get(AUTOSCALES) == "true",
        excluded_labels=pattern,
        leaving=is_deleting(obj),
        held=TARGET_FINALIZER in finalizers_of(obj),
        warning=warning,
        **fields,
    )


def _way(spec: Any, name: TargetName) -> dict[str, Any] | str:
    """Return the field of a target that says where it leads, or why it leads nowhere."""
    if not isinstance(spec, dict):
        return f"{_WAYS}; it is empty"
    itself, secret, cluster = spec.get("self"), spec.get("kubeconfigSecret"), spec.get("clusterName")
    given = [
        field
        for field, value in (("self", itself), ("kubeconfigSecret", secret), ("clusterName", cluster))
        if value not in (None, False, "")
    ]
    if len(given) != 1:
        return f"{_WAYS}; it has {' and '.join(given) or 'none of them'}"
    if given == ["self"]:
        return {"itself": True} if itself is True else "spec.self must be true or left out"
    if given == ["clusterName"]:
        return {"cluster": cluster} if isinstance(cluster, str) else "spec.clusterName must be the name of a Cluster"
    return _credentials(secret, name)


def _credentials(secret: Any, name: TargetName) -> dict[str, Any] | str:
    if not isinstance(secret, dict):
        return "spec.kubeconfigSecret must name a Secret by its name"
    texts = {field: secret.get(field) or "" for field in ("namespace", "name", "key", "context")}
    if odd := next((field for field, text in texts.items() if not isinstance(text, str)), ""):
        return f"spec.kubeconfigSecret.{odd} must be a text"
    if not texts["name"]:
        return "spec.kubeconfigSecret.name must name a Secret"
    # A namespaced target reaches no further than its own namespace, whatever it says.
    namespace = name.namespace or texts["namespace"]
    if not namespace:
        return "spec.kubeconfigSecret.namespace must name the namespace of the Secret"
    key = Key(namespace, texts["name"])
    return {"credentials": Credentials(key, texts["key"] or DEFAULT_KEY, texts["context"])}


def _pattern(pattern: Any) -> tuple[str, str]:
    """Return the labels that are left out, and what is wrong with how that is said: then none are."""
    if pattern is None or pattern == "":
        return "", ""
    problem = pattern_problem(pattern) if isinstance(pattern, str) else "it is not a text"
    if problem:
        return "", f"spec.excludedLabelsRegexp is not used, so no label is left out: {problem}"
    return str(pattern), ""
