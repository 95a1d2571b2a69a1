"""Pods of a real cluster that run in two others: upstream's controllers and schedulers, kubectl, and nothing else.

The clusters are shared by the tests of this module, since they are expensive to start; they come in any order.
"""

import json
from collections.abc import Iterator

import pytest

from hanse.api.admiralty.keys import ELECT
from hanse.api.clusters import CLUSTERS
from tests.behaviour.pods_at_the_door import (
    a_closed_door_leaves_nothing_behind,
    a_deployment_waits_for_an_admission_that_does_not_answer,
)
from tests.behaviour.pods_by_hand import (
    a_pod_that_fits_nowhere_says_why,
    exec_reaches_the_pod_that_runs,
    hanse_says_where_pods_run_and_why,
    logs_reach_the_pod_that_runs,
    targets_are_nodes_that_are_cordoned_and_drained,
    what_pods_need_goes_with_them_and_goes_away,
)
from tests.behaviour.pods_elsewhere import (
    ELSEWHERE,
    TIMEOUT,
    a_bare_pod_runs_and_ends_elsewhere,
    a_cron_job_has_run,
    a_deployment_lives_its_whole_life_elsewhere,
    a_gang_runs_in_one_target_or_waits,
    a_job_with_failures_is_counted_as_at_home,
    a_whole_job_runs_in_one_target,
    children,
    get,
    prepare,
    start_cron_job,
    until,
    until_nothing_is_left,
    waits,
)
from tests.behaviour.pods_in_trouble import (
    LOST_AFTER_SECONDS,
    a_jobs_pod_that_is_deleted_where_it_runs_is_made_again_and_counted_as_at_home,
    a_lost_targets_pods_run_in_the_others_and_end_when_it_returns,
    the_control_plane_is_killed_in_the_middle_of_a_roll_out,
)
from tests.kubernetes.pods.stage import HOME, PodFederation, pod_federation

HERE = f"--namespace={ELSEWHERE}"
EVERYBODY = f"clusterrole/hanse:{HOME}:pods"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Iterator[PodFederation]:
    with pod_federation(tmp_path_factory.mktemp("federation"), ("away", "far")) as running:
        prepare(running)
        start_cron_job(running)
        yield running


def test_a_deployment_lives_its_whole_life_elsewhere(source):
    a_deployment_lives_its_whole_life_elsewhere(source)


def test_a_job_with_failures_is_counted_as_at_home(source):
    a_job_with_failures_is_counted_as_at_home(source)


def test_a_cron_job_runs_elsewhere_when_its_time_has_come(source):
    a_cron_job_has_run(source)


def test_a_bare_pod_runs_and_ends_elsewhere(source):
    a_bare_pod_runs_and_ends_elsewhere(source)


def test_a_whole_job_runs_in_one_target(source):
    a_whole_job_runs_in_one_target(source)


def test_a_gang_runs_in_one_target_or_waits(source):
    a_gang_runs_in_one_target_or_waits(source)


def test_logs_reach_the_pod_that_runs(source):
    logs_reach_the_pod_that_runs(source)


def test_exec_reaches_the_pod_that_runs(source):
    exec_reaches_the_pod_that_runs(source)


def test_targets_are_nodes_that_are_cordoned_and_drained(source):
    targets_are_nodes_that_are_cordoned_and_drained(source)


def test_a_pod_that_fits_nowhere_says_why(source):
    a_pod_that_fits_nowhere_says_why(source)


def test_what_pods_need_goes_with_them_and_goes_away(source):
    what_pods_need_goes_with_them_and_goes_away(source)


def test_hanse_says_where_pods_run_and_why(source):
    hanse_says_where_pods_run_and_why(source)


def test_a_jobs_pod_that_is_deleted_where_it_runs_is_made_again_and_counted_as_at_home(source):
    a_jobs_pod_that_is_deleted_where_it_runs_is_made_again_and_counted_as_at_home(source)


def test_the_control_plane_is_killed_in_the_middle_of_a_roll_out(source):
    the_control_plane_is_killed_in_the_middle_of_a_roll_out(source)


def test_a_lost_targets_pods_run_in_the_others_and_end_when_it_returns(source):
    seconds = a_lost_targets_pods_run_in_the_others_and_end_when_it_returns(source, "far")

    assert seconds >= LOST_AFTER_SECONDS


def test_a_deployment_waits_for_an_admission_that_does_not_answer(source):
    a_deployment_waits_for_an_admission_that_does_not_answer(source)


def test_a_person_has_pods_only_in_clusters_that_the_federation_lets_them_use(source):
    """Both may create pods at home; of the others the federation lets nobody use any, and anna one."""
    rules = json.loads(source.kubectl_in("federation", "get", EVERYBODY, "--output=json"))["rules"]
    assert [rule["resourceNames"] for rule in rules] == [["away", "far"]]
    people = ("--user=anna", "--user=bob", "--clusterrole=edit")
    source.kubectl("create", "rolebinding", "people", *people, HERE)
    _let_use(source, [])
    try:
        source.kubectl_in("federation", "create", "--filename=-", input=_right_to_use("away", "anna"))
        for number in range(3):
            source.kubectl(*_run(f"guest-{number}"), "--as=anna", HERE)
        source.kubectl(*_run("stranger"), "--as=bob", HERE)
        source.kubectl("wait", "pod/guest-0", "pod/guest-1", "pod/guest-2", "--for=condition=Ready", HERE, TIMEOUT)
        assert {target: len(each) for target, each in children(source, "guest").items()} == {"away": 3, "far": 0}
        until("it says why it waits", lambda: "may not use" in waits(get(source, "pod", "stranger")))
        assert not any(children(source, "stranger").values())
    finally:
        _let_use(source, rules)
    source.kubectl("wait", "pod/stranger", "--for=condition=Ready", HERE, TIMEOUT)
    source.kubectl("delete", "pod", "guest-0", "guest-1", "guest-2", "stranger", HERE)
    until_nothing_is_left(source, "guest")
    until_nothing_is_left(source, "stranger")


def test_a_closed_door_leaves_nothing_behind(source):
    try:
        a_closed_door_leaves_nothing_behind(source)
    finally:
        source.open_door()


def _run(name):
    return ("run", name, "--image=nginx:1", f"--annotations={ELECT}=", f"--labels=app={name.partition('-')[0]}")


def _let_use(source, rules):
    """Give everybody who creates pods at home these rights in the federation."""
    patch = json.dumps({"rules": rules})
    source.kubectl_in("federation", "patch", EVERYBODY, "--type=merge", f"--patch={patch}")


def _right_to_use(cluster, person):
    """Return a role that lets somebody who creates pods at home use one cluster."""
    group, version = "rbac.authorization.k8s.io", "rbac.authorization.k8s.io/v1"
    name = {"name": f"{person}-uses-{cluster}"}
    rule = {"apiGroups": [CLUSTERS.group], "resources": ["clusters"], "verbs": ["use"], "resourceNames": [cluster]}
    role = {"apiVersion": version, "kind": "ClusterRole", "metadata": name, "rules": [rule]}
    ref = {"apiGroup": group, "kind": "ClusterRole", **name}
    subject = {"apiGroup": group, "kind": "User", "name": f"pods.hanse.dev:{HOME}:{person}"}
    kind = "ClusterRoleBinding"
    binding = {"apiVersion": version, "kind": kind, "metadata": name, "roleRef": ref, "subjects": [subject]}
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [role, binding]})
