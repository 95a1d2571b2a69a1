"""Copies of one source that become another one's: what is planned for them, what is done, and who waits for it."""

from dataclasses import replace

import pytest

from hanse.api.names import OWNER_ANNOTATION
from hanse.kube.manifest import annotations_of
from hanse.kube.resources import NAMESPACES
from hanse.placement import ClusterSelector, ClusterTerm, Placement
from hanse.placement.ask import Override
from hanse.propagation.company import stand_of
from hanse.propagation.comparison import (
    Absent,
    Apply,
    Delete,
    Kept,
    Present,
    Refuse,
    Release,
    Released,
    Renumber,
    compare,
)
from hanse.propagation.leavetaking import is_left
from hanse.propagation.planning import UNSEEN, Observation, plan
from hanse.propagation.rendering import render
from tests.unit.propagation.builders import UID, config_intent, copy, deployment_intent, fleet

FORMER = "the former source"
FORMERS_COPY = copy(replace(config_intent(), source_uid=FORMER))
NOWHERE = Placement(ClusterTerm(ClusterSelector.parse([{"key": "x", "operator": "In", "values": ["y"]}])))


def heir(**changes):
    return replace(config_intent(), inherits=(FORMER,), **changes)


def planned_for(intent, names="ab", **kwargs):
    observed = {name: Observation(seen=True, copy=FORMERS_COPY) for name in names}
    return plan(intent, fleet(*names), observed, **kwargs)


class TestWhatIsDone:
    def test_an_heir_brings_the_copy_to_what_it_wants_itself(self):
        manifest = render(heir(), None)

        assert compare(Present(manifest, UID, inherits=(FORMER,)), FORMERS_COPY, None) == Apply(manifest, FORMERS_COPY)
        assert isinstance(compare(Present(manifest, UID), FORMERS_COPY, None), Refuse)

    def test_a_copy_that_is_kept_is_marked_and_nothing_else_of_it_is_changed(self):
        mark = Renumber("copy-uid", {"metadata": {"annotations": {OWNER_ANNOTATION: UID}}})

        assert compare(Kept(UID, inherits=(FORMER,)), FORMERS_COPY, None) == mark
        assert compare(Kept(UID, inherits=(FORMER,)), copy(config_intent()), None) is None
        assert compare(Kept(UID), FORMERS_COPY, None) is None

    @pytest.mark.parametrize(
        ("wish", "action"),
        [
            (Absent(UID, (FORMER,)), Delete("copy-uid", "7")),
            (Absent(UID), None),
            (Absent(FORMER), Delete("copy-uid", "7")),
            (Released(UID), None),
            (Released(FORMER), Release("copy-uid")),
        ],
    )
    def test_only_an_heir_takes_away_what_is_marked_as_anothers(self, wish, action):
        assert compare(wish, FORMERS_COPY, None) == action


class TestWhatIsPlanned:
    def test_what_is_inherited_counts_as_running(self):
        intent = replace(deployment_intent(4), inherits=(FORMER,))
        had = replace(intent, source_uid=FORMER)
        observed = {
            "a": Observation(seen=True, copy=copy(had, replicas=3)),
            "b": Observation(seen=True, copy=copy(had, replicas=1)),
        }

        wanted = plan(intent, fleet("a", "b"), observed).wanted

        assert {name: wish.manifest["spec"]["replicas"] for name, wish in wanted.items()} == {"a": 3, "b": 2}
        assert {wish.inherits for wish in wanted.values()} == {(FORMER,)}

    def test_what_an_heir_does_not_want_leaves_as_its_own_would(self):
        a_only = Placement(ClusterTerm(names=("a",)))
        planned = planned_for(heir(placement=a_only))

        assert planned.leaving == {"b"}
        assert isinstance(planned.wanted["a"], Present)
        assert planned.wanted["b"] == Absent(UID, (FORMER,))

    @pytest.mark.parametrize(
        "intent",
        [
            heir(placement=NOWHERE),
            heir(overrides=(Override(clusters=ClusterTerm(), patch=({"op": "remove", "path": "/no/such"},)),)),
        ],
        ids=("wanted nowhere", "overrides that do not apply"),
    )
    def test_what_is_left_alone_is_taken_over_all_the_same(self, intent):
        assert planned_for(intent).wanted == dict.fromkeys("ab", Kept(UID, inherits=(FORMER,)))

    def test_nothing_is_asked_of_a_cluster_that_cannot_be_asked(self):
        observed = {"a": Observation(seen=False, copy=FORMERS_COPY)}

        assert plan(heir(placement=NOWHERE), fleet("a", offline=("a",)), observed).wanted == {}

    def test_without_rivals_nothing_of_anybody_else_is_touched(self):
        assert planned_for(replace(config_intent(), placement=NOWHERE)).wanted == {}


def test_a_workload_stands_where_it_takes_over_a_copy_until_that_is_gone():
    observed = {"a": Observation(seen=True, copy=FORMERS_COPY), "b": Observation(seen=True, copy=FORMERS_COPY)}

    stand = stand_of(UID, {"a": Absent(UID, (FORMER,)), "b": Absent(UID)}, observed, "ab")

    assert stand.there == {"a"}


@pytest.mark.parametrize(
    ("observation", "left"),
    [
        (None, True),
        (UNSEEN, True),
        (Observation(seen=False, refusal="its configmaps cannot be followed"), True),
        (Observation(seen=False, refusal="it does not serve Gadget", unserved=True), False),
        (Observation(seen=True), False),
        (Observation(seen=True, copy=FORMERS_COPY), True),
        (Observation(seen=True, copy=copy(config_intent())), False),
    ],
)
def test_a_source_waits_for_a_cluster_in_which_something_may_be_marked_as_its_own(observation, left):
    assert is_left(observation, FORMER) is left


def test_a_namespace_that_an_heir_shares_is_taken_over_where_it_is_the_formers():
    template = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    intent = replace(heir(), resource=NAMESPACES, template=template)
    manifest = render(intent, None)
    former = copy(replace(intent, source_uid=FORMER))

    action = compare(Present(manifest, UID, shared=True, inherits=(FORMER,)), former, None)

    assert isinstance(action, Apply)
    assert annotations_of(action.manifest)[OWNER_ANNOTATION] == UID
    assert compare(Present(manifest, UID, shared=True), former, None) is None
