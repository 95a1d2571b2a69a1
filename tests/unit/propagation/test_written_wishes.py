"""What somebody wrote down counts: that an object be nowhere, and that an override comes before what clusters keep."""

from dataclasses import replace

from hanse.placement.ask import ClusterTerm, Override, Placement
from hanse.propagation.comparison import Absent, Kept, Present
from hanse.propagation.planning import Observation, plan
from tests.unit.propagation.builders import UID, config_intent, copy, deployment_intent, fleet

NOBODY = Placement(ClusterTerm(names=()))
REPLICAS = ("spec", "replicas")


def seen(**copies):
    return {name: Observation(seen=True, copy=each) for name, each in copies.items()}


def test_the_last_copy_goes_only_where_somebody_asked_for_no_cluster():
    intent = replace(config_intent(), placement=NOBODY)
    world = seen(a=copy(intent), b=copy(intent))
    assert plan(intent, fleet("a", "b"), world).wanted == {"a": Kept(UID), "b": Kept(UID)}
    emptied = plan(replace(intent, nowhere=True), fleet("a", "b"), world)
    assert emptied.wanted == {"a": Absent(UID), "b": Absent(UID)}
    assert emptied.leaving == {"a", "b"}


def test_a_cluster_that_cannot_be_asked_loses_nothing_by_such_a_word():
    intent = replace(config_intent(), placement=NOBODY, nowhere=True)
    world = seen(a=copy(intent), b=copy(intent))
    assert plan(intent, fleet("a", "b", offline=("b",)), world).wanted == {"a": Absent(UID)}


def test_an_override_that_is_known_not_to_apply_leaves_its_cluster_alone():
    bad = Override(ClusterTerm(names=("b",)), (), "spec.overrides[0] makes no sense")
    intent = replace(config_intent(), overrides=(bad,))
    planned = plan(intent, fleet("a", "b"), seen(a=None, b=None))
    assert set(planned.wanted) == {"a"}
    assert planned.spoiled == {"b": "spec.overrides[0] makes no sense"}


def test_a_patch_that_does_not_apply_is_told_of_its_cluster():
    bad = Override(ClusterTerm(names=("b",)), ({"op": "remove", "path": "/nosuch"},))
    planned = plan(replace(config_intent(), overrides=(bad,)), fleet("a", "b"), seen(a=None, b=None))
    assert set(planned.wanted) == {"a"}
    assert "nosuch" in planned.spoiled["b"]


def test_an_override_counts_before_what_clusters_keep():
    four = Override(ClusterTerm(names=("b",)), ({"op": "replace", "path": "/spec/replicas", "value": 4},))
    whole = Override(ClusterTerm(names=("c",)), ({"op": "add", "path": "/spec", "value": {"replicas": 5}},))
    other = Override(ClusterTerm(names=("d",)), ({"op": "add", "path": "/spec/replicasets", "value": 1},))
    intent = replace(deployment_intent(), replicas=None, retain=(REPLICAS,), overrides=(four, whole, other))
    wanted = plan(intent, fleet("a", "b", "c", "d"), seen(a=None, b=None, c=None, d=None)).wanted
    retained = {name: wish.retain for name, wish in wanted.items() if isinstance(wish, Present)}
    assert retained == {"a": (REPLICAS,), "b": (), "c": (), "d": (REPLICAS,)}
