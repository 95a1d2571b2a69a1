"""What is done next for a placeholder."""

from __future__ import annotations

import pytest

from hanse.kube.manifest import Obj
from hanse.kube.runtime import timestamp
from hanse.pods.placeholder.life import (
    Action,
    Bind,
    End,
    Follow,
    Free,
    Place,
    Remember,
    Replace,
    Scene,
    Step,
    next_step,
    refusing,
)
from hanse.pods.placeholder.reading import Answer, answers_text

NOW = 1_700_000_000.0
OWNER = [{"kind": "ReplicaSet", "name": "web", "uid": "r", "controller": True, "apiVersion": "apps/v1"}]


def _chaperon(phase: str, *, scheduled: bool | None = None, message: str = "") -> Obj:
    conditions = []
    if scheduled is not None:
        reason = {} if scheduled else {"reason": "Unschedulable", "message": message}
        conditions = [{"type": "PodScheduled", "status": str(scheduled), **reason}]
    return {
        "metadata": {"name": "web-x", "uid": "c"},
        "status": {"conditions": conditions, "fence": {"phase": phase, "attempt": 1, "message": message}},
    }


OFFERED = _chaperon("Offered")
SCHEDULED = _chaperon("Bound", scheduled=True)
FULL = _chaperon("Unschedulable", scheduled=False, message="0/3 nodes are available")
LOST = _chaperon("Lost", scheduled=True)


def _pod(
    target: str = "",
    answers: dict[str, Answer] | None = None,
    *,
    node: str | None = None,
    owned: bool = True,
    phase: str = "Pending",
    **annotations: str,
) -> Obj:
    stored = {f"pods.hanse.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    if target:
        stored["pods.hanse.dev/target"] = target
    if text := answers_text(answers or {}):
        stored["pods.hanse.dev/answers"] = text
    metadata: Obj = {"name": "web", "namespace": "shop", "uid": "u", "annotations": stored}
    if owned:
        metadata["ownerReferences"] = OWNER
    spec = {"nodeName": node} if node else {}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def _step(pod: Obj, waiting: float | None = None, /, **places: Place) -> Step:
    return next_step(pod, Scene(places, NOW, None if waiting is None else NOW - waiting))


@pytest.mark.parametrize(
    ("place", "action"),
    [
        (Place(seen=True, chaperon=OFFERED), None),
        (Place(seen=True, chaperon=SCHEDULED), Bind("eu")),
        (Place(seen=False, chaperon=SCHEDULED), None),
        (Place(seen=True, chaperon={**SCHEDULED, "metadata": {"name": "w", "deletionTimestamp": "x"}}), None),
    ],
    ids=["offered", "its pod has a node", "not to be relied on", "being withdrawn"],
)
def test_it_is_bound_when_its_pod_has_a_node(place: Place, action: Action | None) -> None:
    assert _step(_pod(), eu=place).action == action


@pytest.mark.parametrize("owned", [True, False])
def test_one_whose_pod_was_deleted_before_it_had_a_node_is_replaced(owned: bool) -> None:
    gone = Place(seen=True, chaperon=_chaperon("Lost", scheduled=False))

    step = next_step(_pod(owned=owned), Scene({"eu": gone}, NOW))

    assert step == Step(Replace("its pod in eu was deleted there"))


def test_a_target_that_finds_no_node_is_left_out_after_a_while() -> None:
    full = Place(seen=True, chaperon=FULL)
    assert refusing(_pod(), {"eu": full}) == "eu"
    assert _step(_pod(), None, eu=full) == Step(wait=10.0)
    assert _step(_pod(), 4.0, eu=full) == Step(wait=6.0)
    expected = Remember({"eu": Answer(NOW, "0/3 nodes are available")}, 2, "eu: 0/3 nodes are available")
    assert _step(_pod(), 10.0, eu=full) == Step(expected)


def test_a_target_that_does_not_take_the_chaperon_is_left_out_too() -> None:
    refused = Place(seen=True, trouble='namespaces "shop" not found')
    assert refusing(_pod(), {"eu": refused}) == "eu"
    assert _step(_pod(), 4.0, eu=refused) == Step(wait=6.0)
    expected = Remember({"eu": Answer(NOW, refused.trouble)}, 2, f"eu: {refused.trouble}")
    assert _step(_pod(), 10.0, eu=refused) == Step(expected)


def test_the_last_target_to_refuse_keeps_the_pod_until_another_is_asked_again() -> None:
    """Nothing is left to move it to: whatever room comes free there is taken."""
    answers = {"eu": Answer(NOW - 20, "full"), "us": Answer(NOW - 5, "full")}
    full = Place(seen=True, chaperon=FULL)
    assert _step(_pod(answers=answers), 99.0, us=full) == Step(wait=40.0)
    assert _step(_pod(answers=answers), us=Place(seen=True, chaperon=SCHEDULED)).action == Bind("us")


def test_answers_are_forgotten_after_a_minute() -> None:
    answers = {"eu": Answer(NOW - 61, "full"), "us": Answer(NOW - 5, "full")}
    assert _step(_pod(answers=answers, attempt="3")).action == Remember({"us": Answer(NOW - 5, "full")}, 3)


@pytest.mark.parametrize(
    ("place", "action"),
    [
        (Place(seen=True, chaperon=SCHEDULED), Follow(SCHEDULED)),
        (Place(seen=False, chaperon=SCHEDULED), None),
        (Place(seen=True, chaperon=None), Replace("its pod in eu was deleted there")),
        (Place(seen=True, chaperon=LOST), Replace("its pod in eu was deleted or evicted there")),
    ],
    ids=["runs", "not to be relied on", "chaperon deleted by hand", "pod vanished"],
)
def test_a_bound_one_shows_what_its_pod_shows_and_goes_with_it(place: Place, action: Action | None) -> None:
    assert _step(_pod("eu", node="admiralty-eu", phase="Running"), eu=place).action == action


def test_a_crash_between_the_decision_and_the_binding_is_made_up_for() -> None:
    assert _step(_pod("eu"), eu=Place(seen=True, chaperon=SCHEDULED)).action == Bind("eu")
    scene = Scene({"eu": Place(seen=True, chaperon=SCHEDULED)}, NOW, nodes=False)
    assert next_step(_pod("eu"), scene).action == Follow(SCHEDULED)


@pytest.mark.parametrize(
    ("pod", "lost_for", "step"),
    [
        (_pod("eu", node="n"), 29.0, Step(wait=1.0)),
        (_pod("eu", node="n"), 30.0, Step(Replace("target eu has been lost for 30 s", lost=True))),
        (_pod("eu", node="n", lost_after="120"), 30.0, Step(wait=90.0)),
        (_pod("eu", node="n", lost_after="never"), 9999.0, Step()),
        (_pod("eu", node="n", owned=False), 9999.0, Step()),
        (_pod("eu", node="n", phase="Succeeded"), 9999.0, Step()),
        (_pod(), 30.0, Step(Replace("target eu has been lost for 30 s", lost=True))),
    ],
    ids=["a moment", "long", "as its owner said", "never", "nobody would replace it", "ended", "was offered there"],
)
def test_what_a_lost_target_runs_is_replaced_in_time(pod: Obj, lost_for: float, step: Step) -> None:
    place = Place(seen=False, chaperon=SCHEDULED, lost_since=NOW - lost_for)
    assert _step(pod, eu=place) == step


LEAVING = Place(seen=True, chaperon=SCHEDULED, leaving=True)
AWAY = Replace("target eu, in which it ran, has not been there for 30 s", lost=True)


@pytest.mark.parametrize(
    ("pod", "gone_for", "step"),
    [
        (_pod("eu", node="n"), None, Step(wait=30.0)),
        (_pod("eu", node="n"), 0.5, Step(wait=29.5)),
        (_pod("eu", node="n"), 30.0, Step(AWAY)),
        (_pod("eu", node="n", lost_after="never"), 9999.0, Step()),
        (_pod("eu", node="n", owned=False), 9999.0, Step()),
        (_pod("eu", node="n", phase="Succeeded"), 9999.0, Step()),
    ],
    ids=["just seen", "made again in a moment", "long", "never", "nobody would replace it", "ended"],
)
def test_a_target_that_is_not_there_is_waited_for_as_a_lost_one(pod: Obj, gone_for: float | None, step: Step) -> None:
    since = None if gone_for is None else NOW - gone_for
    assert next_step(pod, Scene({}, NOW, absent_since=since)) == step


@pytest.mark.parametrize(
    ("pod", "action"),
    [
        (_pod("eu", node="n"), Replace("target eu is being removed")),
        (
            _pod("eu", node="n", owned=False),
            End("target eu, in which it ran, was removed, and nothing makes it again elsewhere"),
        ),
        (_pod("eu", node="n", phase="Succeeded"), None),
        (_pod("eu", node="n", owned=False, phase="Failed"), None),
        (_pod(), None),
    ],
    ids=["owned", "bare", "ended", "ended by that", "not bound"],
)
def test_a_target_that_is_removed_takes_what_runs_there(pod: Obj, action: Action | None) -> None:
    assert _step(pod, eu=LEAVING).action == action


@pytest.mark.parametrize("shown", [None, LOST], ids=["chaperon gone", "pod gone"])
def test_what_has_ended_stays_whatever_becomes_of_its_pod(shown: Obj | None) -> None:
    assert _step(_pod("eu", node="n", phase="Succeeded"), eu=Place(seen=True, chaperon=shown)).action is None


ANSWERED = {"eu": Answer(NOW - 5, "full")}


@pytest.mark.parametrize(
    ("answers", "chosen", "bound"),
    [
        ({}, {"eu"}, True),
        ({}, None, True),
        ({}, {"us"}, False),
        (ANSWERED, {"eu"}, False),
        (ANSWERED, None, False),
        (ANSWERED, set(), True),
    ],
    ids=["wanted", "not decided yet", "moved", "taken back", "taken back before a restart", "the last that keeps it"],
)
def test_a_pod_is_bound_only_where_it_is_still_wanted(
    answers: dict[str, Answer], chosen: set[str] | None, bound: bool
) -> None:
    wanted = None if chosen is None else frozenset(chosen)
    scene = Scene({"eu": Place(seen=True, chaperon=SCHEDULED)}, NOW, chosen=wanted)
    assert (next_step(_pod(answers=answers), scene).action == Bind("eu")) is bound


@pytest.mark.parametrize(
    ("place", "forgotten"),
    [
        (Place(seen=True), True),
        (Place(seen=True, chaperon=OFFERED), False),
        (Place(seen=False), False),
    ],
    ids=["nothing is there", "it is still being taken back", "nobody knows what is there"],
)
def test_a_target_is_asked_again_once_it_has_nothing_of_the_pod(place: Place, forgotten: bool) -> None:
    pod = _pod(answers={"eu": Answer(NOW - 61, "full"), "us": Answer(NOW - 5, "full")})
    assert isinstance(_step(pod, eu=place).action, Remember) is forgotten


def test_finalizers_of_removed_targets_go_and_others_stay() -> None:
    pod = _pod("eu", node="n")
    pod["metadata"]["finalizers"] = ["foo.io/x", "multicluster.admiralty.io/gone", "multicluster.admiralty.io/eu"]
    places = {"eu": Place(seen=True, chaperon=SCHEDULED)}
    scene = Scene(places, NOW, finalizers=frozenset({"multicluster.admiralty.io/eu"}))
    assert next_step(pod, scene).action == Free(["foo.io/x", "multicluster.admiralty.io/eu"])


def test_nothing_is_done_for_one_that_is_going() -> None:
    pod = _pod("eu", node="n")
    pod["metadata"]["deletionTimestamp"] = timestamp(NOW)
    assert _step(pod, eu=Place(seen=True)) == Step()
