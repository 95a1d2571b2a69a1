"""A custom kind teaches its replicas, its health and its status: by paths, by CEL, or in ten lines of Python."""

from dataclasses import replace

import pytest

import hanse
from hanse.api.clusters import Cluster
from hanse.api.federated_kinds import FEDERATED_KINDS, federated_kind_manifest, parse_federated_kind
from hanse.api.names import STATUS_ANNOTATION
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.cli.failures import Misuse
from hanse.cli.kinds_file import read_teachings
from hanse.kube.manifest import annotations_of
from hanse.kube.resources import Resource
from hanse.native import NativeDoor
from hanse.native.keeper import understood
from hanse.placement.ask import ClusterTerm, Rollout
from hanse.placement.decision import Decision, Verdict
from hanse.propagation.comparison import Absent, Kept, Present
from hanse.propagation.door import keyed
from hanse.propagation.planning import Observation, plan
from hanse.propagation.report import Report, Row
from hanse.propagation.teaching import learn

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
NOW = "2026-01-01T00:00:00Z"

IN_PYTHON = """
import hanse

def healthy(copy):
    return copy["status"]["phase"] == "Ready" or f"it is {copy['status']['phase']}"

widgets = hanse.Teaching(
    kind="widgets.example.com",
    replicas="spec.size",
    ready=lambda copy: len(copy["status"]["pods"]),
    healthy=healthy,
    status=lambda clusters: {"pods": [pod for each in clusters for pod in each["status"]["pods"]]},
)
"""


def kind(**taught):
    return federated_kind_manifest(WIDGETS, taught=taught)


def door(*teachings, **taught):
    inputs = {PLACEMENT_POLICIES: [], CLUSTER_PLACEMENT_POLICIES: [], FEDERATED_KINDS: [kind(**taught)]}
    return NativeDoor(teachings=teachings).informed(keyed(inputs))


def widget(size=4, **status):
    metadata = {"name": "web", "namespace": "default", "uid": "u1", "generation": 1}
    made = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"size": size}}
    return {**made, "status": status} if status else made


def fleet(names):
    return [Cluster(name=name, ready=True) for name in names]


def copies_of(intent, names, statuses):
    """What members have that were given the object as it is now, with the status of each."""
    first = plan(intent, fleet(names), {name: Observation(seen=True) for name in names})
    made = {name: {**wish.manifest, "status": statuses[name]} for name, wish in first.wanted.items()}
    return {name: Observation(seen=True, copy=made.get(name)) for name in names}


@pytest.fixture
def in_python(tmp_path):
    path = tmp_path / "kinds.py"
    path.write_text(IN_PYTHON)
    return read_teachings([path])


HEALTH = {
    "it holds": ("self.status.phase == 'Ready'", {"phase": "Ready"}, None),
    "it does not hold": ("self.status.phase == 'Ready'", {"phase": "Down"}, "does not hold"),
    "nothing is told yet": ("self.status.phase == 'Ready'", {}, "its health cannot be told: no such key: status"),
    "no answer": ("self.status.phase", {"phase": "Ready"}, "must be true or false and is 'Ready'"),
    "an old status": ("true", {"observedGeneration": 0}, "have not seen the change yet"),
    "too costly": (
        "self.status.l.all(a, self.status.l.all(b, self.status.l.all(c, a + b + c >= 0)))",
        {"l": list(range(300))},
        "actual cost limit exceeded",
    ),
}


@pytest.mark.parametrize("case", HEALTH.values(), ids=HEALTH.keys())
def test_health_in_cel_says_what_a_copy_lacks(case):
    expression, status, lacks = case

    found = door(health=expression).translate(widget()).health(widget(**status))

    assert (found is None) if lacks is None else (lacks in found.why)


BAD = {
    "spec.health": ({"health": "self.status.phase =="}, "spec.health is left out", "column 21"),
    "a name": ({"health": "status.phase == 'x'"}, "undeclared reference to 'status'", "spec.health"),
    "a type": ({"health": "'yes'"}, "must give true or false and gives string", "spec.health"),
    "replicas": (
        {"replicas": {"path": "spec.size", "readyExpression": "'many'"}},
        "spec.replicas.readyExpression is left out",
        "must give a whole number and gives string",
    ),
    "status": ({"status": [{"path": "status.x", "expression": "sum(clusters)"}]}, "the field status.x", "'sum'"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_what_cannot_be_understood_is_said_in_one_sentence_and_left_out(case):
    taught, *parts = case

    lesson = learn(parse_federated_kind(kind(**taught)))
    told = understood(kind(**taught), NOW)["status"]["conditions"][0]

    assert all(part in lesson.problems[0] for part in parts), lesson.problems
    assert "\n" not in lesson.problems[0]
    assert (told["type"], told["status"]) == ("Understood", "False")
    assert told["message"] == lesson.problems[0]
    assert door(**taught).translate(widget()).resource == WIDGETS, "it is federated without it"


def test_a_kind_that_is_understood_says_so_once():
    first = understood(kind(health="true"), NOW)

    assert first["status"]["conditions"][0]["status"] == "True"
    assert understood(first, "2027-01-01T00:00:00Z") == first


COUNTS = {
    "paths": ({"readyPath": "status.up", "availablePath": "status.on"}, {"up": 2, "on": 1}, (2, 1)),
    "CEL": (
        {"readyExpression": "size(self.status.pods)", "availableExpression": "self.spec.size - self.status.down"},
        {"pods": ["a", "b"], "down": 1},
        (2, 3),
    ),
    "CEL without an answer": ({"readyExpression": "size(self.status.pods)"}, {"readyReplicas": 3}, (0, 0)),
    "CEL that gives no number": ({"readyExpression": "self.status.pods"}, {"pods": ["a"]}, (0, 0)),
    "the usual fields": ({}, {"readyReplicas": 2, "availableReplicas": 1}, (2, 1)),
}


@pytest.mark.parametrize("case", COUNTS.values(), ids=COUNTS.keys())
def test_replicas_are_counted_by_paths_or_by_cel(case):
    taught, status, (ready, available) = case
    scale = door(replicas={"path": "spec.size", **taught}).translate(widget()).scale

    assert (scale.ready_in(widget(**status)), scale.available_in(widget(**status))) == (ready, available)


def test_without_a_word_on_availability_all_replicas_of_a_healthy_copy_are_available():
    scale = door(replicas={"path": "spec.size"}, health="self.status.phase == 'Ready'").translate(widget()).scale

    assert scale.available_in(widget(4, phase="Ready")) == 4
    assert scale.available_in(widget(4, phase="Down")) == 0


def told(**statuses):
    rows = tuple(Row(name, widget(), widget(**status), live=True) for name, status in statuses.items())
    return Report(Decision(tuple(Verdict(name, True, None, ("it is ready",)) for name in statuses)), rows)


STATUSES = {
    "a sum": ("clusters.map(c, c.status.up).sum()", 5),
    "a word": ("clusters.exists(c, c.status.up < 3) ? 'Degraded' : 'Ready'", "Degraded"),
    "a map": ("clusters.map(c, {'name': c.name, 'up': c.status.up})", [{"name": "a", "up": 2}, {"name": "b", "up": 3}]),
    "with the source": ("string(clusters.map(c, c.status.up).sum()) + '/' + string(self.spec.size)", "5/4"),
    "a time": ("timestamp('2026-01-01T00:00:00Z')", "2026-01-01T00:00:00Z"),
}


@pytest.mark.parametrize("case", STATUSES.values(), ids=STATUSES.keys())
def test_a_field_of_the_status_is_made_by_cel_over_the_clusters(case):
    expression, made = case
    rules = [{"path": "status.made", "expression": expression}, {"path": "status.up"}]

    status = door(status=rules).reported(widget(), told(a={"up": 2}, b={"up": 3}), NOW)["status"]

    assert status == {"made": made, "up": 5}


def test_a_field_that_cannot_be_made_stays_as_it_was_and_says_why():
    rules = [{"path": "status.made", "expression": "clusters[0].status.absent"}]
    made = door(status=rules).reported(widget(made="before"), told(a={"up": 2}), NOW)

    assert made["status"] == {"made": "before"}
    assert "the field status.made stays as it is: no such key: absent" in annotations_of(made)[STATUS_ANNOTATION]


def test_what_a_member_has_yet_to_tell_is_no_trouble():
    rules = [{"path": "status.made", "expression": "clusters[0].status.up"}]

    assert STATUS_ANNOTATION not in annotations_of(door(status=rules).reported(widget(), told(a={}), NOW))


def test_ten_lines_of_python_teach_a_kind(in_python):
    taught = door(*in_python)
    intent = taught.translate(widget(6))
    copy = widget(3, phase="Ready", pods=["x", "y"])

    assert (intent.replicas, intent.scale.ready_in(copy), intent.scale.available_in(copy)) == (6, 2, 3)
    assert intent.health(copy) is None
    assert intent.health(widget(phase="Broken", pods=[])).why == "it is Broken"
    assert "its health cannot be told: healthy raised KeyError" in intent.health(widget()).why
    reported = taught.reported(widget(6), told(a={"pods": ["x"]}, b={"pods": ["y"]}), NOW)
    assert reported["status"] == {"pods": ["x", "y"]}


def test_python_counts_before_the_object_and_the_object_where_python_says_nothing():
    only_health = hanse.Teaching("widgets.example.com", healthy=lambda copy: False)
    intent = door(only_health, replicas={"path": "spec.size", "readyPath": "status.up"}, health="true").translate(
        widget()
    )

    assert intent.health(widget()) is not None
    assert intent.scale.ready_in(widget(up=2)) == 2


def test_a_function_that_fails_or_gives_nonsense_hurts_nobody():
    def broken(_given):
        raise RuntimeError("no idea")

    teaching = hanse.Teaching("widgets.example.com", replicas="spec.size", ready=broken, healthy=broken, status=broken)
    taught = door(teaching)
    intent = taught.translate(widget())
    made = taught.reported(widget(kept=1), told(a={"up": 1}), NOW)

    assert intent.scale.ready_in(widget()) == 0
    assert "no idea" in intent.health(widget()).why
    assert made["status"] == {"kept": 1}
    assert "broken raised RuntimeError: no idea" in annotations_of(made)[STATUS_ANNOTATION]
    listed = door(hanse.Teaching("widgets.example.com", status=lambda clusters: ["no map"]))
    assert "made of fields" in annotations_of(listed.reported(widget(), told(a={"up": 1}), NOW))[STATUS_ANNOTATION]


FILES = {
    "no file": (None, "is no Python file"),
    "no Python": ("def", "cannot be run: SyntaxError"),
    "nothing taught": ("import hanse", "teaches no kind"),
}


@pytest.mark.parametrize("case", FILES.values(), ids=FILES.keys())
def test_a_file_that_teaches_nothing_is_refused_in_one_sentence(case, tmp_path):
    text, sentence = case
    path = tmp_path / "kinds.py"
    if text is not None:
        path.write_text(text)

    with pytest.raises(Misuse, match=sentence):
        read_teachings([path])


def test_a_change_waits_for_the_taught_health_of_the_clusters_before():
    taught = door(health="self.status.phase == 'Ready'")
    intent = taught.translate(widget())
    intent = replace(intent, placement=replace(intent.placement, rollout=Rollout()))
    for phase, updated in (("Down", ["a"]), ("Ready", ["a", "b"])):
        observed = copies_of(intent, "abc", {name: {"phase": "Ready"} for name in "abc"})
        changed = replace(intent, template={**intent.template, "spec": {"size": 9}})
        first = plan(changed, fleet("abc"), observed).wanted["a"]
        observed["a"] = Observation(seen=True, copy={**first.manifest, "status": {"phase": phase}})

        wanted = plan(changed, fleet("abc"), observed).wanted

        assert [name for name, wish in wanted.items() if isinstance(wish, Present)] == updated
        assert all(isinstance(wish, Kept) for name, wish in wanted.items() if name not in updated)


def test_the_last_healthy_copy_goes_only_when_the_taught_health_of_the_new_one_holds():
    intent = door(health="self.status.phase == 'Ready'").translate(widget())
    moved = replace(intent, placement=replace(intent.placement, clusters=ClusterTerm(names=("b",))))
    for phase, leaves in (("Down", Kept), ("Ready", Absent)):
        observed = copies_of(intent, "ab", {"a": {"phase": "Ready"}, "b": {"phase": phase}})

        assert isinstance(plan(moved, fleet("ab"), observed).wanted["a"], leaves)
