"""Laws that hold for every fleet and every ask."""

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hanse.placement import (
    Aggregated,
    ByCapacity,
    ByFreeCapacity,
    Candidate,
    ClusterSelector,
    ClusterTerm,
    Duplicated,
    Equally,
    Failover,
    Fleet,
    Group,
    Placement,
    Preference,
    Preferences,
    Spread,
    State,
    Taint,
    Toleration,
    Weighted,
    WeightRule,
    decide,
)
from hanse.placement.apportionment import apportion

# Drawing a whole fleet is dear: every run tries a few, HYPOTHESIS_PROFILE=explore as many as it says.
few = settings() if settings().max_examples > 100 else settings(max_examples=20)

NAMES = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu")
REQUESTS = {"cpu": 1000}

taints = st.builds(Taint, st.sampled_from(("gpu", "old")), effect=st.sampled_from(("NoSchedule", "NoExecute")))
candidates = st.builds(
    Candidate,
    st.sampled_from(NAMES),
    labels=st.dictionaries(st.sampled_from(("env", "gen")), st.sampled_from(("prod", "test", "1", "2"))),
    refusal=st.sampled_from(("", "", "", "it is offline")),
    refused_since=st.none() | st.floats(0, 200),
    cordoned=st.sampled_from((False, False, False, True)),
    taints=st.just(()) | st.tuples(taints),
    region=st.sampled_from(("eu", "us", "ap", "")),
    zones=st.sampled_from(((), ("a",), ("a", "b"))),
    capacity=st.none() | st.fixed_dictionaries({"cpu": st.integers(0, 20_000)}),
    free=st.none() | st.fixed_dictionaries({"cpu": st.integers(0, 20_000)}),
)
fleets = st.lists(candidates, max_size=7, unique_by=lambda each: each.name)
names = st.lists(st.sampled_from((*NAMES, "ghost")), max_size=4, unique=True).map(tuple)
selectors = st.sampled_from(
    [
        [],
        [{"key": "env", "operator": "in", "values": ["prod", "test"]}],
        [{"key": "env", "operator": "!="  , "values": ["prod"]}],
        [{"key": "gen", "operator": "gt", "values": ["1"]}],
    ]
).map(ClusterSelector.parse)  # fmt: skip
terms = st.builds(ClusterTerm, selectors, st.none() | names, names)
rules = st.lists(st.builds(WeightRule, terms, st.integers(0, 9)), max_size=3).map(tuple)
preference = st.builds(Preference, st.integers(0, 5), st.integers(0, 4), st.none() | st.integers(4, 20))
stateless = st.one_of(st.just(Equally()), st.builds(Weighted, rules), st.just(ByCapacity()))
divisions = st.one_of(
    stateless,
    st.sampled_from((Duplicated(), ByFreeCapacity(), Aggregated())),
    st.builds(Preferences, st.dictionaries(st.sampled_from((*NAMES, "*")), preference), st.booleans()),
)
spreads = st.lists(
    st.builds(
        Spread,
        st.sampled_from(("region", "zone", "cluster", "env")),
        st.integers(0, 4),
        st.none() | st.integers(0, 4),
        st.none() | st.integers(0, 3),
    ),
    max_size=2,
).map(tuple)
placements = st.builds(
    Placement,
    terms,
    st.lists(st.builds(Group, st.just("g"), terms), max_size=2).map(tuple),
    st.lists(st.builds(Toleration, st.just("gpu"), st.just("Exists"), seconds=st.none() | st.floats(0, 99)), max_size=1)
    .map(tuple),
    spreads,
    divisions,
    st.sampled_from((None, REQUESTS)),
    st.builds(Failover, st.none() | st.sampled_from((0.0, 60.0)), st.booleans()),
)  # fmt: skip
states = st.builds(
    State,
    st.dictionaries(st.sampled_from((*NAMES, "ghost")), st.integers(0, 12)),
    st.dictionaries(st.sampled_from(NAMES), st.integers(0, 12), max_size=2),
    now=st.floats(0, 300),
)
totals = st.none() | st.integers(0, 40)
plain = st.lists(st.builds(Candidate, st.sampled_from(NAMES)), min_size=1, unique_by=lambda each: each.name)


@few
@given(fleets, placements, totals, states)
def test_any_ask_of_any_fleet_is_answered_for_every_cluster_with_a_reason(fleet, placement, total, state):
    decision = decide(fleet, placement, replicas=total, state=state, key="ns/web")

    assert [verdict.cluster for verdict in decision.verdicts] == sorted(each.name for each in fleet)
    assert all(verdict.reasons and all(verdict.reasons) for verdict in decision.verdicts)
    assert all(
        (verdict.replicas is not None) == (verdict.chosen and total is not None) for verdict in decision.verdicts
    )
    assert all(count >= 0 for count in decision.replicas.values())


@few
@given(fleets, placements, st.integers(0, 40), states)
def test_replicas_sum_to_what_was_asked_or_the_rest_is_named_with_a_remedy(fleet, placement, total, state):
    decision = decide(fleet, placement, replicas=total, state=state, key="ns/web")
    # What a cluster that is waited for runs counts as placed; an overflow is deliberately beyond the total.
    waits = placement.failover.after_seconds != 0.0 and any(each.refusal for each in fleet)
    overflows = isinstance(placement.division, Preferences)
    placed = sum(decision.replicas.values())

    if isinstance(placement.division, Duplicated) or (decision.notes and "asked for" in decision.notes[0]):
        return
    if not waits and not overflows:
        assert placed + decision.unplaced == total
    assert placed <= total or overflows
    assert not decision.unplaced or decision.remedy or not decision.chosen()


@few
@given(fleets, placements, totals, states, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(fleet, placement, total, state, random):
    shuffled = list(fleet)
    random.shuffle(shuffled)
    index = Fleet(shuffled[:1])
    for candidate in shuffled[1:]:
        index.put(candidate)

    decision = decide(fleet, placement, replicas=total, state=state, key="ns/web")

    assert decide(index, placement, replicas=total, state=state, key="ns/web") == decision


@few
@given(fleets, placements, st.integers(0, 40))
def test_a_decision_fed_back_changes_nothing(fleet, placement, total):
    first = decide(fleet, placement, replicas=total, key="ns/web")
    taken = first.replicas
    carried_out = [
        each
        if each.free is None or placement.requests is None
        else replace(each, free={"cpu": each.free["cpu"] - 1000 * taken.get(each.name, 0)})
        for each in fleet
    ]

    again = decide(carried_out, placement, replicas=total, state=State(taken), key="ns/web")

    assert again.replicas == taken


@few
@given(fleets, placements, st.integers(0, 40), states)
def test_maxima_and_room_are_respected(fleet, placement, total, state):
    decision = decide(fleet, placement, replicas=total, state=state, key="ns/web")
    division = placement.division

    for candidate in fleet:
        count = decision.replicas.get(candidate.name, 0)
        if isinstance(division, Preferences) and (preference := division.of(candidate.name)) is not None:
            limit = preference.max_replicas
            assert limit is None or count <= max(limit, state.current.get(candidate.name, 0))
        elif placement.requests and not isinstance(division, Duplicated) and not decision.notes:
            free = (candidate.free or {}).get("cpu", 0) // 1000
            assert count <= state.current.get(candidate.name, 0) + free


@few
@given(fleets, placements, totals, states)
def test_spread_is_respected_or_nothing_new_is_placed(fleet, placement, total, state):
    decision = decide(fleet, placement, replicas=total, state=state, key="ns/web")
    chosen = [each for each in fleet if each.name in decision.chosen()]
    assume(not any(each.refusal for each in fleet))

    if decision.notes and "asked for" in decision.notes[0]:
        assert all(each.name in state.current for each in chosen)
        return
    for spread in placement.spread:
        parts = {Fleet([each]).parts(spread.by)[0] for each in chosen}
        assert len(parts) >= spread.min_groups or not chosen
        assert spread.max_groups is None or len(parts) <= spread.max_groups


@few
@given(plain, stateless | st.just(ByFreeCapacity()), st.integers(0, 40), st.data())
def test_losing_a_cluster_moves_only_what_it_held(fleet, division, total, data):
    sized = [replace(each, capacity={"cpu": 50_000}, free={"cpu": 50_000}) for each in fleet]
    lost = data.draw(st.sampled_from(sorted(each.name for each in fleet)))
    placement = Placement(division=division, requests=REQUESTS)
    before = decide(sized, placement, replicas=total, key="ns/web").replicas
    rest = [replace(each, refusal="it is offline" if each.name == lost else "") for each in sized]

    after = decide(rest, placement, replicas=total, state=State(before), key="ns/web").replicas

    assert all(after[name] >= count for name, count in before.items() if name != lost)


@few
@given(plain, stateless, st.integers(0, 40), st.data())
def test_adding_a_cluster_moves_at_most_its_share(fleet, division, total, data):
    sized = [replace(each, capacity={"cpu": 50_000}) for each in fleet]
    added = data.draw(st.sampled_from(sorted(each.name for each in fleet)))
    placement = Placement(division=division)
    before = decide([each for each in sized if each.name != added], placement, replicas=total, key="ns/web").replicas

    after = decide(sized, placement, replicas=total, key="ns/web").replicas

    assert all(after[name] <= count for name, count in before.items())


@given(st.integers(0, 200), st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 40)), max_size=8))
def test_the_quick_apportionment_is_the_slow_one(total, places):
    weights, limits = [weight for weight, _ in places], [limit for _, limit in places]
    ranks = [7 * place % 5 for place in range(len(places))]
    counts = [0] * len(places)
    for _ in range(total):
        open_places = [
            (-weight / (2 * counts[place] + 1), ranks[place], place)
            for place, (weight, limit) in enumerate(places)
            if weight and (limit is None or counts[place] < limit)
        ]
        if not open_places:
            break
        counts[min(open_places)[2]] += 1

    assert apportion(total, weights, ranks, limits) == counts
