"""The loss of a cluster: who takes over, when its share goes back, and what must not run twice."""

from collections import Counter
from dataclasses import replace

import pytest

from hanse.kube.manifest import Key
from hanse.kube.resources import DEPLOYMENTS
from hanse.placement.ask import (
    Aggregated,
    ByFreeCapacity,
    ClusterTerm,
    Equally,
    Failover,
    Placement,
    Weighted,
    WeightRule,
)
from hanse.placement.transition import Holding, may_leave, next_replicas_at_most
from hanse.propagation.comparison import Present
from hanse.propagation.intent import Ref
from hanse.propagation.planning import Observation, plan
from hanse.propagation.promises import Promises
from tests.unit.propagation.builders import copy, deployment_intent, fleet

# Every cluster joined at the beginning of 2026; seconds below count from a moment long after.
JOINED, BACK = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
BACK_SECONDS = 1767229200.0


def world(*names, lost="", back=""):
    """Clusters that are ready since they joined, lost, or back since BACK."""
    return [
        replace(cluster, created=JOINED, refused_since=BACK if cluster.name in back else JOINED)
        for cluster in fleet(*names, offline=lost)
    ]


def intent(replicas=9, **failover):
    made = deployment_intent(replicas)
    return replace(made, placement=Placement(failover=Failover(**failover)))


def holding(made, **replicas):
    return {
        name: Observation(seen=True, copy=copy(made, count) if count is not None else None)
        for name, count in replicas.items()
    }


def asked(planned):
    return {
        name: wish.manifest["spec"]["replicas"] for name, wish in planned.wanted.items() if isinstance(wish, Present)
    }


class TestAReadyClusterThatCannotBeRead:
    # How long it has been so -> what the others are asked for, where a lost cluster is replaced after 300 s.
    @pytest.mark.parametrize(("seconds", "expected"), [(10.0, {"a": 3, "b": 3}), (301.0, {"a": 5, "b": 4})])
    def test_is_waited_for_as_long_as_one_that_is_lost(self, seconds, expected):
        made = intent(after_seconds=300.0)
        unread = Observation(
            seen=False, copy=copy(made, 3), refusal="its deployments cannot be followed", unseen_for=seconds
        )

        planned = plan(made, world("a", "b", "c"), holding(made, a=3, b=3) | {"c": unread}, now=BACK_SECONDS)

        assert sorted(asked(planned).values()) == sorted(expected.values())

    def test_gives_its_share_away_at_once_where_it_does_not_know_the_kind(self):
        made = intent(after_seconds=300.0)
        unserved = Observation(seen=False, refusal="it does not serve Deployment (apps/v1)", unserved=True)

        planned = plan(made, world("a", "b", "c"), holding(made, a=3, b=3) | {"c": unserved}, now=BACK_SECONDS)

        assert sum(asked(planned).values()) == 9


class TestComingBack:
    SECONDS_LATER = BACK_SECONDS + 5
    LONG_AFTER = BACK_SECONDS + 15

    def test_a_share_that_others_took_over_stays_with_them_for_a_while(self):
        made = intent()
        observed = holding(made, a=5, b=4, c=3)

        planned = plan(made, world("a", "b", "c", back="c"), observed, now=self.SECONDS_LATER)

        assert asked(planned) == {"a": 5, "b": 4}
        assert planned.decision.until == BACK_SECONDS + 10
        assert planned.decision.of("c").reasons[-1].startswith("it came back only just now")

    def test_it_goes_back_once_the_cluster_has_stayed(self):
        made = intent()

        planned = plan(made, world("a", "b", "c", back="c"), holding(made, a=5, b=4, c=3), now=self.LONG_AFTER)

        assert asked(planned) == {"a": 3, "b": 3, "c": 3}

    def test_it_goes_back_at_once_where_the_clock_was_set_back_past_its_return(self):
        made = intent()
        before_it_was_back = BACK_SECONDS - 157

        planned = plan(made, world("a", "b", "c", back="c"), holding(made, a=5, b=4, c=3), now=before_it_was_back)

        assert asked(planned) == {"a": 3, "b": 3, "c": 3}

    def test_a_share_that_was_never_given_away_is_its_own_at_once(self):
        made = intent(after_seconds=300.0)

        planned = plan(made, world("a", "b", "c", back="c"), holding(made, a=3, b=3, c=3), now=self.SECONDS_LATER)

        assert asked(planned) == {"a": 3, "b": 3, "c": 3}

    def test_what_is_new_is_placed_there_at_once(self):
        made = intent()

        planned = plan(made, world("a", "b", "c", back="c"), holding(made, a=None, b=None, c=None), now=BACK_SECONDS)

        assert asked(planned) == {"a": 3, "b": 3, "c": 3}

    def test_a_cluster_that_joins_gets_its_share_at_once(self):
        made = intent()
        clusters = [*world("a", "b"), replace(world("c")[0], created=BACK, refused_since=BACK)]

        planned = plan(made, clusters, holding(made, a=5, b=4, c=None), now=self.SECONDS_LATER)

        assert asked(planned)["c"] == 3

    # How far ahead of the present the moment of the return is -> what is asked of the clusters.
    @pytest.mark.parametrize(("ahead", "expected"), [(5, {"a": 5, "b": 4}), (344, {"a": 3, "b": 3, "c": 3})])
    def test_a_clock_that_was_set_back_does_not_keep_it_out(self, ahead, expected):
        made = intent()

        planned = plan(made, world("a", "b", "c", back="c"), holding(made, a=5, b=4, c=3), now=BACK_SECONDS - ahead)

        assert asked(planned) == expected

    def test_a_policy_says_how_long(self):
        made = intent(fail_back_after=60.0)

        planned = plan(made, world("a", "b", "c", back="c"), holding(made, a=5, b=4, c=3), now=self.LONG_AFTER)

        assert planned.decision.until == BACK_SECONDS + 60

    def test_a_cluster_that_comes_and_goes_moves_nothing(self):
        made = intent()
        observed = holding(made, a=5, b=4, c=3)
        steps = [
            plan(made, world("a", "b", "c", lost="c"), observed, now=BACK_SECONDS - 60),
            plan(made, world("a", "b", "c", back="c"), observed, now=self.SECONDS_LATER),
            plan(made, world("a", "b", "c", lost="c"), observed, now=BACK_SECONDS + 9),
        ]

        assert [asked(step) for step in steps] == [{"a": 5, "b": 4}] * 3


WEIGHTED = Weighted((WeightRule(ClusterTerm(names=("a",)), 2), WeightRule(ClusterTerm(), 1)))


@pytest.mark.parametrize(
    ("replicas", "spare", "clusters", "division", "total"),
    [
        (9, 0, "abc", None, 9),
        (9, 1, "abc", None, 14),
        (6, 1, "abc", None, 9),
        (6, 2, "abc", None, 18),
        (6, 1, "ab", None, 12),
        (6, 1, "a", None, 6),
        (6, 1, "abc", WEIGHTED, 11),
        (0, 1, "abc", None, 0),
    ],
)
def test_enough_is_left_without_the_largest_shares(replicas, spare, clusters, division, total):
    made = intent(replicas, spare_clusters=spare)
    if division is not None:
        made = replace(made, placement=replace(made.placement, division=division))

    planned = plan(made, world(*clusters), holding(made, **dict.fromkeys(clusters)))

    shares = sorted(asked(planned).values())
    assert sum(shares) == total
    assert len(clusters) <= spare or sum(shares[: len(shares) - spare]) >= replicas


def test_overprovisioned_work_that_never_fails_over_moves_nothing():
    made = intent(6, spare_clusters=1, after_seconds=None)

    planned = plan(made, world("a", "b", "c", lost="c"), holding(made, a=3, b=3, c=3))

    assert asked(planned) == {"a": 3, "b": 3}
    assert planned.decision.unplaced == 0


def test_many_objects_that_lose_a_cluster_burden_the_others_evenly():
    burden = Counter()
    for number in range(300):
        made = replace(intent(1), key=Key("shop", f"web-{number}"))
        burden.update(
            asked(plan(made, world("a", "b", "c", "d", lost="d"), holding(made, a=None, b=None, c=None, d=None)))
        )

    assert sum(burden.values()) == 300
    assert max(burden.values()) - min(burden.values()) <= 30


class TestRoomThatOthersWerePromised:
    """Ten objects of four replicas lose a cluster at once; two clusters have room for thirty replicas between them."""

    REQUESTS = {"cpu": 1000}  # noqa: RUF012
    FREE = {"a": "20", "b": "10"}  # noqa: RUF012

    def clusters(self, free):
        return [replace(cluster, free={"cpu": free[cluster.name]}) for cluster in world("a", "b")]

    def failed_over(self, promises, division):
        burden, unplaced = Counter(), 0
        for number in range(10):
            ref = Ref(DEPLOYMENTS, Key("shop", f"web-{number}"))
            placement = Placement(division=division, requests=self.REQUESTS)
            made = replace(deployment_intent(4), key=ref.key, placement=placement)
            clusters = self.clusters(self.FREE)
            promised = promises.to_others(ref, clusters)
            planned = plan(made, clusters, holding(made, a=None, b=None), promised=promised)
            promises.note(ref, self.REQUESTS, {}, planned.decision.replicas)
            burden.update(planned.decision.replicas)
            unplaced += planned.decision.unplaced
        return dict(burden), unplaced

    @pytest.mark.parametrize("division", [Equally(), ByFreeCapacity(), Aggregated()])
    def test_nobody_is_given_more_than_there_is(self, division):
        assert self.failed_over(Promises(), division) == ({"a": 20, "b": 10}, 10)

    def test_it_is_forgotten_when_the_cluster_tells_anew_and_when_the_object_is_gone(self):
        promises, ref = Promises(), Ref(DEPLOYMENTS, Key("shop", "web"))
        other = Ref(DEPLOYMENTS, Key("shop", "other"))
        promises.to_others(ref, self.clusters(self.FREE))
        promises.note(ref, self.REQUESTS, {"a": 1}, {"a": 4, "b": 2})

        assert promises.to_others(ref, self.clusters(self.FREE)) == {}
        assert promises.to_others(other, self.clusters(self.FREE)) == {"a": {"cpu": 3000}, "b": {"cpu": 2000}}
        assert promises.to_others(other, self.clusters({"a": "17", "b": "10"})) == {"b": {"cpu": 2000}}
        promises.forget(ref)
        assert promises.to_others(other, self.clusters({"a": "17", "b": "10"})) == {}


class TestClustersOfWhichNothingWasHeardYet:
    def world(self):
        new = replace(fleet("c")[0], ready=False, created=BACK)
        return [*world("a", "b"), new]

    def test_nothing_moves_before_the_first_word_on_their_health(self):
        made = intent()
        observed = holding(made, a=3, b=3, c=3)

        planned = plan(made, self.world(), observed, now=BACK_SECONDS + 1)

        assert asked(planned) == {"a": 3, "b": 3}
        assert planned.leaving is None
        assert planned.decision.until == BACK_SECONDS + 30

    def test_one_goes_on_without_them_after_a_while(self):
        made = intent()

        planned = plan(made, self.world(), holding(made, a=3, b=3, c=None), now=BACK_SECONDS + 31)

        assert sum(asked(planned).values()) == 9


class TestWhatMustNotRunTwice:
    def single(self, **changes):
        made = intent(1, after_seconds=None)
        return replace(made, placement=replace(made.placement, at_most_once=True, **changes))

    def home_of(self, made):
        (home,) = [
            name for name, count in asked(plan(made, world("a", "b"), holding(made, a=None, b=None))).items() if count
        ]
        return home

    def test_it_is_started_nowhere_else_while_a_lost_cluster_may_run_it_and_says_so(self):
        made = self.single()
        home = self.home_of(made)
        other = "b" if home == "a" else "a"

        planned = plan(made, world("a", "b", lost=home), holding(made, **{home: 1, other: 0}))

        assert asked(planned) == {other: 0}
        assert planned.decision.notes == (
            f"1 replicas may still run in {home}, which cannot be asked, and are started nowhere else",
        )

    def test_a_new_cluster_gets_nothing_of_what_a_lost_one_was_last_seen_to_run(self):
        made = replace(self.single(), replicas=4)

        planned = plan(made, world("a", "b", "c", "d", lost="c"), holding(made, a=1, b=1, c=2, d=None))

        assert asked(planned) == {"a": 1, "b": 1, "d": 0}

    # When it was created (the cluster is lost since it joined), how many are wanted -> what the others are asked for.
    @pytest.mark.parametrize(
        ("created", "replicas", "expected"),
        [
            ("", 4, {"a": 1, "b": 1, "d": 0}),
            ("2025-12-31T00:00:00Z", 4, {"a": 1, "b": 1, "d": 0}),
            ("2025-12-31T00:00:00Z", 1, {"a": 0, "b": 1, "d": 0}),
            ("2026-01-02T00:00:00Z", 4, {"a": 1, "b": 1, "d": 1}),
        ],
    )
    def test_what_a_lost_cluster_holds_of_which_nobody_was_told_is_begun_nowhere_else(
        self, created, replicas, expected
    ):
        made = replace(self.single(), replicas=replicas, created=created)
        observed = holding(made, a=1, b=1, d=None) | {"c": Observation(seen=False, refusal="it cannot be followed")}

        planned = plan(made, world("a", "b", "c", "d", lost="c"), observed)

        assert sum(asked(planned).values()) == sum(expected.values())
        assert asked(planned)["d"] == expected["d"]

    def test_what_a_ready_cluster_holds_that_cannot_be_read_is_begun_nowhere_else(self):
        made = replace(self.single(), replicas=3, created="2026-01-02T00:00:00Z")
        unread = Observation(seen=False, refusal="its deployments cannot be followed", unseen_for=10.0)

        planned = plan(made, world("a", "b", "c"), holding(made, a=1, c=None) | {"b": unread})

        assert asked(planned) == {"a": 1, "c": 0}

    @pytest.mark.parametrize("told", [True, False])
    def test_it_waits_for_a_lost_cluster_that_it_shall_leave(self, told):
        made = replace(self.single(clusters=ClusterTerm(names=("a",))), replicas=2)
        lost = Observation(seen=False, copy=copy(made, 1) if told else None, refusal="it cannot be followed")

        planned = plan(made, world("a", "b", "c", lost="c"), holding(made, a=None, b=0) | {"c": lost})

        assert sum(asked(planned).values()) == (1 if told else 0)

    def test_while_a_cluster_has_yet_to_tell_what_it_has_no_other_one_gets_more(self):
        made = replace(self.single(), replicas=4)
        observed = holding(made, a=1, b=1, d=None) | {"c": Observation(seen=False)}

        planned = plan(made, world("a", "b", "c", "d"), observed)

        assert asked(planned) == {"a": 1, "b": 1, "d": 0}

    # planned, what each cluster is asked for and runs -> what it is asked for next
    @pytest.mark.parametrize(
        ("planned", "held", "expected"),
        [
            ({"a": 1}, {}, {"a": 1}),
            ({"b": 1}, {"a": (1, 1)}, {"a": 0, "b": 0}),
            ({"b": 1}, {"a": (0, 1)}, {"a": 0, "b": 0}),
            ({"b": 1}, {"a": (0, 0)}, {"a": 0, "b": 1}),
            ({"a": 2, "b": 2}, {"a": (4, 4)}, {"a": 2, "b": 0}),
            ({"a": 2, "b": 2}, {"a": (2, 3)}, {"a": 2, "b": 1}),
            ({"a": 2, "b": 2}, {"a": (2, 2)}, {"a": 2, "b": 2}),
            ({"a": 5}, {"a": (3, 3)}, {"a": 5}),
        ],
    )
    def test_it_ends_in_its_old_place_before_it_begins_in_the_new_one(self, planned, held, expected):
        holdings = {name: Holding(replicas, replicas) for name, (replicas, _) in held.items()}
        running = {name: count for name, (_, count) in held.items()}

        assert next_replicas_at_most(sum(planned.values()), planned, holdings, running) == expected


@pytest.mark.parametrize(
    ("chosen", "copies", "expected"),
    [
        ("b", {"a": True}, set()),
        ("b", {"a": True, "b": False}, set()),
        ("b", {"a": True, "b": True}, {"a"}),
        ("bc", {"a": True, "b": True}, set()),
        ("bc", {"a": True, "b": True, "c": True}, {"a"}),
        ("b", {"a": False}, {"a"}),
        ("c", {"a": True, "b": True, "c": True}, {"a", "b"}),
    ],
)
def test_who_may_give_up_a_copy_without_replicas(chosen, copies, expected):
    assert may_leave(chosen, copies) == expected
