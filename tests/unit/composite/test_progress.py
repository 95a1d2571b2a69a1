"""Rolling updates: which child moves next, and when none does."""

import pytest

from hanse.composite.rolling.reporting import with_condition
from hanse.composite.spec import Method
from hanse.kube.conditions import condition
from tests.unit.composite.rolling_world import World, pod_id


def says(progress):
    return progress.updated["status"], progress.updated["reason"], progress.updated["message"]


def moved(progress):
    return [child.name for child in progress.moved]


def roll(world):
    """Sync and settle until nothing more is to come; returns what moved, sync by sync."""
    steps = []
    while world.sync().moved or world.last.updated["reason"] == "RolloutWaiting":
        steps += [moved(world.last)] if world.last.moved else []
        world.settle()
    return steps


def test_new_children_are_at_the_latest_revision_from_the_start():
    world = World()
    progress = world.sync()

    assert says(progress)[:2] == ("True", "OnLatestRevision")
    assert world.images() == "111"
    assert world.claims() == {1: ["cat-0", "cat-1", "cat-2"]}


def test_children_move_one_by_one_in_the_hooks_order():
    world = World().begin()
    world.change(template=2)

    assert roll(world) == [["cat-2"], ["cat-1"], ["cat-0"]]
    assert says(world.last)[:2] == ("True", "OnLatestRevision")
    assert world.claims() == {2: ["cat-0", "cat-1", "cat-2"]}
    assert world.images() == "222"


def test_what_moves_is_said_and_then_what_is_waited_for():
    world = World().begin()
    world.change(template=2)
    told = [says(world.sync())]
    told.append(says(world.sync()))
    world.vanish()
    told.append(says(world.sync()))
    told.append(says(world.sync()))
    world.ready("cat-2", ready=False, reason="Starting")
    told.append(says(world.sync()))

    assert told == [
        ("False", "RolloutProgressing", "updating Pod cat-2"),
        ("False", "RolloutWaiting", "child Pod cat-2 is not updated yet"),
        ("False", "RolloutWaiting", "missing child Pod cat-2"),
        ("False", "RolloutWaiting", "child Pod cat-2 failed status check: condition Ready is missing"),
        ("False", "RolloutWaiting", "child Pod cat-2 failed status check: condition Ready has status False, not True"),
    ]


def test_in_place_a_child_must_have_observed_what_it_shall_be():
    world = World(Method.ROLLING_IN_PLACE).begin()
    world.change(template=2)
    world.sync()
    world.ready()
    live = world.pods["cat-2"]
    live["metadata"]["generation"], live["status"]["observedGeneration"] = 2, 1
    behind = says(world.sync())
    live["status"]["observedGeneration"] = 2

    assert behind[2] == "child Pod cat-2 with RollingInPlace update strategy hasn't observed latest spec"
    assert moved(world.sync()) == ["cat-1"]


def test_a_change_of_scale_acts_at_once():
    world = World().begin()
    world.change(template=2)
    world.sync()
    world.change(replicas=5)
    world.sync()

    assert world.images() == "11122"
    world.change(replicas=1)
    world.sync()

    assert set(world.pods) == {"cat-0", "cat-2"}
    assert "deletionTimestamp" in world.pods["cat-2"]["metadata"]
    assert world.claims() == {2: ["cat-0"]}


def test_a_child_that_has_not_moved_comes_back_at_its_old_revision():
    world = World().begin()
    world.change(template=2)
    world.sync()
    del world.pods["cat-0"]
    world.sync()

    assert world.pods["cat-0"]["spec"]["image"] == "cat:1"


def test_a_missing_child_is_back_before_another_one_is_taken_down():
    world = World().begin()
    world.change(template=2)
    world.sync()
    world.settle()
    world.sync()
    world.ready()
    del world.pods["cat-0"]

    assert says(world.sync())[2] == "missing child Pod cat-0"
    assert world.images() == "112"
    world.ready()
    assert moved(world.sync()) == ["cat-1"]


def test_a_child_that_has_moved_comes_back_at_the_latest():
    world = World().begin()
    world.change(template=2)
    world.sync()
    del world.pods["cat-2"]
    world.sync()

    assert world.images() == "112"


def test_a_second_change_leaves_three_revisions_until_the_oldest_own_no_child():
    world = World().begin()
    world.change(template=2)
    world.sync()
    world.settle()
    world.sync()
    world.ready()
    world.change(template=3, replicas=4)
    alive = []
    for _ in range(12):
        world.sync()
        alive.append(sorted(world.claims()))
        world.settle()

    assert alive[0] == [1, 2, 3]
    assert [1, 3] in alive
    assert alive[-1] == [3]
    assert world.images() == "3333"


def test_a_parent_that_is_changed_back_rolls_back_what_had_moved():
    world = World().begin()
    world.change(template=2)
    world.sync()
    world.settle()
    world.sync()
    world.ready()
    world.change(template=1)

    assert roll(world) == [["cat-2"]]
    assert world.images() == "111"


def test_a_child_that_was_to_move_to_a_version_and_did_not_is_not_taken_for_moved_later():
    world = World().begin()
    world.change(template=2)
    world.sync()
    world.settle()
    world.sync()
    world.ready()
    # Killed after it was stored that cat-1 moves, and before anything was done to it.
    world.sync(writes=2)
    assert world.claims() == {1: ["cat-0"], 2: ["cat-1", "cat-2"]}
    assert world.images() == "112"
    world.change(template=3)
    world.sync()
    world.change(template=2)
    world.sync()

    assert [name for name, obj in world.pods.items() if "deletionTimestamp" in obj["metadata"]] == ["cat-2"]
    assert world.claims() == {1: ["cat-0", "cat-1"], 2: ["cat-2"]}


def test_a_version_that_never_works_can_be_mended():
    world = World().begin()
    world.change(template=2)
    world.sync()
    world.settle()
    world.sync()
    world.ready("cat-2", ready=True)
    world.sync()
    world.vanish()
    world.sync()
    world.ready("cat-1", ready=False)
    assert world.images() == "122"
    world.change(template=3)

    # Beside a child that fails none is taken down; so that one moves first.
    assert roll(world) == [["cat-1"], ["cat-2"], ["cat-0"]]
    assert world.images() == "333"


def test_a_child_that_is_as_desired_already_moves_without_waiting():
    world = World().begin()
    world.change(template=2)
    world.sync()
    for name in ("cat-0", "cat-1"):
        world.pods[name] = {**world.pods[name], "spec": {"image": "cat:2"}}
    progress = world.sync()

    assert says(progress)[:2] == ("True", "OnLatestRevision")
    assert world.claims() == {2: ["cat-0", "cat-1", "cat-2"]}


def test_children_that_no_revision_knows_wait_their_turn_as_they_are():
    world = World().begin()
    world.revisions.clear()
    world.change(template=2)

    assert moved(world.sync()) == ["cat-2"]
    assert [name for name, obj in world.pods.items() if "deletionTimestamp" in obj["metadata"]] == ["cat-2"]
    world.settle()
    assert roll(world) == [["cat-1"], ["cat-0"]]


def test_what_a_hand_changed_in_a_child_that_waits_its_turn_is_left_until_then():
    world = World().begin()
    world.change(template=2)
    world.sync()
    world.pods["cat-0"] = {**world.pods["cat-0"], "spec": {"image": "cat:9"}}
    world.sync()

    assert "deletionTimestamp" not in world.pods["cat-0"]["metadata"]


@pytest.mark.parametrize("options", [{"paused": True}, {"partition": 3}])
def test_a_child_that_is_held_at_its_revision_is_cared_for_there(options):
    world = World(Method.ROLLING_IN_PLACE, options).begin()
    world.change(template=2)
    world.pods["cat-0"] = {**world.pods["cat-0"], "spec": {"image": "cat:9"}}
    world.sync()

    assert world.images() == "111"


def test_so_many_move_at_once_as_may_be_in_flight():
    world = World(options={"max_unavailable": 2}).begin()
    world.change(template=2)

    assert moved(world.sync()) == ["cat-2", "cat-1"]
    assert world.sync().updated["message"] == "child Pod cat-2 is not updated yet"
    world.vanish()
    world.sync()
    world.ready("cat-1")
    assert moved(world.sync()) == ["cat-0"]


def test_a_partition_leaves_the_last_children_where_they_are():
    world = World(options={"partition": 2}).begin()
    world.change(template=2)

    assert roll(world) == [["cat-2"]]
    assert says(world.last) == ("False", "RolloutPartitioned", "not at the latest revision: Pod cat-1, Pod cat-0")


def test_a_paused_rollout_moves_nothing_until_it_is_not():
    world = World(options={"paused": True}).begin()
    world.change(template=2)
    assert says(world.sync())[1] == "RolloutPaused"
    assert world.images() == "111"
    world.options = {}

    assert roll(world) == [["cat-2"], ["cat-1"], ["cat-0"]]


def failing(seconds):
    """A rollout whose first child is down since `seconds`."""
    world = World(options={"fail_after": 60.0}).begin()
    world.change(template=2)
    world.sync()
    world.vanish()
    world.sync()
    world.ready("cat-2", ready=False)
    world.now += seconds
    return world


def test_a_rollout_stops_after_its_checks_failed_for_long_and_stays_stopped():
    world = failing(59)
    assert says(world.sync())[1] == "RolloutWaiting"
    assert world.last.recheck_after == pytest.approx(1.0, abs=1e-3)
    world.now += 1

    unready = "child Pod cat-2 failed status check: condition Ready has status False, not True"
    stopped = "False", "RolloutFailed", f"stopped after 60 seconds: {unready}; change the parent to go on"
    assert says(world.sync()) == stopped
    world.ready()
    assert says(world.sync()) == stopped
    assert world.images() == "112"


@pytest.mark.parametrize("change", [{"template": 3}, {"note": "b"}])
def test_a_stopped_rollout_goes_on_when_the_parent_changes(change):
    world = failing(60)
    world.sync()
    world.change(**change)
    roll(world)

    assert says(world.last)[1] == "OnLatestRevision"


def test_a_child_that_recovers_in_time_has_its_time_anew():
    world = failing(50)
    world.sync()
    world.ready()
    assert moved(world.sync()) == ["cat-1"]
    world.settle()
    world.sync()
    world.now += 50

    assert says(world.sync())[1] == "RolloutWaiting"


def test_nobody_is_moved_before_somebody_says_that_it_may():
    world = World(asks_before=True).begin()
    world.change(template=2)
    world.words["before", "cat-2"] = "it is the primary"
    refused = says(world.sync())
    world.words.clear()

    assert world.asked == (["cat-2"], [])
    assert refused == ("False", "RolloutWaiting", "child Pod cat-2 is not ready to move: it is the primary")
    assert moved(world.sync()) == ["cat-2"]
    assert world.sync().updated["reason"] == "RolloutWaiting"
    assert world.asked == ([], [])


def test_a_rollout_goes_on_only_when_somebody_says_that_the_move_is_done():
    world = World(asks_after=True).begin()
    world.change(template=2)
    world.words["after", "cat-2"] = "it is catching up"
    world.sync()
    world.vanish()
    world.sync()
    assert world.asked == ([], [])
    world.ready()
    waiting = says(world.sync())
    assert world.asked == ([], ["cat-2"])
    world.words.clear()

    assert waiting == ("False", "RolloutWaiting", "child Pod cat-2 is not done: it is catching up")
    assert moved(world.sync()) == ["cat-1"]
    world.settle()
    world.sync()
    world.ready()
    world.sync()
    assert world.asked == ([], ["cat-1"])


def test_the_last_move_is_asked_for_too_and_then_nobody():
    world = World(asks_after=True).begin()
    world.change(template=2, replicas=1)
    world.sync()
    world.vanish()
    world.sync()
    world.ready()
    world.words["after", "cat-0"] = "wait"
    assert says(world.sync())[1] == "RolloutWaiting"
    world.words.clear()

    assert says(world.sync())[1] == "OnLatestRevision"
    assert says(world.sync())[1] == "OnLatestRevision"
    assert world.asked == ([], [])


def test_a_sync_of_what_is_settled_writes_nothing():
    world = World(options={"fail_after": 5.0}, asks_after=True).begin()
    world.change(template=2)
    roll(world)
    before = world.pods, dict(world.revisions)
    world.sync(writes=0)

    assert (world.pods, world.revisions) == before
    assert world.last.updated["reason"] == "OnLatestRevision"


def test_a_hooks_own_condition_of_that_type_gives_way():
    told = condition("Updated", False, "RolloutWaiting", "why")
    status = {"replicas": 3, "conditions": [{"type": "Updated", "status": "True"}, {"type": "Ready", "status": "True"}]}
    before = {"conditions": [{**told, "message": "old", "lastTransitionTime": "then"}]}

    assert with_condition(status, told, before, "now") == {
        "replicas": 3,
        "conditions": [{**told, "lastTransitionTime": "then"}, {"type": "Ready", "status": "True"}],
    }


@pytest.mark.parametrize("status", [None, {}, {"conditions": None}, {"conditions": "all well"}])
def test_a_hook_without_a_status_has_one_all_the_same(status):
    told = condition("Updated", True, "OnLatestRevision")

    assert with_condition(status, told, None, "now") == {"conditions": [{**told, "lastTransitionTime": "now"}]}


def test_moved_children_are_named_by_the_one_form_of_key():
    world = World().begin()
    world.change(template=2)

    assert world.sync().moved == (pod_id("cat-2"),)
