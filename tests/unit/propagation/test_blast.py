"""A change that takes away too much waits for a person; an empty answer takes away nothing."""

from dataclasses import replace

import pytest

from hanse.api.held_changes import held_change
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, Resource
from hanse.placement.ask import ClusterTerm, Group, Placement, Spread, Weighted, WeightRule
from hanse.placement.candidate import Toleration
from hanse.propagation.blast import BlastTerms, change_spec, is_approved, too_far
from hanse.propagation.comparison import Absent, Kept, Present
from hanse.propagation.intent import Ref
from hanse.propagation.planning import UNSEEN, Observation, plan
from tests.unit.propagation.builders import UID, config_intent, copy, deployment_intent, fleet


def leaving(count, *clusters):
    return {Ref(CONFIGMAPS, Key("shop", f"c{number}")): frozenset(clusters or ("a",)) for number in range(count)}


@pytest.mark.parametrize(
    ("count", "of", "held"),
    [
        (0, 0, False),
        (19, 19, False),
        (20, 20, True),
        (20, 39, True),
        (20, 40, False),
        (50, 100, False),
        (51, 100, True),
    ],
)
def test_more_than_half_and_at_least_twenty_is_too_far(count, of, held):
    assert (too_far(leaving(count), of, BlastTerms()) is not None) == held


def test_terms_can_be_others():
    assert too_far(leaving(3), 100, BlastTerms(least=3, share=0.01)) is not None


def test_a_change_says_what_it_would_take_from_where():
    change = too_far(leaving(19, "a", "b") | leaving(25, "a"), 25, BlastTerms())

    assert str(change) == "25 of 25 objects would leave clusters that have them: a (25)"
    assert change.examples[0] == "configmaps/shop/c0"
    assert len(change.examples) == 10


APPROVALS = {
    "nobody said anything": (None, False),
    "it waits": ({"approved": False}, False),
    "exactly this": ({"approved": True}, True),
    "more than what is left": ({"approved": True, "objects": 90}, True),
    "fewer": ({"approved": True, "objects": 24}, False),
    "from another cluster": ({"approved": True, "clusters": [{"name": "b", "objects": 25}]}, False),
}


@pytest.mark.parametrize("case", APPROVALS.values(), ids=APPROVALS)
def test_an_approval_covers_no_more_than_what_was_shown(case):
    changes, expected = case
    change = too_far(leaving(25), 25, BlastTerms())
    held = None if changes is None else held_change("native", change_spec(change) | changes)

    assert is_approved(change, held) == expected


def seen(obj=None):
    return Observation(seen=True, copy=obj)


def everywhere(intent, clusters="ab", **numbers):
    return {name: seen(copy(intent, **numbers)) for name in clusters}


def asking(intent, **changes):
    return replace(intent, placement=Placement(**changes))


ONLY_A = ClusterTerm(names=("a",))
NOWHERE = ClusterTerm(names=("z",))
HOME_AND_ABROAD = (Group("home", ONLY_A), Group("abroad", ClusterTerm(names=("b",))))


class TestWhatCountsAsLeaving:
    def test_a_cluster_that_is_no_longer_asked_for(self):
        intent = config_intent()

        assert plan(asking(intent, clusters=ONLY_A), fleet("a", "b"), everywhere(intent)).leaving == {"b"}

    def test_a_part_of_the_fleet_too_many(self):
        intent = config_intent()
        spread = (Spread("cluster", max_groups=1),)

        assert len(plan(asking(intent, spread=spread), fleet("a", "b"), everywhere(intent)).leaving) == 1

    @pytest.mark.parametrize(("held", "expected"), [(2, {"b"}), (0, set())])
    def test_a_cluster_whose_weight_is_taken_away(self, held, expected):
        intent = asking(deployment_intent(4), division=Weighted((WeightRule(ONLY_A, 1),)))
        observed = {"a": seen(copy(intent, 2)), "b": seen(copy(intent, held))}

        assert plan(intent, fleet("a", "b"), observed).leaving == expected

    def test_not_a_cluster_that_never_had_it(self):
        intent = config_intent()

        assert (
            plan(asking(intent, clusters=ONLY_A), fleet("a", "b"), {"a": seen(copy(intent)), "b": seen()}).leaving
            == frozenset()
        )

    def test_not_a_lost_cluster(self):
        intent = config_intent()

        assert plan(intent, fleet("a", "b", offline="b"), everywhere(intent)).leaving == frozenset()

    def test_not_a_return_to_an_earlier_group(self):
        intent = asking(deployment_intent(4), groups=HOME_AND_ABROAD)

        assert plan(intent, fleet("a", "b"), everywhere(intent, replicas=4)).leaving == frozenset()

    def test_nothing_can_be_told_while_a_cluster_has_yet_to_tell(self):
        intent = config_intent()
        observed = everywhere(intent) | {"c": UNSEEN}

        assert plan(asking(intent, clusters=ONLY_A), fleet("a", "b", "c"), observed).leaving is None


class TestHolding:
    def test_nothing_moves_and_what_is_there_is_kept_up_to_date(self):
        before = deployment_intent(4, image="web:1")
        after = asking(deployment_intent(4, image="web:2"), clusters=ONLY_A)

        wanted = plan(after, fleet("a", "b"), everywhere(before, replicas=2), hold=True).wanted

        assert wanted["b"] == Kept(UID)
        spec = wanted["a"].manifest["spec"]
        assert (spec["replicas"], spec["template"]["spec"]["containers"][0]["image"]) == (2, "web:2")

    def test_nothing_is_begun_in_a_new_place(self):
        intent = config_intent()
        moved = asking(intent, clusters=ClusterTerm(names=("c",)))

        assert plan(moved, fleet("a", "c"), {"a": seen(copy(intent)), "c": seen()}, hold=True).wanted == {
            "a": Kept(UID)
        }


class TestEmptyInput:
    """What matches nothing any more takes nothing away."""

    @pytest.mark.parametrize("intent", [config_intent(), deployment_intent(4)], ids=["ConfigMap", "Deployment"])
    def test_a_selector_that_matches_no_cluster_keeps_every_copy(self, intent):
        replicas = intent.replicas and 2
        lost = asking(intent, clusters=NOWHERE)

        planned = plan(lost, fleet("a", "b"), {name: seen(copy(intent, replicas)) for name in "ab"})

        assert planned.wanted == {"a": Kept(UID), "b": Kept(UID)}
        assert planned.leaving == frozenset()

    def test_an_empty_registry_wants_nothing_of_anybody(self):
        intent = config_intent()

        assert plan(intent, [], everywhere(intent)).wanted == {}


class TestMovingWhatHasNoReplicas:
    """The new place has it before the old one loses it."""

    INTENT = config_intent()
    ONLY_C = Placement(clusters=ClusterTerm(names=("c",)), tolerations=(Toleration(operator="Exists"),))

    def moved(self, there, intent=INTENT):
        observed = {"a": seen(copy(intent)), "c": seen(there)}
        return plan(replace(intent, placement=self.ONLY_C), fleet("a", "c"), observed).wanted

    def test_the_old_place_waits(self):
        wanted = self.moved(None)

        assert wanted["a"] == Kept(UID)
        assert isinstance(wanted["c"], Present)

    def test_the_old_place_goes_when_the_new_one_has_it(self):
        assert self.moved(copy(self.INTENT))["a"] == Absent(UID)

    @pytest.mark.parametrize(("available", "expected"), [(0, Kept(UID)), (2, Absent(UID))])
    def test_a_workload_has_to_be_well_there(self, available, expected):
        template = {**self.INTENT.template, "apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {}}
        intent = replace(self.INTENT, resource=Resource("apps", "v1", "daemonsets", "DaemonSet"), template=template)
        there = copy(intent)
        there["status"] = {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": available}

        assert self.moved(there, intent)["a"] == expected
