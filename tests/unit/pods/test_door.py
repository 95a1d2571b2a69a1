"""The door of pods: what it makes of a placeholder."""

import orjson
import pytest

from hanse.api.admiralty.keys import MANIFEST, PROXY_SCHEDULER
from hanse.api.admiralty.names import TargetName
from hanse.pods.door import PodDoor


class TwoTargets:
    def __init__(self, leaving=()):
        self.leaving = leaving

    def targets(self):
        return (TargetName("", "a"), TargetName("", "b"))

    def is_self(self, _name):
        return False

    def is_leaving(self, name):
        return name in self.leaving


def placeholder():
    metadata = {"name": "one", "namespace": "default", "uid": "u1", "creationTimestamp": "2026-01-31T12:00:00Z"}
    spec = {"containers": [{"name": "main", "image": "busybox"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": "default"}, "spec": spec}
    annotations = {MANIFEST: orjson.dumps(pod).decode()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "annotations": annotations},
        "spec": {**spec, "schedulerName": PROXY_SCHEDULER},
    }


@pytest.mark.parametrize(
    ("source", "created"), [("home", "2026-01-31T11:50:00Z"), ("", "2026-01-31T12:00:00Z")], ids=("cluster", "host")
)
def test_a_source_s_clock_does_not_prove_that_a_lost_target_was_never_asked(source, created):
    # When a target was lost is told by the federation's clock; with another that is ahead of it, what was offered to a
    # target just before it was lost would seem to be younger than the loss, and run twice.
    intent = PodDoor(source, TwoTargets()).translate(placeholder())

    assert intent.created == created
    assert intent.placement.at_most_once


def test_nothing_is_offered_to_a_target_that_is_being_removed():
    # What is taken away there while it is drained must not be made there again.
    intent = PodDoor("home", TwoTargets(leaving=("a",))).translate(placeholder())

    assert set(intent.placement.clusters.names) == {"b"}
