"""What a pod asks of a node is counted as Kubernetes' scheduler counts it."""

import pytest

from hanse.placement.amounts import requests_of, times


def container(cpu="", *, limit="", stays=False):
    resources = {}
    if cpu:
        resources["requests"] = {"cpu": cpu}
    if limit:
        resources["limits"] = {"cpu": limit}
    return {"name": "c", "resources": resources, **({"restartPolicy": "Always"} if stays else {})}


CASES = {
    "nothing": ({"containers": [container()]}, 0),
    "containers add up": ({"containers": [container("1"), container("500m")]}, 1500),
    "a limit stands for a request": ({"containers": [container(limit="2")]}, 2000),
    "the greatest init container": (
        {"containers": [container("1")], "initContainers": [container("3"), container("2")]}, 3000),
    "a smaller init container": ({"containers": [container("4")], "initContainers": [container("3")]}, 4000),
    "init containers that stay add up": (
        {"containers": [container("1")], "initContainers": [container("1", stays=True), container("1", stays=True)]},
        3000),
    "an init container beside those that stay": (
        {"containers": [container("1")], "initContainers": [container("1", stays=True), container("5")]}, 6000),
    "an init container before those that stay": (
        {"containers": [container("1")], "initContainers": [container("5"), container("1", stays=True)]}, 5000),
    "overhead": ({"containers": [container("1")], "overhead": {"cpu": "250m"}}, 1250),
    "the pod as a whole": (
        {"containers": [container("1")], "resources": {"requests": {"cpu": "3"}}, "overhead": {"cpu": "1"}}, 4000),
    "a limit of the whole": ({"containers": [container()], "resources": {"limits": {"cpu": "2"}}}, 2000),
    "a limit of the whole above requests": (
        {"containers": [container("1")], "resources": {"limits": {"cpu": "2"}}}, 1000),
    "something that is no list": ({"containers": "none"}, 0),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "cpu"), CASES.values(), ids=CASES)
def test_requests_are_counted_as_the_scheduler_counts_them(spec, cpu):
    asked = requests_of({"spec": spec})
    assert asked.get("cpu", 0) == cpu
    assert asked["pods"] == 1000


def test_a_pod_as_a_whole_asks_for_no_extended_resource():
    spec = {"containers": [container()], "resources": {"requests": {"example.com/gpu": "1", "hugepages-2Mi": "4Mi"}}}
    assert requests_of({"spec": spec}) == {"hugepages-2Mi": 4 * 2**20 * 1000, "pods": 1000}


def test_many_replicas_ask_for_as_much_together():
    assert times({"cpu": 1500, "pods": 1000}, 4) == {"cpu": 6000, "pods": 4000}
