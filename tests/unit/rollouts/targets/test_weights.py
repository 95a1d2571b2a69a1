"""How an application's TrafficTargets divide its traffic."""

import pytest

from hanse.rollouts.targets.weights import WeightProblem, weights_of


def target(name, labels=None, **weights):
    found = {"shipper-app": "web", "shipper-release": name} if labels is None else labels
    return {
        "metadata": {"name": name, "namespace": "shop", "labels": found},
        "spec": {"clusters": [{"name": cluster, "weight": weight} for cluster, weight in weights.items()]},
    }


def test_weights_are_gathered_by_cluster():
    found = weights_of([target("a", east=90, west=100), target("b", east=10)])

    assert found == {"east": {"a": 90, "b": 10}, "west": {"a": 100}}


PROBLEMS = {
    "no application": (
        [target("a", {"shipper-release": "a"})],
        'TrafficTarget "shop/a" needs a "shipper-app" label in order to select resources in the target clusters',
    ),
    "no release": (
        [target("a", {"shipper-app": "web"})],
        'TrafficTarget "shop/a" needs a "shipper-release" label in order to select resources in the target clusters',
    ),
    "two of one release": (
        [target("a"), target("b", {"shipper-app": "web", "shipper-release": "a"})],
        'multiple TrafficTargets for the same release "shop/a": [a b]',
    ),
}


@pytest.mark.parametrize(("targets", "sentence"), PROBLEMS.values(), ids=PROBLEMS)
def test_targets_by_which_nobody_can_tell_are_refused(targets, sentence):
    with pytest.raises(WeightProblem) as refused:
        weights_of(targets)

    assert str(refused.value) == sentence
