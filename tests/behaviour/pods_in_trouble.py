"""Pods that run elsewhere while things break: the control plane is killed, and a cluster dies and comes back."""

from __future__ import annotations

import time

from hanse.api.admiralty.keys import LOST_AFTER
from hanse.api.admiralty.names import TargetName
from tests.behaviour.pods_elsewhere import (
    AT_HOME,
    BOTH,
    ELSEWHERE,
    TIMEOUT,
    Source,
    alive,
    apply,
    are_available,
    children,
    deployment,
    end,
    job,
    pods,
    uids,
    until,
    until_nothing_is_left,
    until_shown_alike,
)

HERE = f"--namespace={ELSEWHERE}"
# What pods of a target that does not answer are given here before they are given up.
LOST_AFTER_SECONDS = 5


def the_control_plane_is_killed_in_the_middle_of_a_roll_out(source: Source) -> None:
    """What was begun goes on: no pod is lost, none runs twice, and the roll-out ends."""
    apply(source, ELSEWHERE, deployment("rolled", 6))
    source.kubectl("rollout", "status", "deployment/rolled", HERE, TIMEOUT)
    source.kubectl("set", "image", "deployment/rolled", "main=nginx:2", HERE)
    until("the roll-out has begun", lambda: "nginx:2" in _images(source, "rolled"))
    source.kill_control_plane()
    source.kubectl("rollout", "status", "deployment/rolled", HERE, TIMEOUT)
    until("each pod runs once", lambda: _images(source, "rolled") == ["nginx:2"] * 6)
    source.kubectl("delete", "deployment/rolled", HERE)
    until_nothing_is_left(source, "rolled")


def a_jobs_pod_that_is_deleted_where_it_runs_is_made_again_and_counted_as_at_home(source: Source) -> None:
    """One that runs is replaced by its Job; one that has ended has ended, whoever deletes it there."""
    for namespace in BOTH:
        apply(source, namespace, job("unlucky", ["sleep", "1h"]))
    until_shown_alike(source, "job", "unlucky", active=1, ready=1)
    before = uids(pods(source, "unlucky"))
    source.kubectl("delete", "pod", "--selector=app=unlucky", f"--namespace={AT_HOME}", "--wait=false")
    _delete_where_they_run(source, "unlucky")
    until("it is replaced", lambda: not before & uids(alive(source, "unlucky")))
    until_shown_alike(source, "job", "unlucky", active=1, ready=1)

    end(source, "unlucky", 1, code=0)
    until_shown_alike(source, "job", "unlucky", succeeded=1)
    _delete_where_they_run(source, "unlucky")
    until("it is gone there", lambda: not any(children(source, "unlucky").values()))
    until_shown_alike(source, "job", "unlucky", succeeded=1)
    for namespace in BOTH:
        source.kubectl("delete", "job/unlucky", f"--namespace={namespace}")
    until_nothing_is_left(source, "unlucky")


def a_lost_targets_pods_run_in_the_others_and_end_when_it_returns(source: Source, lost: str) -> float:
    """Its pods are replaced after the time they are given; what it still runs of them ends once it is back.

    Returns the seconds until all replicas were available again.
    """
    spread = deployment("spread", 6)
    spread["spec"]["template"]["metadata"]["annotations"][LOST_AFTER] = str(LOST_AFTER_SECONDS)
    apply(source, ELSEWHERE, spread)
    source.kubectl("rollout", "status", "deployment/spread", HERE, TIMEOUT)
    node = TargetName("", lost).node
    there = uids(pod for pod in pods(source, "spread") if pod["spec"]["nodeName"] == node)
    assert there
    died = time.monotonic()
    source.fail(lost)
    try:
        until("its pods are replaced", lambda: are_available(source, "spread", 6, without=there))
        replaced = time.monotonic() - died
        assert node not in {pod["spec"]["nodeName"] for pod in alive(source, "spread")}
    finally:
        source.heal(lost)
    until("it has stopped what was replaced", lambda: not children(source, "spread")[lost])
    until("six pods at home", lambda: len(pods(source, "spread")) == 6)
    source.kubectl("delete", "deployment/spread", HERE)
    until_nothing_is_left(source, "spread")
    return replaced


def _images(source: Source, app: str) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for each in children(source, app).values() for pod in each]


def _delete_where_they_run(source: Source, app: str) -> None:
    for target, found in children(source, app).items():
        if names := [pod["metadata"]["name"] for pod in found]:
            source.kubectl_in(target, "delete", "pod", *names, HERE, "--wait=false")
