"""A changed template spreads group by group, a few clusters at a time, each seen well before the next."""

from dataclasses import replace

import pytest

from hanse.api.names import ROLLOUT_ANNOTATION, ROLLOUT_APPROVED_ANNOTATION, TEMPLATE_ANNOTATION
from hanse.placement.ask import ClusterTerm, Rollout
from hanse.propagation.comparison import Kept, Present
from hanse.propagation.planning import UNSEEN, Observation, plan
from hanse.propagation.turns import Remembered, noted, remembered
from hanse.propagation.waves import Milestone, Standing, Wave, advance
from hanse.propagation.wellness import Ailment, ailment_of
from tests.unit.propagation.builders import config_intent, copy, deployment_intent, fleet

OLD = Standing(updated=False)
NEW = Standing(updated=True)
BUSY = Standing(updated=True, ailment=Ailment("1 of 3 replicas are available"))
STUCK = Standing(updated=True, ailment=Ailment("its rollout makes no progress", stuck=True))
FIRST = Standing(updated=True, ailment=Ailment("it has no copy yet"), made=False)
UNKNOWN = Standing(updated=True, known=False)
OLD_BUSY = Standing(updated=False, ailment=Ailment("1 of 3 replicas are available"))

ONE_BY_ONE = Rollout()
TWO = Rollout(max_clusters=2)
ALONE = Rollout(max_clusters=1, alone=True)
HALF = Rollout(max_percent=50)
ORDERED = Rollout(order=(ClusterTerm(names=("a",)),))
MANUAL = Rollout(order=(ClusterTerm(names=("a",)),), manual=True)

FLAT = [["a", "b", "c", "d"]]
GROUPS = [["a"], ["b", "c", "d"]]

# rollout, groups, standings of a to d, approved group -> the clusters that wait, a part of the sentence
CASES = {
    "one cluster begins": (
        ONE_BY_ONE,
        FLAT,
        [OLD, OLD, OLD, OLD],
        0,
        "bcd",
        "0 of 4 clusters have the new version; it reaches a now",
    ),
    "the next waits for it": (ONE_BY_ONE, FLAT, [BUSY, OLD, OLD, OLD], 0, "bcd", "it waits for a: 1 of 3 replicas"),
    "the next begins when it is well": (ONE_BY_ONE, FLAT, [NEW, OLD, OLD, OLD], 0, "cd", "it reaches b now"),
    "the last one waits for nobody else": (ONE_BY_ONE, FLAT, [NEW, NEW, NEW, OLD], 0, "", ""),
    "one that still has the version before is not waited for": (
        ONE_BY_ONE,
        FLAT,
        [OLD, OLD_BUSY, OLD, OLD],
        0,
        "bcd",
        "",
    ),
    "it is where one changes alone, and goes first": (
        ALONE,
        FLAT,
        [OLD, OLD_BUSY, OLD, OLD],
        0,
        "acd",
        "it reaches b now",
    ),
    "of several that are not well one goes first": (
        ALONE,
        FLAT,
        [NEW, OLD_BUSY, OLD_BUSY, OLD],
        0,
        "cd",
        "reaches b now",
    ),
    "whoever has the new version goes before": (ALONE, FLAT, [BUSY, OLD_BUSY, OLD, OLD], 0, "bcd", "it waits for a"),
    "alone and all well": (ALONE, FLAT, [NEW, OLD, OLD, OLD], 0, "cd", "it reaches b now"),
    "all done": (ONE_BY_ONE, FLAT, [NEW, BUSY, NEW, NEW], 0, "", ""),
    "two at a time": (TWO, FLAT, [OLD, OLD, OLD, OLD], 0, "cd", "it reaches a, b now"),
    "one place of two is free": (TWO, FLAT, [BUSY, NEW, OLD, OLD], 0, "d", "it reaches c now"),
    "half at a time": (HALF, FLAT, [OLD, OLD, OLD, OLD], 0, "cd", ""),
    "a whole group at once": (ORDERED, GROUPS, [NEW, OLD, OLD, OLD], 0, "", ""),
    "a group waits for the one before": (ORDERED, GROUPS, [BUSY, OLD, OLD, OLD], 0, "bcd", "it waits for a"),
    "a stuck cluster stops it": (TWO, FLAT, [STUCK, OLD, OLD, OLD], 0, "bcd", "a: its rollout makes no progress; mend"),
    "an unknown cluster holds it": (TWO, FLAT, [UNKNOWN, OLD, OLD, OLD], 0, "bcd", "when a can be read"),
    "the first group needs no approval": (MANUAL, GROUPS, [OLD, OLD, OLD, OLD], 0, "bcd", "it reaches a now"),
    "the second group does": (MANUAL, GROUPS, [NEW, OLD, OLD, OLD], 0, "bcd", "group 2 (b, c, d) waits for `hanse app"),
    "the second group is approved": (MANUAL, GROUPS, [NEW, OLD, OLD, OLD], 1, "", ""),
    "a group that has begun goes on": (MANUAL, GROUPS, [NEW, NEW, OLD, OLD], 0, "", ""),
    "a group waits for a first copy before it": (ORDERED, GROUPS, [FIRST, OLD, OLD, OLD], 0, "bcd", "waits for a"),
    "a first copy takes a place": (TWO, FLAT, [OLD, FIRST, OLD, OLD], 0, "cd", "0 of 4 clusters have the new version"),
    "a first copy is no approval": (MANUAL, GROUPS, [NEW, FIRST, OLD, OLD], 0, "cd", "waits for `hanse approve`"),
    "a late cluster of an early group comes first": (
        ORDERED,
        GROUPS,
        [OLD, NEW, OLD, OLD],
        0,
        "cd",
        "it reaches a now",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_who_waits(case):
    rollout, groups, standings, approved, waiting, sentence = case

    wave = advance(rollout, groups, dict(zip("abcd", standings, strict=True)), template="t", approved=approved)

    assert wave.waiting == tuple(waiting)
    assert sentence in wave.sentence


@pytest.mark.parametrize(
    ("standing", "stopped", "asks_for"), [(STUCK, True, None), (BUSY, False, None), (NEW, False, 1)]
)
def test_what_a_person_has_to_do_is_told(standing, stopped, asks_for):
    wave = advance(MANUAL, GROUPS, dict(zip("abcd", [standing, OLD, OLD, OLD], strict=True)), template="t")

    assert (wave.stopped, wave.asks_for) == (stopped, asks_for)


class TestPause:
    PATIENT = Rollout(pause_seconds=30)

    def at(self, now, milestone, **changes):
        standings = dict(zip("abcd", [NEW, OLD, OLD, OLD], strict=True)) | changes
        return advance(self.PATIENT, FLAT, standings, template="t", milestone=milestone, now=now)

    def test_it_begins_when_the_clusters_are_first_seen_well(self):
        wave = self.at(100.0, None)

        assert wave.milestone == Milestone("t", 1, 100.0)
        assert (wave.until, wave.waiting) == (130.0, ("b", "c", "d"))

    def test_it_goes_on_from_what_was_remembered(self):
        assert self.at(129.0, Milestone("t", 1, 100.0)).until == 130.0
        assert self.at(130.0, Milestone("t", 1, 100.0)).waiting == ("c", "d")

    @pytest.mark.parametrize("other", [Milestone("s", 1, 0.0), Milestone("t", 2, 0.0)])
    def test_another_milestone_counts_for_nothing(self, other):
        assert self.at(100.0, other).until == 130.0

    def test_the_first_clusters_wait_for_no_pause(self):
        assert self.at(100.0, None, a=OLD).waiting == ("b", "c", "d")

    def test_nothing_begins_while_one_is_not_well(self):
        assert self.at(500.0, Milestone("t", 1, 100.0), a=BUSY).waiting == ("b", "c", "d")


def seen(obj=None):
    return Observation(seen=True, copy=obj)


def rolling(image="web:1", replicas=9, **changes):
    intent = deployment_intent(replicas, image=image)
    return replace(intent, placement=replace(intent.placement, rollout=Rollout(**changes)))


def marked(intent, replicas=3, available=None):
    """A copy as a rollout writes it."""
    wish = plan(intent, fleet("z"), {"z": seen()}).wanted["z"]
    obj = copy(intent, replicas, available)
    obj["metadata"]["annotations"][TEMPLATE_ANNOTATION] = wish.manifest["metadata"]["annotations"][TEMPLATE_ANNOTATION]
    return obj


def waiting(planned):
    return sorted(name for name, wish in planned.wanted.items() if isinstance(wish, Kept))


class TestTurns:
    def test_a_first_placement_reaches_every_cluster_at_once(self):
        planned = plan(rolling(), fleet("a", "b", "c"), {name: seen() for name in "abc"})

        assert [type(wish) for wish in planned.wanted.values()] == [Present] * 3

    def test_a_changed_template_reaches_one_cluster_and_the_others_keep_what_they_have(self):
        before, after = rolling("web:1"), rolling("web:2")

        planned = plan(after, fleet("a", "b", "c"), {name: seen(marked(before)) for name in "abc"})

        assert waiting(planned) == ["b", "c"]
        assert planned.wanted["b"] == Kept(before.source_uid, ((("spec", "replicas"), 3),))

    def test_scaling_waits_for_nobody(self):
        planned = plan(rolling(replicas=12), fleet("a", "b", "c"), {name: seen(marked(rolling())) for name in "abc"})

        assert [wish.manifest["spec"]["replicas"] for wish in planned.wanted.values()] == [4, 4, 4]

    def test_replicas_of_a_lost_cluster_move_while_templates_wait(self):
        observed = {name: seen(marked(rolling("web:1"))) for name in "abc"}

        planned = plan(rolling("web:2"), fleet("a", "b", "c", offline="c"), observed)

        (numbers,) = [wish.numbers for wish in planned.wanted.values() if isinstance(wish, Kept)]
        assert numbers[0][1] in (4, 5)

    def test_a_copy_from_before_there_was_a_rollout_is_recognised(self):
        observed = {name: seen(copy(deployment_intent(9), 3)) for name in "abc"}

        assert waiting(plan(rolling("web:1"), fleet("a", "b", "c"), observed)) == []
        assert waiting(plan(rolling("web:2"), fleet("a", "b", "c"), observed)) == ["b", "c"]

    def test_kinds_without_replicas_wait_for_their_turn_too(self):
        intent = config_intent()
        placement = replace(intent.placement, rollout=Rollout())
        after = replace(intent, template={**intent.template, "data": {"color": "red"}}, placement=placement)

        assert waiting(plan(after, fleet("a", "b"), {name: seen(copy(intent)) for name in "ab"})) == ["b"]

    def test_a_cluster_that_has_yet_to_tell_holds_everything(self):
        observed = {"a": seen(marked(rolling("web:1"))), "b": UNSEEN}

        assert waiting(plan(rolling("web:2"), fleet("a", "b"), observed)) == ["a"]

    def test_clusters_of_the_order_come_first(self):
        order = (ClusterTerm(names=("c",)),)
        observed = {name: seen(marked(rolling("web:1"))) for name in "abc"}

        assert waiting(plan(rolling("web:2", order=order), fleet("a", "b", "c"), observed)) == ["a", "b"]


SOURCE = {"metadata": {"name": "web", "annotations": {"mine": "1"}}}


class TestMemory:
    def test_a_milestone_survives_in_the_source(self):
        wave = Wave(milestone=Milestone("t", 2, 100.0), template="t")

        assert remembered(noted(SOURCE, wave)).milestone == Milestone("t", 2, 100.0)

    def test_what_is_over_is_taken_off(self):
        source = noted(SOURCE, Wave(asks_for=1, template="t"))

        assert ROLLOUT_ANNOTATION in source["metadata"]["annotations"]
        assert noted(source, Wave()) == SOURCE

    def test_nothing_to_remember_leaves_the_source_alone(self):
        assert noted(SOURCE, Wave()) is SOURCE

    @pytest.mark.parametrize(
        ("text", "expected"), [("t/2", ("t", 2)), ("", ("", 0)), ("t", ("t", 0)), ("t/many", ("t", 0))]
    )
    def test_an_approval_is_read(self, text, expected):
        found = remembered({"metadata": {"annotations": {ROLLOUT_APPROVED_ANNOTATION: text}}})

        assert (found.approved_template, found.approved_group) == expected

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"since": "soon"}', '{"since": "2026-01-01T00:00:00Z"}'])
    def test_what_cannot_be_read_was_not_kept(self, text):
        assert remembered({"metadata": {"annotations": {ROLLOUT_ANNOTATION: text}}}) == Remembered()


def workload(kind, spec=None, **status):
    return {"kind": kind, "metadata": {"generation": 2}, "spec": spec or {}, "status": status}


THREE = {"replicas": 3}
GOOD = {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3, "readyReplicas": 3}
DAEMONS = {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 2}
NOT_READY = [{"type": "Ready", "status": "False", "reason": "Boot"}]
FAILED_JOB = [{"type": "Failed", "status": "True", "message": "too often"}]
AILMENTS = {
    "a good Deployment": (workload("Deployment", THREE, **GOOD), None),
    "not observed": (workload("Deployment", THREE, **GOOD | {"observedGeneration": 1}), "have not seen the change"),
    "never observed": (workload("Deployment", THREE), "have not seen the change"),
    "not updated": (workload("Deployment", THREE, **GOOD | {"updatedReplicas": 1}), "1 of 3 replicas have the new"),
    "not available": (workload("Deployment", THREE, **GOOD | {"availableReplicas": 2}), "2 of 3 replicas are avail"),
    "old ones left": (workload("Deployment", THREE, **GOOD | {"replicas": 4}), "1 replicas of the old version"),
    "a good StatefulSet": (workload("StatefulSet", THREE, **GOOD), None),
    "a partition is respected": (
        workload("StatefulSet", THREE | {"updateStrategy": {"rollingUpdate": {"partition": 2}}},
                 **GOOD | {"updatedReplicas": 1}), None),
    "a StatefulSet on the way": (workload("StatefulSet", THREE, **GOOD | {"updatedReplicas": 1}), "1 of 3"),
    "a good DaemonSet": (workload("DaemonSet", **DAEMONS), None),
    "a DaemonSet on the way": (workload("DaemonSet", **DAEMONS | {"numberAvailable": 1}), "1 of 2"),
    "a ReplicaSet short of one": (workload("ReplicaSet", THREE, availableReplicas=2), "2 of 3"),
    "a running Job": (workload("Job", active=1), None),
    "a failed Job": (workload("Job", conditions=FAILED_JOB), "it has failed: too often"),
    "a custom kind": (workload("Database", conditions=NOT_READY), "it is not Ready: Boot"),
    "a ConfigMap": ({"kind": "ConfigMap", "metadata": {}}, None),
}  # fmt: skip


@pytest.mark.parametrize("case", AILMENTS.values(), ids=AILMENTS)
def test_whether_a_copy_is_well(case):
    obj, expected = case

    found = ailment_of(obj)

    assert found is None if expected is None else expected in found.why


def test_a_rollout_that_makes_no_progress_does_not_get_well_by_itself():
    late = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]

    assert ailment_of(workload("Deployment", THREE, **GOOD, conditions=late)).stuck
