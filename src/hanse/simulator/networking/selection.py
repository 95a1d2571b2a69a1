"""Which pods stand behind a Service."""

from __future__ import annotations

from hanse.kube.manifest import Obj, dig, namespace_of
from hanse.kube.selectors import LabelSelector
from hanse.simulator.pods import PodFacts, PodIndex


def selector_of(service: Obj) -> LabelSelector | None:
    """Return a Service's selector; None where it has none and somebody else keeps its endpoints."""
    labels: dict[str, str] = dig(service, "spec", "selector", default={})
    return LabelSelector.from_labels(labels) if labels else None


def selected_pods(service: Obj, pods: PodIndex) -> list[PodFacts]:
    """Return the pods with an address that a Service selects, in the order of their names."""
    selector = selector_of(service)
    if selector is None:
        return []
    found = [pod for pod in pods.in_namespace(namespace_of(service)) if pod.ip and selector.matches(pod.labels)]
    return sorted((pod for pod in found if not pod.finished), key=lambda pod: pod.key)


def ready_pods(service: Obj, pods: PodIndex) -> list[PodFacts]:
    """Return the pods that may be sent traffic."""
    return [pod for pod in selected_pods(service, pods) if pod.ready and not pod.deleting]
