"""Faults and schedules: read from what people write, refused with the field's name, written back the same."""

import pytest

from hanse.simulator.faults.chance import random_schedule
from hanse.simulator.faults.durations import duration_text, parse_duration
from hanse.simulator.faults.schedule import Planned, parse_schedule, steps_of
from hanse.simulator.faults.values import (
    EVERYONE,
    KINDS,
    Fault,
    FaultError,
    Party,
    active,
    fault_from,
    faults_from_text,
    faults_to_text,
    lasting,
    with_fault,
)
from hanse.simulator.settings import ClusterSettings, SettingsError

CLUSTERS = tuple(
    ClusterSettings(name=name, index=index, zones=(f"{name}-a", f"{name}-b")) for index, name in enumerate("abc")
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("10s", 10), ("1h30m", 5400), ("1m30s", 90), (7, 7), (0.25, 0.25), ("-90s", -90), ("1.5s", 1.5)],
)
def test_spans_of_time_are_read(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)
    assert parse_duration(duration_text(seconds)) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "10", "10 s", "1d", "ten", None, True, [], "5s-"])
def test_what_is_no_span_of_time_is_refused(text):
    with pytest.raises(ValueError, match="is no span of time"):
        parse_duration(text)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_defaults_and_reads_what_it_writes(kind):
    entry = {"fault": kind} | ({KINDS[kind].place: "here"} if KINDS[kind].place else {})

    fault = fault_from(entry)

    assert fault.kind == kind
    assert faults_from_text(faults_to_text([fault])) == (fault,)
    assert str(fault).startswith(kind)
    assert KINDS[kind].about


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (7, "fault: must be a mapping with a key fault, not 7"),
        ({"fault": "flood"}, "fault.fault: must be one of down, crash, latency"),
        ({"fault": "down", "rate": 1}, "fault.rate: is not a parameter of down; it has fault, until"),
        ({"fault": "latency", "delay": "soon"}, "fault.delay: must be a time such as 500ms, 10s, 5m or 1h30m"),
        ({"fault": "latency", "delay": "0s"}, "fault.delay: must be above 0, not '0s'"),
        ({"fault": "errors", "rate": 2}, "fault.rate: must be a share above 0 and at most 1, not 2"),
        ({"fault": "errors", "rate": True}, "fault.rate: must be a share above 0 and at most 1, not True"),
        ({"fault": "partition", "from": "mars"}, "fault.from: must be some of control-plane, users, nodes, not 'mars'"),
        ({"fault": "partition", "from": []}, "fault.from: must name at least one of control-plane, users, nodes"),
        ({"fault": "lost-node"}, "fault.node: is required and must be a node's name, not None"),
        ({"fault": "down", "until": "later"}, "fault.until: must be a time such as 2026-01-31T12:00:00Z, not 'later'"),
    ],
)
def test_a_mistake_in_a_fault_names_its_field(entry, sentence):
    with pytest.raises(FaultError) as caught:
        fault_from(entry)
    assert str(caught.value).startswith(sentence)


def test_an_annotation_may_be_one_word_or_a_list():
    assert faults_from_text("") == ()
    assert faults_from_text("down") == (Fault("down"),)
    assert faults_from_text('[{"fault": "partition", "from": ["users"]}]') == (
        Fault("partition", parties=(Party.USERS,)),
    )
    with pytest.raises(FaultError, match="must be the name of a fault or a JSON list of faults"):
        faults_from_text("[{")


def test_setting_a_fault_again_replaces_it_and_leaves_the_others():
    slow, slower, down = Fault("latency", 1.0), Fault("latency", 2.0), Fault("down")
    first, second = Fault("lost-node", place="n1"), Fault("lost-node", place="n2")

    assert with_fault((slow, down), slower) == (down, slower)
    assert with_fault((first,), second) == (first, second)


def test_a_fault_is_over_when_its_time_has_come():
    fault = lasting(Fault("down"), 30.0, now=1000.0)

    assert active([fault], now=1029.0) == (fault,)
    assert active([fault], now=1030.0) == ()
    assert active([lasting(Fault("down"), None, now=0.0)], now=1e9) == (Fault("down"),)


def test_a_schedule_says_what_is_wrong_from_when_on():
    schedule = parse_schedule(
        {
            "faults": [
                {"at": "10s", "cluster": "a", "fault": "latency", "delay": "500ms", "for": "30s"},
                {"at": "20s", "cluster": "a", "fault": "down", "for": "5s"},
                {"at": 0, "cluster": "b", "fault": "crash"},
            ]
        },
        ("a", "b"),
    )

    told = [(step.at, step.cluster, [fault.kind for fault in step.faults]) for step in steps_of(schedule)]

    assert told == [
        (0.0, "b", ["crash"]),
        (10.0, "a", ["latency"]),
        (20.0, "a", ["latency", "down"]),
        (25.0, "a", ["latency"]),
        (40.0, "a", []),
    ]
    assert parse_schedule({"faults": [one.as_mapping() for one in schedule]}, ("a", "b")) == schedule


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ([], "faults: must be a list of {at, cluster, fault, for}"),
        ({"faults": [], "seed": 1}, "seed: is not a field of a schedule; it has faults"),
        ({"faults": [{"fault": "down", "cluster": "z"}]}, "faults[0].cluster: must be one of a, b, not 'z'"),
        ({"faults": [{"fault": "down", "cluster": "a", "at": "-1s"}]}, "faults[0].at: must be a time such as"),
        ({"faults": [{"fault": "down", "cluster": "a", "for": "0s"}]}, "faults[0].for: must be a time such as"),
        (
            {"faults": [{"fault": "down", "cluster": "a", "until": "2026-01-31T12:00:00Z"}]},
            "faults[0].until: a schedule says how long with for, such as 30s",
        ),
        ({"faults": [{"fault": "down", "cluster": "a", "delay": 1}]}, "faults[0].delay: is not a parameter of down"),
    ],
)
def test_a_mistake_in_a_schedule_names_its_field(document, sentence):
    with pytest.raises(FaultError) as caught:
        parse_schedule(document, ("a", "b"))
    assert str(caught.value).startswith(sentence)


def test_a_made_up_schedule_is_the_same_for_the_same_seed_and_over_in_time():
    schedules = [random_schedule(seed, CLUSTERS, 240.0) for seed in range(100)]

    assert schedules == [random_schedule(seed, CLUSTERS, 240.0) for seed in range(100)]
    assert len(set(schedules)) == 100
    planned = [one for schedule in schedules for one in schedule]
    assert {one.fault.kind for one in planned} == KINDS.keys()
    assert all(one.ends is not None and one.ends <= 240.0 for one in planned)
    names = [cluster.name for cluster in CLUSTERS]
    assert parse_schedule({"faults": [one.as_mapping() for one in planned]}, names) == tuple(planned)


def test_without_parties_everybody_is_concerned():
    assert fault_from({"fault": "hang"}).parties == EVERYONE
    assert fault_from({"fault": "partition"}).parties == (Party.CONTROL_PLANE,)
    assert Planned(0.0, "a", Fault("hang")).ends is None


@pytest.mark.parametrize(("value", "seconds"), [("80ms", 0.08), (0.2, 0.2), (0, 0.0)])
def test_a_cluster_has_a_distance(value, seconds):
    assert ClusterSettings.from_mapping({"name": "a", "latency": value}).latency_seconds == pytest.approx(seconds)


@pytest.mark.parametrize("value", ["far", "-1s", "2m", None])
def test_an_impossible_distance_is_refused(value):
    with pytest.raises(SettingsError, match=r"cluster\.latency: must be a time of at most 60s such as 80ms"):
        ClusterSettings.from_mapping({"name": "a", "latency": value})
