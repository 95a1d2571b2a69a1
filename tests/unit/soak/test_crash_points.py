"""At which writes a control plane is killed, and when two runs have come to the same end."""

import pytest

from hanse.kube.transport import Request
from tests.crash_points.ending import common_form, differences
from tests.crash_points.mortal import Fate, counts
from tests.crash_points.points import every, sample


def test_a_sample_has_the_first_write_and_the_last():
    assert sample(101, 6) == [(1, False), (21, True), (41, False), (61, True), (81, False), (101, True)]
    assert every(3, 4) == [(3, False), (3, True), (4, False), (4, True)]


@pytest.mark.parametrize(
    ("method", "path", "counted"),
    [
        ("POST", "/api/v1/namespaces/point-1/configmaps", True),
        ("PATCH", "/api/v1/namespaces/point-1", True),
        ("GET", "/api/v1/namespaces/point-1/configmaps/a", False),
        ("POST", "/api/v1/namespaces/point-2/configmaps", False),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/point-1/leases/a", False),
        ("POST", "/apis/authorization.k8s.io/v1/namespaces/point-1/localsubjectaccessreviews", False),
    ],
)
def test_writes_about_the_scenario_count(method, path, counted):
    assert counts(Request(method, path), "point-1") is counted


def test_a_fate_is_read_as_it_was_written(tmp_path):
    Fate("point-1", 7, after=True).write(tmp_path / "fate.json")

    assert Fate.read(tmp_path / "fate.json") == Fate("point-1", 7, after=True)


def obj(namespace, uid, *, owner="", color="blue", **metadata):
    meta = {"name": "web", "namespace": namespace, "uid": f"{uid * 8}-1111-1111-1111-111111111111", **metadata}
    meta["annotations"] = {"owner": f"{owner * 8}-1111-1111-1111-111111111111"} if owner else {}
    return {"metadata": meta, "data": {"color": color, "in": namespace}, "status": {"at": "2026-01-31T12:00:00Z"}}


def test_two_runs_that_differ_in_uids_times_and_names_of_namespaces_are_the_same():
    one = {"host/X": [obj("one", "a", resourceVersion="1")], "away/X": [obj("one", "b", owner="a")]}
    two = {"host/X": [obj("two", "c", resourceVersion="9")], "away/X": [obj("two", "d", owner="c")]}

    assert differences(common_form(one, "one"), common_form(two, "two")) == []


def test_what_is_missing_left_over_or_different_is_told():
    one = common_form({"host/X": [obj("one", "a")], "away/X": [obj("one", "b", owner="a")]}, "one")
    stranger = common_form({"host/X": [obj("one", "a", color="red")], "away/X": [obj("one", "b", owner="e")]}, "one")
    alone = common_form({"host/X": [obj("one", "a")]}, "one")

    assert differences(one, alone) == ["away/X/web is missing"]
    assert differences(alone, one) == ["away/X/web is left over"]
    assert differences(one, stranger) == [
        "away/X/web: .metadata.annotations.owner is 'another uid' and was 'uid of host/X/web'",
        "host/X/web: .data.color is 'red' and was 'blue'",
    ]
