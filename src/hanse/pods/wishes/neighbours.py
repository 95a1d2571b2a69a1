"""The other placeholders of a source, as a pod that looks for a place sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.api.clusters import Cluster
from hanse.kube.manifest import Obj, dig, is_deleting, labels_of, namespace_of, uid_of
from hanse.kube.selectors import LabelSelector
from hanse.pods.placeholder.reading import target_of
from hanse.pods.wishes.constraints import WishError, known_fields, mapping, text
from hanse.pods.wishes.node_terms import HOSTNAME, node_name

_TERM_FIELDS = (
    "labelSelector",
    "namespaces",
    "namespaceSelector",
    "topologyKey",
    "matchLabelKeys",
    "mismatchLabelKeys",
)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A placeholder, and the target in which it is or shall be; "" while it has none."""

    pod: Obj
    target: str = ""

    @property
    def ended(self) -> bool:
        """Whether its pod has run to its end."""
        return dig(self.pod, "status", "phase") in ("Succeeded", "Failed")

    @property
    def leaving(self) -> bool:
        """Whether it is being deleted."""
        return is_deleting(self.pod)

    @property
    def bound(self) -> bool:
        """Whether its pod has a node in its target, which nothing changes any more."""
        return bool(target_of(self.pod) or dig(self.pod, "spec", "nodeName"))

    def is_one(self, placeholder: Obj) -> bool:
        """Tell whether it is this very placeholder."""
        return uid_of(self.pod) == uid_of(placeholder)


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Which pods a term of (anti-)affinity or a spread speaks of, and what counts as one place for it."""

    topology_key: str
    selector: LabelSelector
    namespaces: frozenset[str] = field(default_factory=frozenset)
    everywhere: bool = False

    def speaks_of(self, pod: Obj) -> bool:
        """Tell whether the term means a pod."""
        within = self.everywhere or namespace_of(pod) in self.namespaces
        return within and self.selector.matches(labels_of(pod))


def pod_term(entry: Obj, path: str, pod: Obj) -> PodTerm:
    """Read a term of the (anti-)affinity of a pod; raises WishError."""
    known_fields(entry, path, *_TERM_FIELDS)
    namespaces = entry.get("namespaces") or []
    if not isinstance(namespaces, list) or not all(isinstance(name, str) for name in namespaces):
        raise WishError(f"{path}.namespaces must be a list of texts")
    chosen = entry.get("namespaceSelector")
    if chosen is not None and (not isinstance(chosen, dict) or any(chosen.values())):
        raise WishError(f"{path}.namespaceSelector cannot be kept among clusters; use namespaces, or {{}} for all")
    # Without any word on namespaces the pod's own is meant.
    within = namespaces if namespaces or chosen is not None else [namespace_of(pod)]
    keys = {name: _keys(entry, name, path) for name in ("matchLabelKeys", "mismatchLabelKeys")}
    selector = selector_of(entry, path, pod, keys["matchLabelKeys"], keys["mismatchLabelKeys"])
    return PodTerm(topology_key(entry, path), selector, frozenset(within), everywhere=chosen is not None)


def topology_key(entry: Obj, path: str) -> str:
    """Return the label that says what counts as one place; raises WishError."""
    key = text(entry, "topologyKey", path)
    if not key:
        raise WishError(f"{path}.topologyKey must name a label, such as {HOSTNAME}")
    return key


def selector_of(
    entry: Obj, path: str, pod: Obj, like: tuple[str, ...] = (), unlike: tuple[str, ...] = ()
) -> LabelSelector:
    """Read a term's selector, with what pods shall have in common with this one, and what not; raises WishError."""
    selector = entry.get("labelSelector")
    if selector is None:
        return LabelSelector.from_object(None)
    if not isinstance(selector, dict):
        raise WishError(f"{path}.labelSelector must be a mapping")
    expressions = list(selector.get("matchExpressions") or ())
    labels = labels_of(pod)
    for keys, operator in ((like, "In"), (unlike, "NotIn")):
        expressions += [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys if key in labels]
    try:
        labels_wanted = mapping(selector, "matchLabels", f"{path}.labelSelector.")
        return LabelSelector.from_object({"matchLabels": labels_wanted, "matchExpressions": expressions})
    except (ValueError, AttributeError, TypeError) as error:
        raise WishError(f"{path}.labelSelector: {error}") from error


def match_label_keys(entry: Obj, path: str) -> tuple[str, ...]:
    """Return the labels that pods have to share with this one; raises WishError."""
    return _keys(entry, "matchLabelKeys", path)


def _keys(entry: Obj, name: str, path: str) -> tuple[str, ...]:
    keys = entry.get(name) or []
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise WishError(f"{path}.{name} must be a list of texts")
    return tuple(keys)


@dataclass(frozen=True, slots=True)
class Places:
    """The clusters by the places that their labels make of them."""

    clusters: Mapping[str, Cluster]

    def place(self, target: str, key: str) -> str | None:
        """Return the place that a target belongs to, None where it has no such label."""
        cluster = self.clusters.get(target)
        if cluster is None:
            return None
        return node_name(target) if key == HOSTNAME else cluster.labels.get(key)

    def within(self, key: str, place: str | None) -> list[str]:
        """Return the targets of one place, in order; of those without the label, for None."""
        return [name for name in sorted(self.clusters) if self.place(name, key) == place]
