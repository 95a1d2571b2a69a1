"""What is done about an application; numbers are the lines of Shipper's checklist."""

import pytest

from hanse.api.shipper.kinds import (
    CHART_NAME_ANNOTATION,
    CHART_RAW_ANNOTATION,
    CHART_RESOLVED_ANNOTATION,
    GENERATION_ANNOTATION,
    HIGHEST_GENERATION_ANNOTATION,
    ITERATION_ANNOTATION,
    OVERRIDE_ANNOTATION,
    ROLLOUT_FINALIZER,
)
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Key, annotations_of, name_of
from hanse.rollouts.applications.planning import Resolution, not_created, plan, unresolved
from tests.behaviour.rollouts import FIRST, SECOND
from tests.unit.rollouts.applications.cases import application, deleting, release, seed_environment

NOW = "2026-01-01T00:00:00Z"
BLOCK = Key("default", "freeze")


def settled(version="0.0.1", highest=0, **more):
    """Return the seed's Application with its chart resolved and a generation remembered."""
    annotations = {
        CHART_NAME_ANNOTATION: "nginx",
        CHART_RESOLVED_ANNOTATION: version,
        CHART_RAW_ANNOTATION: version,
        HIGHEST_GENERATION_ANNOTATION: str(highest),
    }
    return application(version, annotations=annotations | more.pop("annotations", {}), **more)


def planned(app, releases=(), blocks=(), resolution=None):
    return plan(app, releases, blocks, resolution, NOW)


def said(found, kind):
    entry = find_condition(found.status["conditions"], kind)
    return None if entry is None else (entry["status"], entry["reason"], entry["message"])


def test_1_the_first_release_is_named_after_its_environment():
    app = application()
    made = planned(app, resolution=Resolution("0.0.1")).release

    assert name_of(made) == FIRST
    assert annotations_of(made) == {GENERATION_ANNOTATION: "0", ITERATION_ANNOTATION: "0"}
    assert made["spec"] == {"targetStep": 0, "environment": app["spec"]["template"]}
    assert made["metadata"]["labels"] == {
        "shipper-app": "super-server",
        "shipper-release": FIRST,
        "shipper-release-hash": "71fd5980",
    }
    assert made["metadata"]["finalizers"] == [ROLLOUT_FINALIZER]
    assert made["metadata"]["ownerReferences"] == [
        {"apiVersion": "shipper.booking.com/v1alpha1", "kind": "Application", "name": "super-server", "uid": "app-uid"}
    ]


def test_2_the_application_remembers_the_chart_and_the_generation():
    found = planned(application(), resolution=Resolution("0.0.1"))

    assert annotations_of(found.application) == {
        HIGHEST_GENERATION_ANNOTATION: "0",
        CHART_NAME_ANNOTATION: "nginx",
        CHART_RAW_ANNOTATION: "0.0.1",
        CHART_RESOLVED_ANNOTATION: "0.0.1",
    }
    assert found.application["spec"]["revisionHistoryLimit"] == 3


def test_3_8_9_the_status_tells_how_far_a_rollout_is():
    first = planned(application(), resolution=Resolution("0.0.1"))
    assert first.status["history"] == [FIRST]
    assert said(first, "RollingOut") == ("True", "", f'Rolling out initial release "{FIRST}"')

    active = planned(settled(), [release("0.0.1", 0)])
    assert said(active, "RollingOut") == ("False", "", f'Release "{FIRST}" is active')

    next_one = planned(settled("0.0.2"), [release("0.0.1", 0)])
    assert name_of(next_one.release) == SECOND
    assert annotations_of(next_one.release)[GENERATION_ANNOTATION] == "1"
    assert said(next_one, "RollingOut") == ("True", "", f'Transitioning from "{FIRST}" to "{SECOND}"')
    assert next_one.status["history"] == [FIRST, SECOND]
    assert annotations_of(next_one.application)[HIGHEST_GENERATION_ANNOTATION] == "1"


def test_conditions_are_in_order_of_type():
    found = planned(application(), resolution=Resolution("0.0.1"))

    kinds = [entry["type"] for entry in found.status["conditions"]]
    assert kinds == ["Aborting", "Blocked", "ReleaseSynced", "RollingOut", "ValidHistory"]


def test_12_the_same_template_again_makes_no_release_and_changes_nothing():
    releases = [release("0.0.1", 0)]
    first = planned(settled(), releases)
    again = planned({**first.application, "status": first.status}, releases)

    assert again.release is None
    assert (again.application["metadata"], again.application["spec"]) == (settled()["metadata"], settled()["spec"])
    assert again.status == first.status


def test_13_going_back_to_an_earlier_template_is_its_next_iteration():
    found = planned(settled("0.0.1", 1), [release("0.0.1", 0), release("0.0.2", 1)])

    assert name_of(found.release) == "super-server-71fd5980-1"
    assert annotations_of(found.release)[ITERATION_ANNOTATION] == "1"
    assert annotations_of(found.release)[GENERATION_ANNOTATION] == "2"


@pytest.mark.parametrize("left", [[], [deleting(release("0.0.2", 1, complete=False))]])
def test_15_deleting_the_contender_brings_the_incumbents_template_back(left):
    found = planned(settled("0.0.2", 1), [release("0.0.1", 0), *left])

    assert found.release is None
    assert found.returns_to == FIRST
    assert found.application["spec"]["template"] == seed_environment("0.0.1")
    assert annotations_of(found.application)[HIGHEST_GENERATION_ANNOTATION] == "0"
    assert annotations_of(found.application)[CHART_RESOLVED_ANNOTATION] == "0.0.1"
    assert said(found, "Aborting") == ("True", "", f'abort in progress, returning state to release "{FIRST}"')
    assert said(found, "RollingOut") == ("True", "", "")

    after = planned({**found.application, "status": found.status}, [release("0.0.1", 0), *left])
    assert (after.release, after.returns_to) == (None, "")
    assert said(after, "Aborting") == ("False", "", "")


def test_16_deleting_the_only_release_makes_it_anew_from_the_first_generation():
    found = planned(settled(highest=4), [])

    assert name_of(found.release) == FIRST
    assert annotations_of(found.release)[GENERATION_ANNOTATION] == "0"
    assert annotations_of(found.application)[HIGHEST_GENERATION_ANNOTATION] == "0"


def test_a_name_that_is_still_taken_is_waited_for():
    found = planned(settled(), [deleting(release("0.0.1", 0))])

    assert found.release is None
    told = f'Release "{FIRST}" of the same template has yet to go'
    assert said(found, "ReleaseSynced") == ("False", "ReleaseLeaving", told)


@pytest.mark.parametrize(
    ("now", "name", "wait"),
    [
        ("2026-01-01T00:00:00Z", None, 30.0),
        ("2026-01-01T00:00:29Z", None, 1.0),
        ("2026-01-01T00:00:30Z", "super-server-71fd5980-1", None),
    ],
)
@pytest.mark.parametrize(
    ("left", "remains"), [([deleting(release("0.0.1", 0))], {}), ([], {FIRST: "2026-01-01T00:00:00Z"})]
)
def test_a_name_that_is_not_free_in_time_makes_way_for_the_next_iteration(left, remains, now, name, wait):
    found = plan(settled(), left, (), None, now, remains)

    assert (found.release and name_of(found.release), found.look_again) == (name, wait)
    assert said(found, "ReleaseSynced")[:2] == (("False", "ReleaseLeaving") if wait else ("True", ""))


def test_what_clusters_keep_of_a_release_is_waited_for_from_when_that_was_first_said():
    first = plan(settled(), (), (), None, NOW, {FIRST: ""})
    app = {**first.application, "status": first.status}
    waits = plan(app, (), (), None, "2026-01-01T00:00:10Z", {FIRST: ""})
    later = plan(app, (), (), None, "2026-01-01T00:00:30Z", {FIRST: ""})

    told = f'what clusters have of Release "{FIRST}" of the same template has yet to go'
    assert said(first, "ReleaseSynced") == ("False", "ReleaseLeaving", told)
    assert (waits.status, waits.look_again) == (first.status, 20.0)
    assert annotations_of(later.release)[ITERATION_ANNOTATION] == "1"
    assert annotations_of(later.release)[GENERATION_ANNOTATION] == "0"


def test_every_name_of_which_something_is_left_is_passed_over():
    remains = dict.fromkeys((FIRST, "super-server-71fd5980-1"), "2025-12-31T00:00:00Z")

    assert name_of(plan(settled(), (), (), None, NOW, remains).release) == "super-server-71fd5980-2"


def test_a_release_that_is_on_its_way_out_keeps_its_generation_to_itself():
    found = planned(settled("0.0.3"), [release("0.0.1", 0), deleting(release("0.0.2", 1))])

    assert annotations_of(found.release)[GENERATION_ANNOTATION] == "2"


def test_17_of_complete_releases_the_limit_and_the_latest_stay():
    releases = [release("0.0.1", 0), release("0.0.2", 1), release("0.0.3", 2)]
    found = planned(settled("0.0.3", 2, revisionHistoryLimit=1), releases)

    assert [name_of(each) for each in found.doomed] == [FIRST]
    assert found.status["history"] == [name_of(each) for each in releases]


def test_18_a_contender_that_was_never_completed_goes_when_another_is_made():
    found = planned(settled("0.0.3", 1), [release("0.0.1", 0), release("0.0.2", 1, complete=False)])

    assert annotations_of(found.release)[GENERATION_ANNOTATION] == "2"
    assert [name_of(each) for each in found.doomed] == [SECOND]


def at(made, target, achieved):
    """Return a release of which another step is asked for than it has achieved."""
    made["spec"]["targetStep"] = target
    made["status"]["achievedStep"] = {"step": achieved, "name": "any"}
    return made


def test_18_36_a_release_that_was_stepped_back_from_goes_when_another_is_made():
    first, second = release("0.0.1", 0), at(release("0.0.2", 1), 0, 0)
    before = planned(settled("0.0.2", 1), [first, second])
    found = planned(settled("0.0.3", 1), [first, second])
    third = {**found.release, "status": {}}
    after_a_crash = planned(settled("0.0.3", 2), [first, second, third])

    assert (before.doomed, said(before, "RollingOut")[2]) == ((), f'Release "{SECOND}" is active')
    assert found.doomed == after_a_crash.doomed == (second,)
    assert said(after_a_crash, "RollingOut")[2].startswith(f'Transitioning from "{FIRST}" to')


def test_a_release_that_is_still_going_back_goes_when_another_is_made():
    second = at(release("0.0.2", 1), 0, 1)

    assert planned(settled("0.0.3", 1), [release("0.0.1", 0), second]).doomed == (second,)


def test_33_another_step_asked_of_a_release_that_was_replaced_is_no_reason_to_delete_it():
    releases = [at(release("0.0.1", 0), 0, 1), release("0.0.2", 1, complete=False)]

    assert planned(settled("0.0.2", 1), releases).doomed == ()


@pytest.mark.parametrize(("limit", "kept"), [(0, 1), (-5, 1), (None, 20), (5000, 1000), (7, 7)])
def test_19_the_history_limit_is_kept_within_bounds(limit, kept):
    app = settled(revisionHistoryLimit=limit)

    assert planned(app, [release("0.0.1", 0)]).application["spec"]["revisionHistoryLimit"] == kept


@pytest.mark.parametrize("annotation", [GENERATION_ANNOTATION, ITERATION_ANNOTATION])
@pytest.mark.parametrize("text", ["one", "-1", "", None])
def test_20_a_release_without_a_number_stops_everything_and_is_named(annotation, text):
    broken = release("0.0.1", 0)
    broken["metadata"]["annotations"] |= {annotation: text}
    if text is None:
        del broken["metadata"]["annotations"][annotation]
    found = planned(settled("0.0.2"), [broken])

    assert (found.release, found.doomed) == (None, ())
    status, reason, message = said(found, "ValidHistory")
    assert (status, reason) == ("False", "BrokenReleaseGeneration")
    assert message.startswith(f'Release "default/{FIRST}": the annotation {annotation} is ')


def test_20_an_application_that_remembers_no_number_is_stopped_too():
    found = planned(settled("0.0.2", highest="many"), [release("0.0.1", 0)])

    assert found.release is None
    assert said(found, "ValidHistory")[:2] == ("False", "BrokenApplicationObservedGeneration")


def test_21_a_range_is_replaced_by_the_version_that_it_means():
    app = application("~0.0.0")
    assert unresolved(app).chart.version == "~0.0.0"
    found = planned(app, resolution=Resolution("0.0.1"))

    assert name_of(found.release) == FIRST
    assert found.application["spec"]["template"]["chart"]["version"] == "0.0.1"
    assert annotations_of(found.application)[CHART_RAW_ANNOTATION] == "~0.0.0"
    assert unresolved(found.application) is None


def test_22_a_version_that_is_not_found_is_said_and_touches_nothing():
    found = planned(application(), resolution=Resolution(problem="there is no chart nginx"))

    assert (found.release, found.doomed) == (None, ())
    assert annotations_of(found.application) == {}
    assert said(found, "RollingOut") == ("False", "ChartVersionResolutionFailed", "there is no chart nginx")


def test_23_labels_of_the_application_are_on_its_releases():
    app = application()
    app["metadata"]["labels"] = {"team": "a", "shipper-app": "another"}
    made = planned(app, resolution=Resolution("0.0.1")).release

    assert made["metadata"]["labels"]["team"] == "a"
    assert made["metadata"]["labels"]["shipper-app"] == "super-server"


def test_what_cannot_be_read_is_said_and_touches_nothing():
    app = settled(annotations={})
    app["spec"]["template"]["strategy"]["deadline"] = {"duration": "soon"}
    found = planned(app, [release("0.0.1", 0), release("0.0.2", 1, complete=False)])

    assert (found.release, found.doomed) == (None, ())
    status, reason, message = said(found, "RollingOut")
    assert (status, reason) == ("False", "InvalidTemplate")
    assert message.startswith("spec.template.strategy.deadline.duration: 'soon' is not a duration")


def test_what_is_no_chart_has_no_annotations_of_one():
    app = settled()
    app["spec"]["template"] = {**seed_environment(), "source": {"manifests": {"location": "configmap://web"}}}
    del app["spec"]["template"]["chart"]
    found = planned(app)

    assert unresolved(app) is None
    assert annotations_of(found.application) == {HIGHEST_GENERATION_ANNOTATION: "0"}
    assert found.release["spec"]["environment"]["source"] == {"manifests": {"location": "configmap://web"}}


def test_a_release_that_was_made_before_a_crash_is_not_made_again():
    first = planned(application("~0.0.0"), resolution=Resolution("0.0.1"))
    found = planned(application("~0.0.0"), [{**first.release, "status": {}}], resolution=Resolution("0.0.1"))

    assert found.release is None
    assert found.application == first.application


def test_releases_of_an_application_that_was_deleted_are_not_its_namesakes():
    app = settled()
    app["metadata"]["uid"] = "another"
    found = planned(app, [release("0.0.2", 7)])

    assert name_of(found.release) == FIRST
    assert annotations_of(found.release)[GENERATION_ANNOTATION] == "0"
    assert found.doomed == ()


def test_a_blocked_application_is_left_as_it_is_and_says_why():
    app = settled("0.0.2", revisionHistoryLimit=0)
    found = planned(app, [release("0.0.1", 0)], [BLOCK])

    assert (found.release, found.doomed) == (None, ())
    assert (found.application["metadata"], found.application["spec"]) == (app["metadata"], app["spec"])
    assert said(found, "Blocked") == (
        "True",
        "RolloutsBlocked",
        'rollout block(s) with name(s) "default/freeze" exist',
    )
    assert said(found, "RollingOut") == ("False", "", f'Release "{FIRST}" is active')


def test_75_without_the_block_it_goes_on():
    blocked = planned(settled("0.0.2"), [release("0.0.1", 0)], [BLOCK])
    found = planned({**blocked.application, "status": blocked.status}, [release("0.0.1", 0)])

    assert said(found, "Blocked") == ("False", "", "")
    assert name_of(found.release) == SECOND


def test_an_override_is_tidied_up_and_handed_to_the_release():
    app = settled("0.0.2", annotations={OVERRIDE_ANNOTATION: " default/freeze,,default/freeze"})
    found = planned(app, [release("0.0.1", 0)], [BLOCK])

    assert annotations_of(found.application)[OVERRIDE_ANNOTATION] == "default/freeze"
    assert annotations_of(found.release)[OVERRIDE_ANNOTATION] == "default/freeze"
    assert said(found, "Blocked") == ("False", "", "")


def test_a_release_that_cannot_be_made_is_said_without_claiming_it():
    found = planned(settled("0.0.2"), [release("0.0.1", 0)])
    status = not_created(found, "it is too long", NOW)

    assert status["history"] == [FIRST]
    for kind in ("ReleaseSynced", "RollingOut"):
        entry = find_condition(status["conditions"], kind)
        assert (entry["status"], entry["reason"], entry["message"]) == (
            "False",
            "CreateReleaseFailed",
            "it is too long",
        )
