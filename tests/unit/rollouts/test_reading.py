"""What stored objects say of a rollout."""

import pytest

from hanse.api.shipper.kinds import PAUSED_ANNOTATION
from hanse.kube.manifest import name_of
from hanse.rollouts.cluster_reading import Targets, clusters_of
from hanse.rollouts.environment import Chart
from hanse.rollouts.reading import Outcome, Role, counted_from_one, read_rollout, release_verdict, step_title
from hanse.rollouts.sources.addresses import chart_address
from hanse.rollouts.sources.problem import SourceProblem
from tests.unit.cli.rollout_cases import application, condition, release, targets

OLD = release(generation=0, step=1, achieved=1, complete=True)
PAUSED = {PAUSED_ANNOTATION: "true"}
OVERRIDDEN = {"step": 0, "failure": {"message": "x", "overridden": True}}
WAITS = {
    "state": {"waitingForCapacity": "True"},
    "conditions": [
        {**condition("ContenderAchievedCapacity", "False", "ClustersNotReady", "pods are coming"), "step": 1},
    ],
}


def rollout(*releases, version="0.0.2", conditions=()):
    return read_rollout(application(version=version, conditions=list(conditions)), releases, {})


def test_the_newest_release_is_the_contender_and_the_newest_complete_other_one_the_incumbent():
    older = release(generation=1, step=1, achieved=1, complete=True)
    broken = release(generation=2)
    newest = release(generation=10, version="0.0.2")

    read = rollout(OLD, older, broken, newest)

    assert [(each.name, each.role) for each in read.releases] == [
        ("web-10", Role.CONTENDER),
        ("web-2", Role.EARLIER),
        ("web-1", Role.INCUMBENT),
        ("web-0", Role.EARLIER),
    ]


def test_a_release_that_is_being_deleted_is_no_contender():
    read = rollout(OLD, release(generation=1, deleting=True), version="0.0.1")

    assert read.contender is not None
    assert read.contender.name == "web-0"
    assert read.releases[0].role is Role.LEAVING
    assert read.incumbent is None


@pytest.mark.parametrize(
    ("made", "outcome", "says"),
    [
        (release(), Outcome.WORKING, "step 1 of 2 (staging) is yet to be achieved"),
        (release(annotations={"shipper.booking.com/release.clusters": ""}), Outcome.WORKING, "clusters are yet to be"),
        (release(strategy=WAITS), Outcome.WORKING, "pods are coming"),
        (release(step=1, achieved=0), Outcome.WORKING, "step 2 of 2 (full on)"),
        (release(achieved=0), Outcome.WAITING, "step 1 of 2 (staging) is achieved; `hanse rollout promote` goes on"),
        (release(achieved=0, strategy=WAITS), Outcome.WORKING, "pods are coming"),
        (release(step=1, achieved=1, complete=True), Outcome.COMPLETE, ""),
        (release(step=0, achieved=0, complete=True), Outcome.WAITING, "step 1 of 2"),
        (release(achieved=0, annotations=PAUSED), Outcome.PAUSED, "`hanse rollout resume` lets it go on"),
        (
            release(annotations=PAUSED, strategy=WAITS),
            Outcome.PAUSED,
            "it is paused; `hanse rollout resume` lets it go on",
        ),
        (release(step=1, achieved=1, complete=True, annotations=PAUSED), Outcome.COMPLETE, ""),
        (
            release(conditions=[condition("Blocked", "True", "RolloutsBlocked", 'block(s) "shop/freeze" exist')]),
            Outcome.BLOCKED,
            'block(s) "shop/freeze" exist; delete it or override it',
        ),
        (
            release(conditions=[condition("Scheduled", "False", "NotEnoughClustersInRegion", "Required: 1")]),
            Outcome.FAILED,
            "Required: 1",
        ),
        (
            release(conditions=[condition("StrategyExecuted", "False", "StrategyExecutionFailed", "no step 2")]),
            Outcome.FAILED,
            "no step 2",
        ),
        (
            release(progress={"step": 0, "failure": {"message": "check smoke failed"}}, annotations=PAUSED),
            Outcome.FAILED,
            "check smoke failed; `hanse rollout retry` tries again",
        ),
        (release(achieved=0, progress=OVERRIDDEN), Outcome.WAITING, "step 1 of 2 (staging) is achieved"),
        (release(step=1, progress={"step": 0, "failure": {"message": "x"}}), Outcome.WORKING, ""),
    ],
)
def test_how_a_release_stands_is_said_in_a_word_and_a_sentence(made, outcome, says):
    verdict = release_verdict(made)

    assert verdict.outcome is outcome
    assert says in verdict.why


@pytest.mark.parametrize(
    ("reason", "passes"), [("ChartFetchFailure", True), ("FailedAPICall", True), ("WrongChartDeployments", False)]
)
def test_only_what_is_tried_again_by_itself_may_pass(reason, passes):
    assert release_verdict(release(conditions=[condition("Scheduled", "False", reason)])).may_pass is passes


@pytest.mark.parametrize(
    "chart",
    [
        Chart("web", "1.0.0", "gopher://charts"),
        Chart("../web", "1.0.0", "https://charts.example.com"),
        Chart("web", "1.0.0", "https://me:secret@charts.example.com"),
    ],
)
def test_what_only_a_change_of_the_template_mends_does_not_pass(chart):
    with pytest.raises(SourceProblem) as found:
        chart_address(chart)

    told = str(found.value)
    unresolved = condition("RollingOut", "False", "ChartVersionResolutionFailed", told)
    unscheduled = condition("Scheduled", "False", "ChartRepoInternal", told)
    assert not rollout(OLD, conditions=[unresolved]).verdict.may_pass
    assert not release_verdict(release(conditions=[unscheduled])).may_pass
    assert rollout(OLD, conditions=[{**unresolved, "message": "no answer"}]).verdict.may_pass


def test_a_rollout_that_is_over_stays_so_under_a_block():
    blocked = condition("Blocked", "True", "RolloutsBlocked", "a block")
    of_both = release(step=1, achieved=1, complete=True, conditions=[condition("Scheduled", "True"), blocked])

    for read in (rollout(OLD, version="0.0.1", conditions=[blocked]), rollout(of_both, version="0.0.1")):
        assert read.verdict.outcome is Outcome.COMPLETE
        assert read.verdict.why.startswith("a block; delete it")


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ("step 0 (staging) is done and goes on 30 seconds after that", "step 1 of 2 (staging) is done and goes on"),
        ("step 1 was not achieved within 30 seconds", "step 2 of 2 (full on) was not achieved"),
        ("step 1 of 2 (staging) is achieved", "step 1 of 2 (staging) is achieved"),
        ("check smoke of step 0", "check smoke of step 0"),
    ],
)
def test_what_the_control_plane_says_of_a_step_is_counted_as_people_do(told, says):
    assert counted_from_one(OLD, told).startswith(says)


@pytest.mark.parametrize(
    ("before", "remedy", "annotations", "says"),
    [
        ((OLD,), "Pause", PAUSED, "`hanse rollout retry` tries again, `promote` goes on, `abort` goes back"),
        ((OLD,), "Abort", {}, "it is rolled back"),
        ((OLD,), "Rollback", PAUSED, "`hanse rollout retry` tries again, `promote` goes on, `abort` goes back"),
        ((), "Abort", PAUSED, "`hanse rollout retry` tries again, `promote` goes on"),
    ],
)
def test_only_what_can_be_done_about_a_failure_is_advised(before, remedy, annotations, says):
    failed = {"step": 0, "failure": {"message": "check smoke failed", "remedy": remedy}}
    read = rollout(*before, release(generation=1, version="0.0.2", progress=failed, annotations=annotations))

    assert read.verdict.why == f"check smoke failed; {says}"


@pytest.mark.parametrize(
    ("reason", "message", "failing"),
    [
        ("PodsNotReady", '1/3: 1x"app" containers with [ContainerCreating]', False),
        ("PodsNotReady", '1/3: 1x"app" containers with []', False),
        ("PodsNotReady", '1/3: 1x"app" containers with [ContainerCreating OOMKilled]', True),
        ("PodsNotReady", '1/3: 1x"Error" containers with [PodInitializing]', False),
        ("DeploymentStuck", "exceeded quota", True),
        ("InProgress", "", False),
    ],
)
def test_a_cluster_whose_pods_start_has_not_failed(reason, message, failing):
    made = release()
    installation, capacity, traffic = targets(made, available=0)
    capacity["status"]["clusters"][0]["conditions"] = [condition("Ready", "False", reason, message)]

    (cluster,) = clusters_of(made, Targets(installation, capacity, traffic))

    assert cluster.failing is failing


@pytest.mark.parametrize(
    ("found", "outcome", "says"),
    [
        (condition("RollingOut", "False", "ChartVersionResolutionFailed", "no chart x"), Outcome.FAILED, "no chart x"),
        (condition("RollingOut", "False", "InvalidTemplate", "give a chart"), Outcome.FAILED, "give a chart"),
        (condition("RollingOut", "False", "", 'Release "web-1" is active'), Outcome.WAITING, "staging"),
        (condition("ValidHistory", "False", "BrokenReleaseGeneration", "no number"), Outcome.FAILED, "no number"),
        (condition("Blocked", "True", "RolloutsBlocked", "a block"), Outcome.BLOCKED, "a block; delete it"),
    ],
)
def test_what_is_wrong_with_the_application_counts_before_its_release(found, outcome, says):
    read = rollout(release(generation=1, version="0.0.2", achieved=0), conditions=[found])

    assert read.verdict.outcome is outcome
    assert says in read.verdict.why


def test_a_template_that_is_no_release_yet_is_on_its_way():
    assert rollout(OLD).verdict.why == "no release was made of its template yet"
    assert not rollout(OLD).is_current
    assert rollout(OLD, version="0.0.1").verdict.outcome is Outcome.COMPLETE


def test_a_cluster_shows_pods_traffic_and_what_is_wrong():
    made = release(generation=1)
    (cluster,) = clusters_of(made, Targets(*targets(made, percent=34, available=1, weight=10, sad=2)))

    assert (cluster.name, cluster.available, cluster.desired, cluster.percent) == ("eu", 1, 2, 34)
    assert (cluster.weight, cluster.achieved_weight, cluster.installed) == (10, 10, True)
    assert cluster.sad_pods == ("web-1-0", "web-1-1")
    assert cluster.problems == ('PodsNotReady: 1/3: 1x"app" containers with [CrashLoopBackOff]',)


def test_a_release_without_targets_still_names_its_clusters():
    (cluster,) = clusters_of(release(), Targets())

    assert (cluster.name, cluster.desired, cluster.installed) == ("eu", 0, False)


def test_releases_whose_generation_is_no_number_come_last():
    odd = release(generation=7, annotations={"shipper.booking.com/release.generation": "x"})

    assert [name_of(each.obj) for each in rollout(odd, OLD).releases] == ["web-0", "web-7"]


def test_steps_are_counted_as_people_do():
    assert step_title(OLD, 1) == "2 of 2 (full on)"
    assert step_title(OLD, 5) == "6 of 2"
