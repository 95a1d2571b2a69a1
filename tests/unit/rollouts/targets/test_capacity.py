"""What is told of a release's pods in a cluster."""

import pytest

from hanse.kube.manifest import name_of
from hanse.rollouts.door import share_of
from hanse.rollouts.targets.breakdown import breakdown, sad_pods, summary
from hanse.rollouts.targets.capacity import achieved_percent, report

NO_MESSAGE = ""


def deployment(replicas, available=None, *, generation=1, seen=1, conditions=()):
    status = {"observedGeneration": seen, "conditions": list(conditions)}
    if available is not None:
        status["availableReplicas"] = available
    return {
        "metadata": {"name": "web", "namespace": "shop", "generation": generation},
        "spec": {} if replicas is None else {"replicas": replicas},
        "status": status,
    }


def container(name="app", *, ready=False, restarts=0, last=None, **state):
    found = {"name": name, "ready": ready, "restartCount": restarts, "state": state}
    return found if last is None else {**found, "lastState": {"terminated": last}}


def pod(name, *containers, conditions=(("Ready", "False", "ContainersNotReady"),), init=()):
    return {
        "metadata": {"name": name, "namespace": "shop"},
        "status": {
            "conditions": [{"type": kind, "status": status, "reason": reason} for kind, status, reason in conditions],
            "containerStatuses": list(containers),
            "initContainerStatuses": list(init),
        },
    }


def crashing(name):
    return pod(name, container(waiting={"reason": "CrashLoopBackOff"}))


@pytest.mark.parametrize(
    ("total", "percent", "pods"),
    [
        (3, 0, 0),
        (3, 1, 1),
        (3, 25, 1),
        (3, 50, 2),
        (3, 75, 3),
        (3, 100, 3),
        (10, 50, 5),
        (1, 1, 1),
        (4, 50, 2),
        (0, 100, 0),
        (100, 7, 7),
        (25, 56, 14),
    ],
)
def test_a_percentage_is_rounded_up_in_whole_numbers(total, percent, pods):
    assert share_of(total, percent) == pods
    assert report(total, percent, deployment(pods, pods), []).verdict.ready


@pytest.mark.parametrize(
    ("total", "available", "percent"),
    [(3, 1, 34), (3, 2, 67), (3, 3, 100), (3, 0, 0), (0, 0, 0), (0, 2, 0), (7, 7, 100)],
)
def test_the_achieved_percentage_is_rounded_up_and_of_nothing_is_none(total, available, percent):
    assert achieved_percent(total, available) == percent
    assert report(total, 100, deployment(total, available), []).facts["achievedPercent"] == percent


STUCK = ({"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: pods"},)
LATE = ({"type": "Progressing", "status": "False", "message": "has timed out progressing"},)
WELL = ({"type": "Progressing", "status": "True"}, {"type": "ReplicaFailure", "status": "False", "message": "old"})

HINDRANCES = {
    "not scaled yet": (deployment(1, 1), [], NO_MESSAGE, "InProgress", ""),
    "no replicas said means one": (deployment(None, 1), [], NO_MESSAGE, "InProgress", ""),
    "cannot be scaled": (deployment(1, 1), [], "is forbidden", "InternalError", "is forbidden"),
    "scaled but not seen": (deployment(3, 3, generation=2, seen=1), [], NO_MESSAGE, "InProgress", ""),
    "trouble that did not keep it from its size": (deployment(3, 2), [], "a note", "InProgress", ""),
    "quota": (deployment(3, 1, conditions=STUCK), [crashing("a")], "", "DeploymentStuck", "exceeded quota: pods"),
    "too slow": (
        deployment(3, 1, conditions=LATE),
        [crashing("a")],
        "",
        "DeploymentStuck",
        "has timed out progressing",
    ),
    "quota before slowness": (
        deployment(3, 1, conditions=LATE + STUCK),
        [],
        "",
        "DeploymentStuck",
        STUCK[0]["message"],
    ),
    "pods that crash": (
        deployment(3, 2, conditions=WELL),
        [crashing("a")],
        "",
        "PodsNotReady",
        '1/3: 1x"app" containers with [CrashLoopBackOff]',
    ),
    "nothing to see yet": (deployment(3, None), [], "", "InProgress", ""),
    "more than wanted": (deployment(3, 4), [], "", "InProgress", ""),
}


@pytest.mark.parametrize(("found", "pods", "trouble", "reason", "message"), HINDRANCES.values(), ids=HINDRANCES)
def test_what_keeps_a_release_from_its_capacity(found, pods, trouble, reason, message):
    told = report(3, 100, found, pods, trouble)

    assert (told.verdict.ready, told.verdict.operational) == (False, True)
    assert (told.verdict.reason, told.verdict.message) == (reason, message)


def test_of_ten_crashing_pods_five_are_shown_by_name():
    told = report(10, 100, deployment(10, 0), [crashing(f"web-{number}") for number in (9, 3, 8, 1, 0, 7, 2, 6, 5, 4)])

    assert [sad["name"] for sad in told.facts["sadPods"]] == ["web-0", "web-1", "web-2", "web-3", "web-4"]
    assert told.verdict.message == '5/10: 5x"app" containers with [CrashLoopBackOff]'


def test_a_release_that_has_its_pods_shows_no_sad_ones():
    told = report(1, 100, deployment(1, 1), [crashing("a")])

    assert told.verdict.ready
    assert "sadPods" not in told.facts
    assert told.facts["reports"][0]["owner"] == {"name": "web"}


def test_a_sad_pod_is_shown_with_its_first_false_condition_and_its_containers():
    conditions = (("PodScheduled", "True", ""), ("Initialized", "False", "Why"), ("Ready", "False", "Late"))
    wrong = pod("a", container(), conditions=conditions, init=[container("init")])
    fine = pod("b", container(ready=True), conditions=(("Ready", "True", ""),))

    [sad] = sad_pods([fine, wrong])

    assert (sad["name"], sad["condition"]["type"]) == ("a", "Initialized")
    assert [each["name"] for each in sad["containers"]] == ["app"]
    assert [each["name"] for each in sad["initContainers"]] == ["init"]


def test_containers_that_are_not_ready_are_summed_up_by_name():
    first = pod(
        "a",
        container("fine", ready=True),
        container("web", waiting={"reason": "ImagePullBackOff"}),
        container("done", terminated={"reason": "Completed"}),
        init=[container("setup", waiting={"reason": "ImagePullBackOff"})],
    )
    second = pod("b", container("web", waiting={"reason": "ErrImagePull"}), init=[container("setup", ready=True)])

    assert summary(sad_pods([first, second])).split("; ") == [
        '1x"done" containers with [Completed]',
        '1x"setup" containers with [ImagePullBackOff]',
        '2x"web" containers with [ErrImagePull ImagePullBackOff]',
    ]


def test_a_container_that_runs_unready_has_no_reason():
    assert summary(sad_pods([pod("a", container(running={}))])) == '1x"app" containers with []'


def unscheduled(name, message="", reason="Unschedulable"):
    found = pod(name, conditions=(("PodScheduled", "False", reason),))
    found["status"]["conditions"][0]["message"] = message
    return found


NODES = "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No preemption victims."
SILENT = {
    "no message": ([unscheduled("a")], "1x pods with [Unschedulable]"),
    "first sentence": (
        [unscheduled("a"), unscheduled("b", NODES)],
        "2x pods with [Unschedulable]: 0/2 nodes are available: 2 Insufficient cpu",
    ),
    "long": ([unscheduled("a", "x" * 500)], f"1x pods with [Unschedulable]: {'x' * 119}…"),
    "no reason": ([unscheduled("a", reason="")], "1x pods with [PodScheduled]"),
    "ready containers": (
        [pod("a", container(ready=True), conditions=(("Ready", "False", "ReadinessGatesNotReady"),))],
        "1x pods with [ReadinessGatesNotReady]",
    ),
    "beside others": (
        [unscheduled("b"), crashing("a")],
        '1x"app" containers with [CrashLoopBackOff]; 1x pods with [Unschedulable]',
    ),
}


@pytest.mark.parametrize(("pods", "told"), SILENT.values(), ids=SILENT)
def test_where_no_container_says_anything_the_pod_does(pods, told):
    assert summary(sad_pods(pods)) == told
    assert report(3, 100, deployment(3, 0), pods).verdict.message == f"{len(pods)}/3: {told}"


def test_pods_are_counted_by_condition_and_container_state():
    unready = (("Ready", "False", "ContainersNotReady"),)
    pods = [
        pod("b", container(running={}, ready=True), conditions=(("Ready", "True", ""),)),
        pod(
            "c", container(waiting={"reason": "CrashLoopBackOff"}, restarts=2, last={"exitCode": 3}), conditions=unready
        ),
        pod("a", container(waiting={"reason": "CrashLoopBackOff"}, restarts=1, last={"signal": 9}), conditions=unready),
    ]

    assert breakdown("web", pods) == {
        "owner": {"name": "web"},
        "breakdown": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "ContainersNotReady",
                "count": 2,
                "containers": [
                    {
                        "name": "app",
                        "states": [
                            {
                                "type": "Waiting",
                                "reason": "CrashLoopBackOff",
                                "count": 2,
                                "example": {"pod": "a", "message": "Terminated with signal 9"},
                            }
                        ],
                    }
                ],
            },
            {
                "type": "Ready",
                "status": "True",
                "count": 1,
                "containers": [
                    {
                        "name": "app",
                        "states": [{"type": "Running", "reason": "", "count": 1, "example": {"pod": "b"}}],
                    }
                ],
            },
        ],
    }


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (container(terminated={"message": "out of luck", "exitCode": 1}), "out of luck"),
        (container(terminated={"exitCode": 0}), "Terminated with exit code 0"),
        (container(terminated={"exitCode": 1}, restarts=1), None),
        (container(running={}, restarts=1, last={"message": "before"}), "before"),
        ({"name": "app"}, None),
    ],
)
def test_how_a_container_ended_is_told_of_the_last_time(found, message):
    [counted] = breakdown("web", [pod("a", found)])["breakdown"]

    assert counted["containers"][0]["states"][0]["example"].get("message") == message


def test_pods_are_looked_at_in_order_of_name_whatever_their_order():
    pods = [crashing("b"), crashing("a")]

    assert breakdown("web", pods) == breakdown("web", pods[::-1])
    assert list(map(name_of, pods)) == ["b", "a"]
