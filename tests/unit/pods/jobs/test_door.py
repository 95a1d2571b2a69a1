"""A Job that Hanse manages becomes one Job in one target, with room for all its pods, and is never begun twice."""

import pytest

from hanse.api.admiralty.keys import (
    ELECT,
    GENERATION,
    JOB_MANAGER,
    PARENT_CLUSTER,
    PARENT_NAME,
    PARENT_UID,
    PROXY_CONSTRAINTS,
    SPEC_CONSTRAINTS,
    TARGET,
)
from hanse.api.admiralty.names import TargetName
from hanse.api.clusters import Taint
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS
from hanse.placement import Decision
from hanse.pods.jobs.door import JobDoor
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.rendering import render
from hanse.propagation.report import Report, Row
from tests.unit.pods.wishes.scenes import cluster, decided

NOW = "2026-01-01T00:00:00Z"
FLEET = (cluster("eu", cpu="4", region="europe"), cluster("us", cpu="8", region="america"), cluster("home", cpu="99"))


class Targets:
    """Some targets, of which one is the source itself."""

    def targets(self):
        return [TargetName("", "eu"), TargetName("", "us"), TargetName("", "home"), TargetName("other", "ap")]

    def is_self(self, name):
        return name == "home"

    def is_leaving(self, name):
        return False


DOOR = JobDoor("paris", Targets())


def job(annotations=None, *, template=None, status=None, generation=1, pod=None, **spec):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "sum",
            "namespace": "default",
            "uid": "u-1",
            "generation": generation,
            "creationTimestamp": NOW,
            "labels": {"team": "a"},
            "annotations": annotations or {},
        },
        "spec": {
            "managedBy": JOB_MANAGER,
            "parallelism": 3,
            "backoffLimit": 4,
            "suspend": False,
            "ttlSecondsAfterFinished": 60,
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}},
            "template": {
                "metadata": {
                    "creationTimestamp": None,
                    "labels": {"app": "sum", "job-name": "sum", "batch.kubernetes.io/controller-uid": "u-1"},
                    "annotations": template or {},
                },
                "spec": {"containers": [container], "restartPolicy": "Never", **(pod or {})},
            },
            **spec,
        },
        "status": status or {},
    }


def intent(source):
    found = DOOR.translate(source)
    assert isinstance(found, Intent), found
    return found


def chosen(source, **more):
    decision = decided(intent(source).placement, fleet=FLEET, **more)
    return decision.chosen() if not decision.unplaced else []


def test_only_jobs_that_name_hanse_as_their_manager_are_taken():
    assert DOOR.admits(job())
    assert not DOOR.admits(job(managedBy="kueue.x-k8s.io/multikueue"))
    assert not DOOR.admits({"spec": {}})


def test_a_job_goes_where_all_its_pods_have_room():
    assert chosen(job()) == ["us"]
    assert chosen(job(parallelism=8)) == ["us"]
    assert chosen(job(parallelism=9)) == []
    assert chosen(job(parallelism=9, completions=2)) == ["us"]


def test_a_job_never_goes_to_its_own_cluster_nor_to_targets_of_other_namespaces():
    placement = intent(job()).placement
    decision = decided(placement, fleet=(*FLEET, cluster("other/ap", cpu="99")))
    assert decision.chosen() == ["us"]
    assert "it is this cluster itself" in decision.of("home").reasons[-1]
    assert decision.of("other/ap").reasons[-1] == "only eu, home, us may be used"


@pytest.mark.parametrize("where", ["annotations", "template"])
def test_constraints_are_read_from_the_job_or_its_template(where):
    asked = {PROXY_CONSTRAINTS: "nodeSelector: {region: europe}"}
    assert chosen(job(**{where: asked})) == ["eu"]


def test_constraints_of_the_spec_choose_the_target_and_are_left_out_there():
    source = job(template={SPEC_CONSTRAINTS: ""}, pod={"nodeSelector": {"region": "europe"}})
    assert chosen(source) == ["eu"]
    assert "nodeSelector" not in intent(source).template["spec"]["template"]["spec"]
    plain = job(pod={"nodeSelector": {"disk": "fast"}})
    assert intent(plain).template["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "fast"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nodeSelector: {a: 1}", "cannot unmarshal number"),
        ("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: []}}", "minds no other pods"),
    ],
)
def test_constraints_that_cannot_be_kept_are_told(text, sentence):
    found = DOOR.translate(job({PROXY_CONSTRAINTS: text}))
    assert isinstance(found, Problem)
    assert sentence in found.message
    told = DOOR.refused(job(), found, NOW)["status"]["conditions"]
    assert [(each["type"], each["status"], each["message"]) for each in told] == [
        ("Propagated", "False", found.message)
    ]


def test_the_target_gets_the_job_without_what_only_its_source_could_mean():
    copy = intent(job({"note": "x", "hanse.dev/a": "b"}, template={ELECT: "", "scrape": "yes"})).template
    assert copy["metadata"]["name"] == "sum"
    assert copy["metadata"]["labels"] == {"team": "a", PARENT_UID: "u-1", PARENT_CLUSTER: "paris"}
    assert copy["metadata"]["annotations"]["note"] == "x"
    assert copy["metadata"]["annotations"][PARENT_NAME] == "sum"
    assert "hanse.dev/a" not in copy["metadata"]["annotations"]
    assert not copy["spec"].keys() & {"managedBy", "ttlSecondsAfterFinished", "selector", "manualSelector"}
    assert copy["spec"]["backoffLimit"] == 4
    assert copy["spec"]["template"]["metadata"] == {"labels": {"app": "sum"}, "annotations": {"scrape": "yes"}}


def test_a_selector_of_the_users_own_goes_along():
    source = job(manualSelector=True, selector={"matchLabels": {"job-name": "sum"}})
    spec = intent(source).template["spec"]
    assert spec["selector"] == {"matchLabels": {"job-name": "sum"}}
    assert spec["template"]["metadata"]["labels"]["job-name"] == "sum"


def test_suspension_and_scale_follow_the_source():
    spec = intent(job(suspend=True, parallelism=5)).template["spec"]
    assert (spec["suspend"], spec["parallelism"]) == (True, 5)


def test_what_the_pods_name_follows_the_job():
    source = job(pod={"volumes": [{"name": "v", "configMap": {"name": "settings"}}]})
    needs = DOOR.needs(source)
    assert needs.follow
    assert [need.ref for need in needs.named] == [Ref(CONFIGMAPS, Key("default", "settings"))]


def row(source, status=None, *, cluster="us", live=True, stale=False):
    wanted = render(intent(source), 1)
    shown = render(intent(job(parallelism=99)), 1) if stale else wanted
    return Row(cluster, wanted, None if status is None else {**shown, "status": status}, live)


def reported(source, *rows):
    return DOOR.reported(source, Report(Decision(()), rows), NOW)


def test_a_job_that_has_begun_notes_its_target_and_stays_there():
    begun = reported(job(), row(job(), {"active": 3, "startTime": NOW}, cluster="eu"))
    assert begun["metadata"]["annotations"] == {TARGET: "eu", GENERATION: "1"}
    assert begun["status"]["active"] == 3
    fixed = intent(begun)
    assert fixed.settled
    drained = (cluster("eu", Taint("drained", effect="NoExecute"), cpu="0"), *FLEET[1:])
    assert decided(fixed.placement, fleet=drained).chosen() == ["eu"]


def test_a_job_that_has_not_begun_may_still_go_elsewhere():
    offered = reported(job(), row(job(), {}))
    assert TARGET not in offered["metadata"]["annotations"]
    assert not intent(offered).settled


def test_a_change_of_a_job_that_has_begun_reaches_its_target_and_is_noted():
    changed = job({TARGET: "us", GENERATION: "1"}, generation=2, suspend=True)
    assert not intent(changed).settled
    before = reported(changed, row(changed, {"startTime": NOW}, stale=True))
    assert before["metadata"]["annotations"][GENERATION] == "1"
    assert reported(changed, row(changed, {"startTime": NOW}))["metadata"]["annotations"][GENERATION] == "2"


BEGUN = {TARGET: "us", GENERATION: "1"}


def test_a_job_that_was_deleted_in_its_target_has_failed():
    source = job(BEGUN, status={"startTime": NOW, "active": 3})
    found = reported(source, row(source))
    assert [each["type"] for each in found["status"]["conditions"]] == ["FailureTarget", "Failed", "Propagated"]
    assert "it was deleted in its target us" in found["status"]["conditions"][1]["message"]
    assert intent(found).settled


def test_a_job_whose_target_is_no_more_has_failed():
    source = job(BEGUN, status={"startTime": NOW, "active": 3})
    found = reported(source, row(source, cluster="eu"))
    assert "its target us is not there any more" in found["status"]["conditions"][1]["message"]


def test_a_job_whose_target_is_lost_is_left_as_it_was_last_seen():
    source = job(BEGUN, status={"startTime": NOW, "active": 3})
    assert reported(source, row(source, live=False)) is source


def test_a_job_that_has_ended_is_not_begun_again_when_its_copy_is_deleted():
    ended = [{"type": kind, "status": "True"} for kind in ("SuccessCriteriaMet", "Complete")]
    source = job(BEGUN, status={"startTime": NOW, "conditions": ended}, generation=7)
    assert intent(source).settled
    assert reported(source, row(source))["status"] == source["status"]


def test_a_job_goes_with_its_pods_unless_it_is_orphaned():
    assert DOOR.farewell(job()).removal.propagation == "Foreground"
    assert not DOOR.farewell(job()).orphan
    orphaned = job()
    orphaned["metadata"]["finalizers"] = ["orphan"]
    assert DOOR.farewell(orphaned).orphan


def test_a_job_without_a_place_tells_why():
    found = DOOR.reported(job(), Report(Decision(()), ()), NOW)
    assert found["status"]["conditions"][0]["message"] == "no cluster has joined the federation"
