"""What simulated containers have printed, and what is asked of it."""

import pytest

from hanse.kube.errors import BadRequest
from hanse.kube.runtime import parse_timestamp
from hanse.simulator.nodes.logs import pod_log

STARTED = "2026-01-01T00:00:00Z"
NOW = parse_timestamp(STARTED) + 95.0
RUNNING = {"running": {"startedAt": STARTED}}
ENDED = {"terminated": {"startedAt": STARTED, "finishedAt": "2026-01-01T00:00:40Z", "exitCode": 3}}


def pod(state, *, last=None):
    entry = {"name": "web", "image": "nginx:1", "state": state, "lastState": last or {}}
    spec = {"nodeName": "n1", "containers": [{"name": "web"}], "initContainers": [{"name": "first"}]}
    return {
        "metadata": {"name": "web-1"},
        "spec": spec,
        "status": {"podIP": "10.1.0.7", "containerStatuses": [entry]},
    }


def lines(found, **asked):
    return pod_log(found, asked, cluster="east", now=NOW).decode().splitlines()


def test_a_container_tells_where_it_started_and_now_and_then_that_it_serves():
    assert lines(pod(RUNNING)) == [
        "started nginx:1 on node n1 of cluster east",
        "listening on 10.1.0.7",
        "GET /healthz 200 (1)",
        "GET /healthz 200 (2)",
        "GET /healthz 200 (3)",
    ]


def test_a_container_that_ended_tells_how():
    assert lines(pod(ENDED))[2:] == ["GET /healthz 200 (1)", "exited with code 3"]
    assert lines(pod(RUNNING, last=ENDED), previous="true") == ["exited with code 3"]


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({"tailLines": "1"}, ["GET /healthz 200 (3)"]),
        ({"tailLines": "0"}, []),
        ({"sinceSeconds": "40"}, ["GET /healthz 200 (2)", "GET /healthz 200 (3)"]),
        ({"sinceTime": "2026-01-01T00:01:30Z"}, ["GET /healthz 200 (3)"]),
        ({"tailLines": "1", "timestamps": "true"}, ["2026-01-01T00:01:30Z GET /healthz 200 (3)"]),
        ({"limitBytes": "7"}, ["started"]),
    ],
)
def test_parts_of_a_log_can_be_asked_for(asked, wanted):
    assert lines(pod(RUNNING), **asked) == wanted


@pytest.mark.parametrize(
    ("found", "asked", "sentence"),
    [
        (
            pod({"waiting": {"reason": "ImagePullBackOff"}}),
            {},
            'container "web" in pod "web-1" is waiting to start: Im',
        ),
        (pod(RUNNING), {"container": "first"}, 'container "first" in pod "web-1" is waiting to start'),
        (pod(RUNNING), {"container": "other"}, "container other is not valid for pod web-1"),
        (pod(RUNNING), {"previous": "true"}, 'previous terminated container "web" in pod "web-1" not found'),
    ],
)
def test_what_was_not_printed_is_refused_as_a_kubelet_does(found, asked, sentence):
    with pytest.raises(BadRequest, match=sentence):
        lines(found, **asked)
