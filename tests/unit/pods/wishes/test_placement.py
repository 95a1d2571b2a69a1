"""A pod's constraints choose its target as Kubernetes' scheduler would choose among virtual nodes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.api.admiralty.keys import ANSWERS, PROXY_CONSTRAINTS, SPEC_CONSTRAINTS, TARGET
from hanse.api.clusters import Taint
from hanse.placement.ask import Placement
from hanse.pods.wishes.placement import placement_of
from hanse.propagation.intent import Problem
from tests.unit.pods.wishes.scenes import (
    AP,
    EU,
    FLEET,
    TARGETS,
    US,
    by_its_spec,
    cluster,
    decided,
    expressions,
    placeholder,
    pod,
    required,
    wishing,
)

few = settings() if settings().max_examples > 100 else settings(max_examples=30)


def placed(asking, *, own=None, targets=TARGETS, **more):
    found = placement_of(asking, own or placeholder(), targets)
    assert isinstance(found, Placement), found
    return decided(found, **more)


def chosen(asking, **more):
    decision = placed(asking, **more)
    return decision.chosen() if not decision.unplaced else []


REQUIRED = {
    "In": (expressions(("region", "In", ["europe", "mars"])), [EU]),
    "NotIn": (expressions(("region", "NotIn", ["america", "asia"])), [EU]),
    "NotIn without the label": (expressions(("zone", "NotIn", ["a", "b"])), [AP]),
    "Exists": (expressions(("zone", "Exists", []), ("region", "NotIn", ["america"])), [EU]),
    "DoesNotExist": (expressions(("zone", "DoesNotExist", [])), [AP]),
    "Gt": (expressions(("price", "Gt", ["5"])), [US]),
    "Lt": (expressions(("price", "Lt", ["5"])), [EU]),
    "all of a term": (expressions(("zone", "Exists", []), ("price", "Gt", ["5"])), [US]),
    "the node's name": (
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["admiralty-eu"]}]},
        [EU],
    ),
    "not the node's name": (
        {
            "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["admiralty-us"]}],
            "matchExpressions": [{"key": "zone", "operator": "Exists"}],
        },
        [EU],
    ),
    "the hostname": (expressions(("kubernetes.io/hostname", "In", ["admiralty-team-ap"])), [AP]),
    "a name that is no node": (expressions(("kubernetes.io/hostname", "In", ["worker-1"])), []),
    "an empty term": ({}, []),
    "nothing matches": (expressions(("region", "In", ["mars"])), []),
}


@pytest.mark.parametrize(("term", "names"), REQUIRED.values(), ids=REQUIRED)
def test_required_node_affinity_chooses_among_targets(term, names):
    assert chosen(wishing(required(term))) == names


def test_any_of_several_terms_is_enough():
    terms = expressions(("region", "In", ["mars"])), expressions(("region", "In", ["asia"]))
    assert chosen(wishing(required(*terms))) == [AP]


def test_a_node_selector_and_affinity_have_to_hold_both():
    asked = {"nodeSelector": {"region": "europe"}, **required(expressions(("price", "Lt", ["5"])))}
    assert chosen(wishing(asked)) == [EU]
    assert chosen(wishing({**asked, "nodeSelector": {"region": "america"}})) == []


def test_a_pods_own_constraints_choose_nodes_and_no_target_unless_it_says_so():
    asked = {"nodeSelector": {"region": "europe"}}
    assert chosen(pod(asked)) == [US]
    assert chosen(by_its_spec(asked)) == [EU]


def test_the_annotation_with_constraints_counts_before_those_of_the_spec():
    both = wishing({"nodeSelector": {"region": "asia"}})
    both["metadata"]["annotations"][SPEC_CONSTRAINTS] = ""
    both["spec"]["nodeSelector"] = {"region": "europe"}
    assert chosen(both) == [AP]


def test_reasons_name_the_annotation_or_the_field_that_keeps_a_target_out():
    asked = {"nodeSelector": {"region": "europe"}}
    by_annotation, by_spec = placed(wishing(asked)), placed(by_its_spec(asked))
    wants = "nodeSelector asks for region = europe, and its region is america"
    assert by_annotation.of(US).reasons[-1] == f"annotation {PROXY_CONSTRAINTS}: {wants}"
    assert by_spec.of(US).reasons[-1] == f"spec.{wants}"


def preferring(*weighted):
    terms = [{"weight": weight, "preference": term} for weight, term in weighted]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}


def test_the_greatest_sum_of_preferences_comes_first():
    cheap, in_asia = expressions(("price", "Lt", ["5"])), expressions(("region", "In", ["asia"]))
    assert chosen(wishing(preferring((50, cheap), (60, in_asia)))) == [AP]
    assert chosen(wishing(preferring((50, cheap), (60, in_asia), (20, expressions(("zone", "Exists", [])))))) == [EU]


def test_a_preference_gives_way_where_there_is_no_room():
    assert chosen(wishing(preferring((50, expressions(("region", "In", ["asia"])))), cpu="3")) == [US]


def test_most_free_room_wins_where_nothing_is_preferred():
    assert chosen(pod()) == [US]
    assert chosen(pod(), targets=(EU, AP)) == [EU]


def test_a_pod_that_fits_nowhere_waits():
    assert placed(pod(cpu="9")).unplaced == 1


def test_a_target_that_grows_by_itself_comes_after_those_with_room():
    fleet = (cluster(EU, cpu="1"), cluster(US, cpu=""))
    assert chosen(pod(), targets=(EU, US), fleet=fleet) == [EU]
    assert chosen(pod(cpu="2"), targets=(EU, US), fleet=fleet) == [US]


def test_room_for_many_is_asked_of_the_target_together():
    found = placement_of(pod(), placeholder(), TARGETS, together=5)
    assert decided(found).chosen() == [US]
    assert decided(placement_of(pod(), placeholder(), TARGETS, together=9)).unplaced == 1
    assert placement_of(pod(), placeholder(), TARGETS, together=0).requests is None


def test_tolerations_are_those_of_the_constraints_alone():
    fleet = (cluster(EU, Taint("gpu", "yes")), *FLEET[1:])
    asked = {"nodeSelector": {}, "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]}
    assert chosen(pod(asked), targets=(EU,), fleet=fleet) == []
    assert chosen(wishing(asked), targets=(EU,), fleet=fleet) == [EU]
    assert chosen(by_its_spec({"tolerations": [{"operator": "Exists"}]}), targets=(EU,), fleet=fleet) == [EU]


def test_a_pod_stays_where_it_is_although_a_better_target_has_come():
    asked = wishing(preferring((100, expressions(("region", "In", ["america"])))))
    assert chosen(asked, current=EU) == [EU]


def test_a_pod_stays_where_its_constraints_hold_no_longer():
    assert chosen(wishing({"nodeSelector": {"region": "america"}}), current=EU) == [EU]


def test_a_target_that_answered_no_is_left_and_its_answer_told():
    own = placeholder(annotations={ANSWERS: '{"us": {"at": "2026-01-02T03:04:05Z", "why": "0/3 nodes are available"}}'})
    decision = placed(pod(), own=own, targets=(EU, AP), current=US)
    assert decision.chosen() == [EU]
    said = "it said at 2026-01-02T03:04:05Z that it cannot run the pod: 0/3 nodes are available"
    assert decision.of(US).reasons[-1] == said


@pytest.mark.parametrize("own", [placeholder(bound=AP), placeholder(annotations={TARGET: AP})], ids=["node", "target"])
def test_a_bound_pod_stays_in_its_target_whatever_its_constraints_and_the_target_say(own):
    fleet = (*FLEET[:2], cluster(AP, Taint("full", effect="NoExecute"), cpu="0"))
    asked = wishing({"nodeSelector": {"region": "mars"}})
    assert chosen(asked, own=own, fleet=fleet) == [AP]


def test_a_pod_bound_to_a_node_of_no_target_is_told():
    found = placement_of(pod(), placeholder(bound="gone"), TARGETS)
    assert found == Problem("TargetGone", "it is bound to node admiralty-gone, which stands for none of its targets")


def test_a_lost_target_is_passed_over_and_what_runs_once_goes_back_nowhere():
    fleet = (FLEET[0], cluster(US, ready=False), FLEET[2])
    found = placement_of(pod(), placeholder(), TARGETS)
    assert decided(found, fleet=fleet).chosen() == [EU]
    assert found.at_most_once
    assert not found.failover.fail_back


BAD = {
    "no YAML": ("{", "it must be YAML"),
    "no mapping": ("- a", "it must be a mapping"),
    "an unknown field": ({"hostNetwork": True}, "hostNetwork does not choose a cluster"),
    "a number as a label": ({"nodeSelector": {"a": 1}}, "cannot unmarshal number"),
    "a bad label": ({"nodeSelector": {"a b": "c"}}, "nodeSelector: 'a b' is no label key"),
    "a bad value": ({"nodeSelector": {"a": "c d"}}, "nodeSelector[a]: 'c d' is no label value"),
    "no terms": (required(), "nodeSelectorTerms must have at least one entry"),
    "an operator": (required(expressions(("a", "Like", ["b"]))), "matchExpressions[0].operator must be one of In"),
    "no values": (required(expressions(("a", "In", []))), "matchExpressions[0].values must have at least one"),
    "values too many": (required(expressions(("a", "Exists", ["b"]))), "values must be empty"),
    "no number": (required(expressions(("a", "Gt", ["many"]))), "values must be exactly one whole number"),
    "a field of nodes": (
        required({"matchFields": [{"key": "spec.podCIDR", "operator": "In", "values": ["x"]}]}),
        "matchFields[0].key must be metadata.name",
    ),
    "a weight": (preferring((0, expressions(("a", "Exists", [])))), "weight must be a whole number from 1 to 100"),
    "an unknown affinity": ({"affinity": {"clusterAffinity": {}}}, "there is no field affinity.clusterAffinity"),
    "a toleration": ({"tolerations": [{"operator": "Equal"}]}, "tolerations[0].operator must be Exists"),
    "an operator of tolerations": ({"tolerations": [{"key": "a", "operator": "Gt"}]}, "must be Equal or Exists"),
    "an effect": ({"tolerations": [{"key": "a", "effect": "Never"}]}, "tolerations[0].effect must be one of"),
    "no list": ({"tolerations": {}}, "cannot unmarshal object"),
}


@pytest.mark.parametrize(("asked", "sentence"), BAD.values(), ids=BAD)
def test_what_cannot_be_kept_is_told_with_the_path_of_its_field(asked, sentence):
    found = placement_of(wishing(asked), placeholder(), TARGETS)
    assert isinstance(found, Problem)
    assert found.reason == "InvalidConstraints"
    assert sentence in found.message
    assert found.message.startswith(f"annotation {PROXY_CONSTRAINTS}: ")


def test_constraints_of_the_spec_are_told_by_their_path_in_it():
    found = placement_of(by_its_spec(required()), placeholder(), TARGETS)
    assert isinstance(found, Problem)
    assert found.message.startswith("spec.affinity.nodeAffinity.required")


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"), max_size=3)


@few
@given(selector=LABELS, labels=st.lists(LABELS, min_size=1, max_size=4), held=st.none() | st.integers(0, 3))
def test_a_pod_goes_only_where_its_selector_matches_or_stays_where_it_is(selector, labels, held):
    fleet = tuple(cluster(f"t{index}", **each) for index, each in enumerate(labels))
    names = [each.name for each in fleet]
    current = names[held] if held is not None and held < len(names) else ""
    decision = placed(wishing({"nodeSelector": selector}), targets=names, fleet=fleet, current=current)
    fitting = [each.name for each in fleet if selector.items() <= each.labels.items()]
    if current:
        assert decision.chosen() == [current]
    else:
        assert len(decision.chosen()) == min(1, len(fitting))
        assert set(decision.chosen()) <= set(fitting)
