"""The numbered lines of the fact sheets on selectors, planner, Jobs and autoscalers, result for result.

`v1` lines are those of the federation-v1 sheet, `kubefed` lines those of the KubeFed sheet.
"""

import orjson
import pytest

from hanse.native.preferences import parse_preferences, parse_selector
from hanse.placement import Candidate, ClusterSelector, ClusterTerm, Placement, SelectorError, State, decide
from hanse.placement.autoscalers import Autoscaler, Limits, divide_autoscaler
from hanse.placement.jobs import completions_for, divide_job
from hanse.placement.planner import Preference, Preferences, plan_replicas
from hanse.placement.unschedulable import PodView, estimate_capacity

SEED_SELECTOR = [
    {"key": "location", "operator": "in", "values": ["europe"]},
    {"key": "environment", "operator": "==", "values": ["prod"]},
]
SEED_CLUSTERS = {
    "e1": {"location": "europe", "environment": "prod"},
    "e2": {"location": "europe", "environment": "qa"},
    "u1": {"location": "us", "environment": "prod"},
}
TIERS = {"dev": {"tier": "dev"}, "empty": {"tier": ""}, "none": {}, "gen3": {"gen": "3"}, "gen4": {"gen": "4"},
         "odd": {"gen": "v4"}}  # fmt: skip


def one(key, operator, *values):
    return [{"key": key, "operator": operator, "values": list(values)}]


SELECTED = {
    "v1-1": (SEED_SELECTOR, SEED_CLUSTERS, "e1"),
    "v1-2": (SEED_SELECTOR, {**SEED_CLUSTERS, "e2": SEED_CLUSTERS["e1"]}, "e1 e2"),
    "v1-3": (SEED_SELECTOR, {**SEED_CLUSTERS, "e1": {"environment": "prod"}}, ""),
    "v1-5 empty": ([], SEED_CLUSTERS, "e1 e2 u1"),
    "v1-5 null": (None, SEED_CLUSTERS, "e1 e2 u1"),
    "v1-8": (one("tier", "notin", "dev"), TIERS, "empty gen3 gen4 none odd"),
    "v1-10": ([{"key": "tier", "operator": "exists"}], TIERS, "dev empty"),
    "v1-12": ([{"key": "tier", "operator": "!"}], TIERS, "gen3 gen4 none odd"),
    "v1-13": (one("gen", "gt", "3"), TIERS, "gen4"),
    "v1-15 In": (one("tier", "In", "dev"), TIERS, "dev"),
    "v1-15 in": (one("tier", "in", "dev"), TIERS, "dev"),
    "v1-17": ([*one("gen", "exists"), *one("gen", "=", "4")], TIERS, "gen4"),
}


@pytest.mark.parametrize(("selector", "clusters", "chosen"), SELECTED.values(), ids=SELECTED)
def test_a_selector_chooses_clusters(selector, clusters, chosen):
    parsed = parse_selector(orjson.dumps(selector).decode())

    decision = decide([Candidate(name, labels) for name, labels in clusters.items()], Placement(ClusterTerm(parsed)))

    assert decision.chosen() == chosen.split()


def test_without_a_selector_every_ready_cluster_is_chosen_v1_4():
    fleet = [Candidate("a", {"x": "y"}), Candidate("b"), Candidate("c", refusal="it is offline")]

    assert decide(fleet, Placement(ClusterTerm(parse_selector(None)))).chosen() == ["a", "b"]


REFUSED = {
    "v1-6": "",
    "v1-7": '{"key":"a"}',
    "v1-9 none": '[{"key":"tier","operator":"!="}]',
    "v1-9 two": '[{"key":"tier","operator":"!=","values":["a","b"]}]',
    "v1-11": '[{"key":"tier","operator":"exists","values":["x"]}]',
    "v1-14 word": '[{"key":"gen","operator":"gt","values":["three"]}]',
    "v1-14 two": '[{"key":"gen","operator":"gt","values":["1","2"]}]',
    "v1-14 negative": '[{"key":"gen","operator":"gt","values":["-1"]}]',
    "v1-15 IN": '[{"key":"tier","operator":"IN","values":["a"]}]',
    "v1-15 equals": '[{"key":"tier","operator":"equals","values":["a"]}]',
    "v1-16": '[{"key":"bad key!","operator":"exists"}]',
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_a_malformed_selector_is_refused(text):
    with pytest.raises(SelectorError):
        parse_selector(text)


def test_preferences_see_only_selected_clusters_v1_20():
    fleet = [Candidate("eu1", {"in": "eu"}), Candidate("eu2", {"in": "eu"}), Candidate("us1")]
    selector = ClusterSelector.parse(one("in", "=", "eu"))
    preferences = Preferences({"eu1": Preference(2), "us1": Preference(1), "*": Preference(1)}, rebalance=True)

    decision = decide(fleet, Placement(ClusterTerm(selector), division=preferences), replicas=9)

    assert decision.replicas == {"eu1": 6, "eu2": 3}


EVEN = {"*": {"weight": 1}}
NGINX, SERVICE, TEST = "default/nginx", "my-namespace/my-service", "test-ns/test-deployment"

# total, clusters, preferences, rebalance, key, current, capacity, expected
PLANNED = {
    "v1-21": (6, "cluster-1 cluster-2 cluster-3", EVEN, False, SERVICE, {}, {}, [2, 2, 2]),
    "v1-22": (6, "cluster-1 cluster-2", EVEN, False, SERVICE, {"cluster-1": 2, "cluster-2": 2}, {}, [3, 3]),
    "v1-23 stays": (
        6, "cluster-1 cluster-2 cluster-3", EVEN, False, SERVICE,
        {"cluster-1": 3, "cluster-2": 3, "cluster-3": 2}, {}, [1, 3, 2]),
    "v1-23 rebalances": (
        6, "cluster-1 cluster-2 cluster-3", EVEN, True, SERVICE,
        {"cluster-1": 3, "cluster-2": 3, "cluster-3": 2}, {}, [2, 2, 2]),
    "v1-24": (5, "cluster1 cluster2", EVEN, False, NGINX, {}, {}, [2, 3]),
    "v1-25": (5, "cluster-1 cluster-2 cluster-3", EVEN, False, NGINX, {}, {}, [1, 2, 2]),
    "v1-25 one": (1, "cluster-1 cluster-2 cluster-3", EVEN, False, NGINX, {}, {}, [0, 1, 0]),
    "v1-27 stays": (10, "c1 c2", EVEN, False, NGINX, {"c1": 10}, {}, [10, 0]),
    "v1-27 rebalances": (10, "c1 c2", EVEN, True, NGINX, {"c1": 10}, {}, [5, 5]),
    "v1-28": (30, "c1 c2", EVEN, False, NGINX, {"c1": 10}, {}, [15, 15]),
    "v1-29": (20, "A B", EVEN, False, "", {"A": 10, "B": 70}, {}, [0, 20]),
    "v1-30": (7, "a b", {"a": {"weight": 3}, "b": {"weight": 1}}, True, "", {}, {}, [6, 1]),
    "v1-31": (10, "a b", {"*": {"weight": 1, "maxReplicas": 3}}, True, "", {}, {}, [3, 3]),
    "v1-32": (
        10, "eu-west us-central", {"us-central": {"minReplicas": 3}, "eu-west": {"minReplicas": 3}}, True, "", {}, {},
        [3, 3]),
    "v1-33": (10, "a b", {}, False, "", {}, {}, [0, 0]),
    "v1-35": (10, "a b", {"a": {"weight": 1}, "ghost": {"weight": 9}}, True, "", {}, {}, [10, 0]),
    "v1-36": (10, "A B", {"A": {"weight": 1, "maxReplicas": 0}, "B": {"weight": 1}}, True, "", {}, {}, [0, 10]),
    "v1-37": (10, "A B", {"*": {"minReplicas": 6, "maxReplicas": 2}}, True, "", {}, {}, [4, 6]),
    "v1-39": (0, "a b", EVEN, True, "", {}, {}, [0, 0]),
    "v1-41 stays": (8, "a b", EVEN, False, "", {"a": 3, "b": 4}, {"a": 3}, [3, 5]),
    "v1-41 rebalances": (8, "a b", EVEN, True, "", {"a": 3, "b": 4}, {"a": 3}, [4, 5]),
    "kubefed-86": (4, "c1 c2", EVEN, False, "ns/x", {}, {}, [2, 2]),
    "kubefed-87": (6, "c1 c2", {"c1": {"weight": 2}, "c2": {"weight": 1}}, False, "ns/x", {}, {}, [4, 2]),
    "kubefed-88": (
        6, "c1 c2", {"c1": {"weight": 2, "minReplicas": 3}, "c2": {"weight": 1, "minReplicas": 3}}, False, "ns/x",
        {}, {}, [3, 3]),
    "kubefed-89": (6, "c1", {"c1": {"weight": 2, "minReplicas": 3}}, False, "ns/x", {}, {}, [6]),
    "kubefed-90": (50, "A B C", EVEN, True, "", {}, {}, [16, 17, 17]),
    "kubefed-90 one": (1, "A B C D", EVEN, True, "", {}, {}, [0, 0, 0, 1]),
    "kubefed-91": (50, "A B C", {"*": {"minReplicas": 20}}, True, "", {}, {}, [10, 20, 20]),
    "kubefed-92": (50, "A B C", {"*": {"weight": 1, "maxReplicas": 2}}, True, "", {}, {}, [2, 2, 2]),
    "kubefed-93": (
        71, "A B C D",
        {"A": {"weight": 10000, "maxReplicas": 10}, "B": {"weight": 1}, "C": {"weight": 1, "maxReplicas": 21},
         "D": {"weight": 1, "maxReplicas": 10}}, True, "", {}, {}, [10, 30, 21, 10]),
    "kubefed-94": (50, "A B C", EVEN, False, "", {"C": 30}, {}, [10, 10, 30]),
    "kubefed-94 full": (50, "A B", EVEN, False, "", {"A": 10, "B": 70}, {}, [0, 50]),
    "kubefed-98": (10, "a", {"a": {"weight": 1, "minReplicas": 5, "maxReplicas": 3}}, True, "", {}, {}, [3]),
    "kubefed-98 no weight": (10, "a", {"a": {"minReplicas": 5, "maxReplicas": 3}}, True, "", {}, {}, [5]),
    "kubefed-3.4 one to two": (9, "A B C", {"A": {"weight": 1}, "B": {"weight": 2}}, True, TEST, {}, {}, [3, 6, 0]),
    "kubefed-3.4 only B": (9, "B", {"A": {"weight": 1}, "B": {"weight": 2}}, True, TEST, {}, {}, [9]),
    "kubefed-3.4 equal": (9, "A B C", EVEN, True, TEST, {}, {}, [3, 3, 3]),
    "kubefed-3.4 bounds": (
        9, "A B C",
        {"A": {"weight": 1, "minReplicas": 4, "maxReplicas": 6},
         "B": {"weight": 2, "minReplicas": 4, "maxReplicas": 8}},
        True, TEST, {}, {}, [4, 5, 0]),
    "kubefed-3.4 fifty": (
        50, "A B C", {**EVEN, "C": {"weight": 1, "maxReplicas": 20}}, True, TEST, {}, {}, [17, 17, 16]),
    "kubefed-3.4 B full": (
        50, "A B C", {**EVEN, "C": {"weight": 1, "maxReplicas": 20}}, False, TEST, {}, {"B": 0}, [30, 0, 20]),
    "kubefed-3.4 B full, rebalance": (
        50, "A B C", {**EVEN, "C": {"weight": 1, "maxReplicas": 20}}, True, TEST, {}, {"B": 0}, [30, 17, 20]),
    "kubefed-3.4 B lost": (9, "A C", EVEN, False, TEST, {"A": 3, "C": 3}, {}, [5, 4]),
    "kubefed-3.4 B back": (9, "A B C", EVEN, False, TEST, {"A": 5, "C": 4}, {}, [5, 0, 4]),
    "kubefed-3.4 B back, rebalance": (9, "A B C", EVEN, True, TEST, {"A": 5, "C": 4}, {}, [3, 3, 3]),
    "kubefed-3.4 short": (9, "A B C", EVEN, True, TEST, {"A": 3, "B": 1, "C": 3}, {"B": 1}, [4, 3, 4]),
    "kubefed-3.4 short, stays": (9, "A B C", EVEN, False, TEST, {"A": 3, "B": 1, "C": 3}, {"B": 1}, [4, 1, 4]),
}  # fmt: skip


@pytest.mark.parametrize("case", PLANNED.values(), ids=PLANNED)
def test_the_planner_gives_the_sheets_results_through_the_whole_decision(case):
    total, clusters, wanted, rebalance, key, current, capacity, expected = case
    preferences = Preferences(
        {
            name: Preference(fields.get("weight", 0), fields.get("minReplicas", 0), fields.get("maxReplicas"))
            for name, fields in wanted.items()
        },
        rebalance,
    )

    decision = decide(
        [Candidate(name) for name in clusters.split()],
        Placement(division=preferences),
        replicas=total,
        state=State(current, capacity),
        key=key,
    )

    assert list(decision.replicas.values()) == expected


def test_without_preferences_the_odd_replicas_fall_as_in_v1_24_and_25():
    two, three = [Candidate(f"cluster{n}") for n in "12"], [Candidate(f"cluster-{n}") for n in "123"]

    assert decide(two, replicas=5, key=NGINX).replicas == {"cluster1": 2, "cluster2": 3}
    assert decide(three, replicas=5, key=NGINX).replicas == {"cluster-1": 1, "cluster-2": 2, "cluster-3": 2}


def test_what_finds_no_place_is_told_v1_31():
    preferences = Preferences({"*": Preference(1, max_replicas=3)}, rebalance=True)

    decision = decide([Candidate("a"), Candidate("b")], Placement(division=preferences), replicas=10)

    assert (decision.unplaced, decision.remedy) == (4, "raise a cluster's maxReplicas or weight")


def test_preferences_that_make_no_sense_are_refused_v1_34_37_and_38():
    for text in (
        "not json",
        '{"clusters":{"a":{"weight":-1}}}',
        '{"clusters":{"a":{"minReplicas":-1}}}',
        '{"clusters":{"a":{"maxReplicas":-1}}}',
        '{"clusters":{"a":{"minReplicas":6,"maxReplicas":2}}}',
    ):
        with pytest.raises(ValueError, match=r"must"):
            parse_preferences(text)


def test_no_ready_cluster_is_no_error_v1_39():
    decision = decide([Candidate("a", refusal="it is offline")], replicas=3)

    assert (decision.chosen(), decision.unplaced) == ([], 3)


@pytest.mark.parametrize(
    ("age", "capacity"), [(61.0, 3), (59.0, None), (30.0, None)], ids=["v1-40", "v1-40 young", "kubefed-95"]
)
def test_pods_that_find_no_node_for_a_minute_tell_the_capacity(age, capacity):
    pods = [PodView(running=True)] * 3 + [PodView(unschedulable_since=1000.0 - age)] * 2

    estimate = estimate_capacity(5, pods, now=1000.0)

    assert estimate.capacity == capacity
    assert estimate.look_again_at == (None if capacity is not None else 1000.0 - age + 60.0)


JOBS = {
    "v1-45": (3, 10, None, {"cluster1": (2, 5), "cluster2": (1, 5)}),
    "v1-46": (3, None, None, {"cluster1": (2, None), "cluster2": (1, None)}),
    "v1-47": (1, None, None, {"cluster1": (1, None)}),
    "v1-48": (
        4, 10, {"cluster1": Preference(1, max_replicas=1), "*": Preference(1)},
        {"cluster1": (1, 5), "cluster2": (3, 5)}),
}  # fmt: skip


@pytest.mark.parametrize(("parallelism", "completions", "wanted", "expected"), JOBS.values(), ids=JOBS)
def test_a_job_is_divided(parallelism, completions, wanted, expected):
    preferences = Preferences(wanted) if wanted is not None else None

    shares = divide_job(parallelism, completions, ["cluster1", "cluster2"], preferences, key="default/pi")

    assert {name: (share.parallelism, share.completions) for name, share in shares.items()} == expected


def test_completions_follow_a_parallelism_that_something_else_divided():
    assert completions_for(10, {"a": 3, "b": 1, "c": 0}, key="ns/x") in ({"a": 8, "b": 2}, {"a": 7, "b": 3})


IDLE, BUSY = Autoscaler(1, 5, 3, 3, 100.0), Autoscaler(1, 5, 5, 5, 950.0)
AUTOSCALERS = {
    "v1-52": (Limits(1, 10), 2, {}, {"c1": (1, 5), "c2": (1, 5)}),
    "v1-53": (Limits(4, 10), 3, {}, {"c1": (2, 4), "c2": (1, 3), "c3": (1, 3)}),
    "v1-54": (Limits(1, 3), 5, {}, {"c1": (1, 2), "c2": (1, 1)}),
    "v1-55": (Limits(2, 10), 3, {"c1": IDLE, "c2": IDLE}, {"c1": (1, 4), "c2": (1, 4), "c3": (1, 2)}),
    "v1-56": (Limits(2, 10), 3, {"c1": BUSY, "c2": BUSY}, {"c1": (1, 5), "c2": (1, 5)}),
    "v1-59": (Limits(1, 10), 0, {}, {}),
    "one for two": (Limits(1, 1), 2, {}, {"c1": (1, 1)}),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "count", "seen", "expected"), AUTOSCALERS.values(), ids=AUTOSCALERS)
def test_the_limits_of_an_autoscaler_are_divided(asked, count, seen, expected):
    limits = divide_autoscaler(asked, [f"c{n}" for n in range(1, count + 1)], seen, now=1000.0)

    assert {name: (each.min_replicas, each.max_replicas) for name, each in limits.items()} == expected


def test_an_autoscalers_limits_may_be_raised_to_a_single_number_v1_58():
    members = {"c1": Autoscaler(1, 5), "c2": Autoscaler(1, 5)}

    limits = divide_autoscaler(Limits(14, 14), ["c1", "c2"], members, now=0.0)

    assert sum(each.min_replicas for each in limits.values()) == 14
    with pytest.raises(ValueError, match=r"minReplicas 5 must not exceed spec.maxReplicas 4"):
        divide_autoscaler(Limits(5, 4), ["c1"], {}, now=0.0)


def test_an_autoscalers_limits_add_up_whatever_the_members_do_v1_57():
    for low in range(1, 9):
        for high in range(low, 16):
            for members in (
                {},
                {"c1": IDLE},
                {"c1": IDLE, "c2": BUSY},
                {"c1": Autoscaler(4, 9), "c3": Autoscaler(2, 2)},
            ):
                limits = divide_autoscaler(Limits(low, high), ["c1", "c2", "c3"], members, now=1000.0)

                assert sum(each.max_replicas for each in limits.values()) == high
                assert sum(each.min_replicas for each in limits.values()) >= low
                assert all(1 <= each.min_replicas <= each.max_replicas for each in limits.values())


def test_the_planner_gives_the_same_plan_whatever_the_order_v1_26():
    preferences = Preferences({"*": Preference(1)})

    assert plan_replicas(7, ["a", "b", "c"], preferences, key="k") == plan_replicas(
        7, ["c", "a", "b"], preferences, key="k"
    )
