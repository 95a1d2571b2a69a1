"""Jobs and autoscalers over clusters; numbers are the lines of the fact sheet of federation v1."""

import pytest

from hanse.placement import Placement
from hanse.placement.ask import State
from hanse.placement.autoscalers import Limits
from hanse.placement.candidate import Candidate
from hanse.placement.decision import decide
from hanse.placement.fleet import Fleet
from hanse.placement.planner import Preference, Preferences
from hanse.propagation.parts import CRON_SCALE, AutoscalerParts, JobParts, Scene, part


def scene(clusters, parallelism=None, division=None, copies=None, key="default/pi", **changes):
    fleet = Fleet(Candidate(name=name) for name in clusters)
    placement = Placement(division=division) if division else Placement()
    state = State(current=dict.fromkeys(copies or {}, 1), now=changes.pop("now", 0.0))
    decision = decide(fleet, placement, replicas=parallelism, state=state, key=key)
    return Scene(fleet, placement, decision, state, copies or {}, key=key, **changes)


def job(parallelism, completions=None):
    spec = {"parallelism": parallelism}
    return {"spec": spec | ({} if completions is None else {"completions": completions})}


def shares(parted, *names):
    return {cluster: tuple(fields.get(("spec", name)) for name in names) for cluster, fields in parted.fields.items()}


def job_shares(parted):
    return shares(parted, "parallelism", "completions")


@pytest.mark.parametrize(
    ("parallelism", "completions", "division", "expected"),
    [
        pytest.param(3, 10, None, {(2, 5), (1, 5)}, id="45: parallelism 2 and 1, completions 5 and 5"),
        pytest.param(3, None, None, {(2, None), (1, None)}, id="46: completions unset stay unset"),
        pytest.param(1, None, None, {(1, None)}, id="47: a cluster with nothing to run gets no Job"),
        pytest.param(
            4,
            10,
            Preferences({"cluster1": Preference(1, max_replicas=1), "*": Preference(1)}),
            {(1, 5), (3, 5)},
            id="48: a maximum bounds what runs and not what is done",
        ),
    ],
)
def test_a_job_divides(parallelism, completions, division, expected):
    parted = part(JobParts(parallelism, completions), scene(["cluster1", "cluster2"], parallelism, division))

    assert set(job_shares(parted).values()) == expected
    assert sum(running for running, _ in job_shares(parted).values()) == parallelism


def test_a_job_that_a_lost_cluster_may_have_begun_is_begun_nowhere_else():
    parted = part(JobParts(3, 10), scene(["a", "c"], 3, untold=("b",)))

    assert (parted.fields, parted.notes) == ({}, ("it may be under way in b, which cannot be asked",))


def test_the_parts_of_a_job_stand_when_a_cluster_joins():
    parted = part(JobParts(3, 10), scene(["a", "b", "c"], 3, copies={"a": job(2, 5), "b": job(1, 5)}))

    assert {name: done for name, (_, done) in job_shares(parted).items()} == {"a": 5, "b": 5}


def test_more_parallelism_goes_to_the_parts_that_exist():
    parted = part(JobParts(8, 10), scene(["a", "b", "c"], 8, copies={"a": job(2, 5), "b": job(1, 5)}))

    assert job_shares(parted) == {"a": (4, 5), "b": (4, 5)}


def test_what_a_lost_cluster_may_have_finished_is_not_done_twice_and_said():
    parted = part(JobParts(3, 10), scene(["a", "c"], 3, copies={"a": job(2, 5)}, silent=("b",)))

    assert job_shares(parted).keys() == {"a"}
    assert parted.notes == ("5 of its completions are waited for from b",)


def test_the_completions_of_a_cluster_that_has_left_go_to_one_without_a_part():
    assert job_shares(part(JobParts(3, 10), scene(["a", "c"], 3, copies={"a": job(2, 5)})))["c"] == (1, 5)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"copies": {"b": job(1, 1), "c": job(2, 2)}}, id="a cluster that it shall leave"),
        pytest.param({"copies": {"c": job(2, 2)}, "uncounted": {"b": job(1, 1)}}, id="a cluster that is just back"),
        pytest.param({"uncounted": {"b": job(1, 1), "d": job(2, 2)}}, id="clusters that are just back"),
    ],
)
def test_completions_that_a_cluster_has_which_is_not_chosen_are_not_given_again(changes):
    parted = part(JobParts(3, 3), scene(["a", "c"], 3, **changes))

    assert "a" not in parted.fields


def test_completions_that_no_cluster_can_take_are_told():
    assert part(JobParts(3, 10), scene(["a"], 3, copies={"a": job(2, 5)})).notes == (
        "5 of its completions find no place: every chosen cluster has its part",
    )


@pytest.mark.parametrize("changes", [{"blind": True}, {}], ids=["not everything is seen", "it has ended"])
def test_a_job_is_begun_nowhere_while(changes):
    assert part(JobParts(3, 10, finished=not changes), scene(["a", "b"], 3, **changes)).fields == {}


def test_the_jobs_of_a_cronjob_divide_like_a_job_so_that_one_a_night_stays_one():
    parted = part(JobParts(1, None, scale=CRON_SCALE), scene(["a", "b", "c"], 1))

    assert list(parted.fields.values()) == [{("spec", "jobTemplate", "spec", "parallelism"): 1}]


def limits(parted):
    return shares(parted, "minReplicas", "maxReplicas")


def autoscaler(low, high, replicas=0, scaled=None):
    status = {"currentReplicas": replicas, "desiredReplicas": replicas}
    return {
        "spec": {"minReplicas": low, "maxReplicas": high},
        "status": status | ({"lastScaleTime": scaled} if scaled else {}),
    }


@pytest.mark.parametrize(
    ("clusters", "asked", "expected"),
    [
        pytest.param("ab", Limits(1, 10), {"a": (1, 5), "b": (1, 5)}, id="52"),
        pytest.param("abc", Limits(4, 10), {"a": (2, 4), "b": (1, 3), "c": (1, 3)}, id="53"),
        pytest.param("abcde", Limits(1, 3), {"a": (1, 2), "b": (1, 1)}, id="54"),
        pytest.param("", Limits(1, 3), {}, id="59: no cluster, no autoscaler and no error"),
    ],
)
def test_limits_divide(clusters, asked, expected):
    assert limits(part(AutoscalerParts(asked), scene(clusters))) == expected


IDLE = "2026-01-01T00:00:00Z"
LATER = 1767225600.0 + 300


def test_an_idle_member_gives_room_to_a_cluster_that_joins():
    """Line 55."""
    copies = {name: autoscaler(1, 5, 3, IDLE) for name in "ab"}

    given = limits(part(AutoscalerParts(Limits(2, 10)), scene("abc", copies=copies, now=LATER)))

    assert given == {"a": (1, 4), "b": (1, 4), "c": (1, 2)}


def test_a_member_that_has_just_scaled_gives_nothing():
    """Line 56."""
    copies = {name: autoscaler(1, 5, 5, IDLE) for name in "ab"}

    parted = part(AutoscalerParts(Limits(2, 10)), scene("abc", copies=copies, now=LATER - 290))

    assert limits(parted) == {"a": (1, 5), "b": (1, 5)}
    assert parted.until == LATER - 300 + 121, "then it is looked at again"


def test_limits_stay_as_they_are_while_not_everything_is_seen():
    copies = {"a": autoscaler(1, 5, 3, IDLE)}

    given = limits(part(AutoscalerParts(Limits(2, 10)), scene("ab", copies=copies, now=LATER, blind=True)))

    assert given == {"a": (1, 5)}
