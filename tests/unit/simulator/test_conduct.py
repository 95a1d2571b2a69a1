"""What containers do, by command, image and annotation; and the waits of a pod."""

import pytest

from hanse.simulator.nodes.conduct import EXIT_CODE, RUN_SECONDS, Course, course_of, is_missing
from hanse.simulator.nodes.stopwatch import Stopwatch

JOB = [{"kind": "Job", "name": "j", "uid": "u", "apiVersion": "batch/v1", "controller": True}]


def pod(annotations=None, owners=()):
    return {"metadata": {"name": "p", "annotations": annotations or {}, "ownerReferences": list(owners)}}


@pytest.mark.parametrize(
    ("words", "may_end", "course"),
    [
        ([], True, Course()),
        (["sleep", "30"], True, Course(30.0)),
        (["sleep", "2m"], False, Course(120.0)),
        (["sleep", "infinity"], True, Course()),
        (["false"], True, Course(0.0, 1)),
        (["sh", "-c", "sleep 5; exit 3"], False, Course(5.0, 3)),
        (["/bin/sh", "-c", "echo working && sleep 1 && exit"], True, Course(1.0)),
        (["sh", "-c", "date; false"], True, Course(0.0, 1)),
        (["perl", "-Mbignum=bpi", "-wle", "print bpi(2000)"], True, Course(0.0)),
        (["nginx", "-g", "daemon off;"], False, Course()),
        (["sh", "-c", "sleep 2; nginx"], False, Course()),
        (["sh", "-c", "echo 'unclosed"], True, Course(0.0)),
    ],
)
def test_a_command_tells_when_and_how_its_container_ends(words, may_end, course):
    assert course_of(pod(), {"name": "c", "command": words}, may_end=may_end) == course
    assert course_of(pod(), {"name": "c", "command": words[:1], "args": words[1:]}, may_end=may_end) == course


def test_a_container_of_a_job_completes_where_one_of_a_bare_pod_runs_on():
    assert course_of(pod(owners=JOB), {"name": "c"}, may_end=True) == Course(1.0)
    assert course_of(pod(), {"name": "c"}, may_end=True) == Course()


def test_the_image_that_only_waits_never_completes():
    for image in ("registry.k8s.io/pause:3.10", "pause", "example.com/mirror/pause@sha256:0"):
        assert course_of(pod(owners=JOB), {"name": "c", "image": image}, may_end=True) == Course()


def test_annotations_overrule_the_command():
    annotations = {RUN_SECONDS: "7", EXIT_CODE: "2"}
    assert course_of(pod(annotations), {"name": "c", "command": ["false"]}, may_end=True) == Course(7.0, 2)
    assert course_of(pod({RUN_SECONDS: "soon"}), {"name": "c"}, may_end=True) == Course(0.0)


@pytest.mark.parametrize(
    ("image", "missing"),
    [("nginx", False), ("nginx:missing", True), ("registry.invalid/web:1", True), ("invalid/web:1", False)],
)
def test_some_images_cannot_be_pulled(image, missing):
    assert is_missing(image) is missing


def test_a_wait_begins_when_it_is_first_asked_for_and_the_nearest_is_known():
    began = {}
    first = Stopwatch(began, 100.0)
    assert not first.due("long", 9.0)
    assert not first.due("short", 5.0)
    assert first.next_seconds == 5.0
    later = Stopwatch(began, 105.0)
    assert later.due("short", 5.0)
    assert not later.due("long", 9.0)
    assert later.next_seconds == 4.0
    later.forget("short")
    assert not Stopwatch(began, 106.0).due("short", 1.0)
