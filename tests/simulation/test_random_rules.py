"""What the judge of random worlds lets pass, and what not."""

import orjson
import pytest

from hanse.api.names import MANAGED_LABEL, OWNER_ANNOTATION
from hanse.apiserver.storage import Change
from tests.simulation.random_judge import AUTHOR, Judge
from tests.simulation.random_truth import CLUSTERS, DEPLOYMENTS, HOST

US = "hanse"


class Scene:
    """A judge, a clock, and people and a control plane that write."""

    def __init__(self):
        self.now = 0.0
        self.judge = Judge(US, lambda: self.now)
        cluster = {"metadata": {"name": "d"}, "spec": {"unschedulable": True}}
        source = {"metadata": {"name": "one", "namespace": "shop", "uid": "u"}, "spec": {"replicas": 1}}
        self.write("somebody", HOST, CLUSTERS, "d", cluster)
        self.write("somebody", HOST, DEPLOYMENTS, "shop/one", source)

    def write(self, author, place, bucket, path, obj):
        told = AUTHOR.set(author)
        value = orjson.dumps(obj) if obj is not None else b"{}"
        self.judge.hear(place, Change(bucket, path, 1, value, None, deleted=obj is None))
        AUTHOR.reset(told)

    def copy_is(self, author, *, there):
        metadata = {
            "name": "one",
            "namespace": "shop",
            "labels": {MANAGED_LABEL: "true"},
            "annotations": {OWNER_ANNOTATION: "u"},
        }
        copy = {"kind": "Deployment", "metadata": metadata, "spec": {"replicas": 1}} if there else None
        self.write(author, "d", DEPLOYMENTS, "shop/one", copy)

    @property
    def overlooked_cordons(self):
        return [sentence for sentence in self.judge.found if "takes no new work" in sentence]


@pytest.mark.parametrize(
    ("taker", "seconds", "blamed"), [("somebody", 1, False), ("somebody", 60, True), (US, 1, True)]
)
def test_what_somebody_deletes_in_a_cordoned_cluster_may_be_put_back_at_once(taker, seconds, blamed):
    scene = Scene()
    scene.copy_is(US, there=True)
    scene.now = 100.0
    scene.copy_is(taker, there=False)

    scene.now += seconds
    scene.copy_is(US, there=True)

    assert bool(scene.overlooked_cordons) is blamed


def test_nothing_new_may_be_made_in_a_cordoned_cluster():
    scene = Scene()
    scene.now = 100.0

    scene.copy_is(US, there=True)

    assert scene.overlooked_cordons
