"""A cluster whose pods run in others, as its users see it with kubectl: their owners' status is what it is at home.

Every workload is applied twice, as it stands: in a namespace whose pods are sent elsewhere, and in one without the
label that says so. What the owners show is compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from hanse.api.admiralty.keys import (
    ELECT,
    ENABLED,
    GANG,
    JOB_MANAGER,
    NAMESPACE_LABEL,
    PARENT_NAME,
    PARENT_UID,
    PROVIDER,
    PROVIDER_NAME,
)
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import dig
from tests.behaviour.stage import selecting, template
from tests.kubernetes.real import wait_until

# As long as the command of kubectl may take at most, and a little less.
PATIENCE_SECONDS = 110.0
TIMEOUT = f"--timeout={PATIENCE_SECONDS:.0f}s"
ELSEWHERE, AT_HOME = "elsewhere", "at-home"
BOTH = (ELSEWHERE, AT_HOME)
_COUNTS = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "active",
    "ready",
    "succeeded",
    "failed",
    "terminating",
    "completedIndexes",
)


class Source(Protocol):
    """A cluster that sends pods elsewhere, and the clusters that run them."""

    @property
    def home(self) -> str:
        """Its own name, which is among the targets where it may run pods of its own."""

    @property
    def targets(self) -> Sequence[str]:
        """The clusters in which its pods may run."""

    def kubectl(self, *arguments: str, input: str | None = None) -> str:  # noqa: A002
        """Type a command of kubectl's in the source."""

    def kubectl_in(self, target: str, *arguments: str) -> str:
        """Type a command of kubectl's in a target."""

    def hanse(self, *arguments: str) -> str:
        """Type a command of Hanse's."""

    def kill_control_plane(self) -> None:
        """End the control plane with SIGKILL and start it again."""

    def fail(self, target: str) -> None:
        """Have a target answer nobody."""

    def heal(self, target: str) -> None:
        """Bring it back."""

    def lose_admission(self) -> None:
        """Have nobody answer the source's API server when it asks about elected pods."""

    def return_admission(self) -> None:
        """Have somebody answer again."""

    def close_door(self) -> None:
        """Have the source's pods run at home from now on."""


# What people do


def prepare(source: Source) -> None:
    """Make the namespaces of all scenarios."""
    labels = {ELSEWHERE: {NAMESPACE_LABEL: ENABLED}, AT_HOME: {}}
    apply(source, "", *(_named("v1", "Namespace", name, labels=labels[name]) for name in BOTH))
    for target in source.targets:
        if ELSEWHERE not in source.kubectl_in(target, "get", "namespaces", "--output=name"):
            source.kubectl_in(target, "create", "namespace", ELSEWHERE)
    until("service accounts", lambda: all(_has_account(source, namespace) for namespace in BOTH))


def start_cron_job(source: Source) -> None:
    """Apply the CronJob whose time is to come while other scenarios run."""
    work = {"spec": {"template": elected("minutely", command=["sleep", "1"], restartPolicy="Never")}}
    spec = {"schedule": "* * * * *", "jobTemplate": work}
    for namespace in BOTH:
        apply(source, namespace, manifest("batch/v1", "CronJob", "minutely", spec))


def elected(app: str, *, command: Sequence[str] = (), **spec: Any) -> dict[str, Any]:
    """Return a pod template that asks to run elsewhere."""
    made = template(app, command=command, **spec)
    return {**made, "metadata": {**made["metadata"], "annotations": {ELECT: ""}}}


def manifest(api_version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return an object as somebody writes it."""
    return {**_named(api_version, kind, name), "spec": spec}


def deployment(name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    """Return a Deployment whose pods ask to run elsewhere."""
    pods = {"replicas": replicas, "selector": selecting(name), "template": elected(name, **spec)}
    return manifest("apps/v1", "Deployment", name, pods)


def job(name: str, command: Sequence[str], *, restarts: str = "Never", **spec: Any) -> dict[str, Any]:
    """Return a Job whose pods ask to run elsewhere."""
    return manifest(
        "batch/v1", "Job", name, {"template": elected(name, command=command, restartPolicy=restarts), **spec}
    )


def apply(source: Source, namespace: str, *manifests: dict[str, Any]) -> None:
    """Apply manifests in a namespace of the source."""
    where = (f"--namespace={namespace}",) if namespace else ()
    source.kubectl("apply", "--filename=-", *where, input="\n---\n".join(json.dumps(each) for each in manifests))


def end(source: Source, app: str, count: int, code: int) -> None:
    """Have some of the running pods of a workload exit, in both namespaces alike."""
    said = (f"simulator.hanse.dev/exit-code={code}", "simulator.hanse.dev/run-seconds=0")
    at_home = _running(pods(source, app, AT_HOME))[:count]
    source.kubectl("annotate", "--overwrite", "pod", *at_home, f"--namespace={AT_HOME}", *said)
    for target, found in children(source, app).items():
        chosen = _running(found)[:count]
        count -= len(chosen)
        if chosen:
            source.kubectl_in(target, "annotate", "--overwrite", "pod", *chosen, f"--namespace={ELSEWHERE}", *said)


# What they see


def get(source: Source, *arguments: str, namespace: str = ELSEWHERE) -> Any:
    """Return what `kubectl get` finds in the source, as a manifest."""
    return json.loads(source.kubectl("get", *arguments, f"--namespace={namespace}", "--output=json"))


def get_in(source: Source, target: str, *arguments: str) -> Any:
    """Return what `kubectl get` finds in a target."""
    return json.loads(source.kubectl_in(target, "get", *arguments, f"--namespace={ELSEWHERE}", "--output=json"))


def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    wait_until(holds, seconds=PATIENCE_SECONDS, what=what)


def shown(source: Source, kind: str, name: str, namespace: str) -> dict[str, Any]:
    """Return what an owner says of its pods: its counts, and its conditions with their reasons."""
    status = get(source, kind, name, namespace=namespace)["status"]
    said = [(each["type"], each["status"], each.get("reason")) for each in status.get("conditions", [])]
    # Of what is nowhere some controllers say so, and others nothing.
    return {name: status[name] for name in _COUNTS if status.get(name)} | {"conditions": sorted(said)}


def until_shown_alike(source: Source, kind: str, name: str, **expected: Any) -> dict[str, Any]:
    """Wait until an owner shows these counts, and shows all the same as its twin at home; return it."""
    seen: dict[str, dict[str, Any]] = {}
    count, value = next(iter(expected.items()))
    for namespace in BOTH:
        awaited = f"--for=jsonpath={{.status.{count}}}={value}"
        source.kubectl("wait", f"{kind}/{name}", awaited, f"--namespace={namespace}", TIMEOUT)

    def alike() -> bool:
        for namespace in BOTH:
            seen[namespace] = shown(source, kind, name, namespace)
        return seen[ELSEWHERE] == seen[AT_HOME] and expected.items() <= seen[ELSEWHERE].items()

    try:
        until(f"{kind} {name} shows the same in both namespaces", alike)
    except TimeoutError as error:
        raise AssertionError(f"{error}: {seen}") from None
    return seen[ELSEWHERE]


def pods(source: Source, app: str, namespace: str = ELSEWHERE) -> list[dict[str, Any]]:
    """Return the pods of a workload that the source has."""
    found: list[dict[str, Any]] = get(source, "pods", f"--selector=app={app}", namespace=namespace)["items"]
    return found


def alive(source: Source, app: str) -> list[dict[str, Any]]:
    """Return the pods of a workload that the source has and nobody has deleted."""
    return [pod for pod in pods(source, app) if "deletionTimestamp" not in pod["metadata"]]


def uids(found: Iterable[dict[str, Any]]) -> set[str]:
    """Return who these are, whatever they are called."""
    return {obj["metadata"]["uid"] for obj in found}


def are_available(source: Source, app: str, count: int, *, without: set[str]) -> bool:
    """Tell whether a workload has so many ready pods and no others, none of them `without`.

    What owners show of their pods may be older than these, right after some are deleted.
    """
    found = alive(source, app)
    return not without & uids(found) and sum(condition(pod, "Ready") for pod in found) == len(found) == count


def children(source: Source, app: str) -> dict[str, list[dict[str, Any]]]:
    """Return the pods of a workload that are in the targets, by target."""
    return {target: _of(app, get_in(source, target, "pods", f"--selector={PARENT_UID}")) for target in source.targets}


def _of(app: str, listed: Any) -> list[dict[str, Any]]:
    """Return what is there for pods of a workload, which in the source itself has other labels than they have."""
    return [each for each in listed["items"] if each["metadata"]["annotations"][PARENT_NAME].startswith(app)]


def until_nothing_is_left(source: Source, app: str) -> None:
    """Wait until neither the source nor a target has anything of a workload."""
    until(f"no pod of {app} at home", lambda: not pods(source, app))
    until(f"no pod of {app} in a target", lambda: not any(children(source, app).values()))
    for target in source.targets:
        assert _of(app, get_in(source, target, "podchaperons")) == []


def condition(obj: dict[str, Any], kind: str) -> bool:
    """Tell whether a condition of an object is true."""
    return is_true(dig(obj, "status", "conditions"), kind)


# Scenarios


def a_deployment_lives_its_whole_life_elsewhere(source: Source) -> None:
    """Applied, scaled, rolled out and deleted: at home it shows what it would show at home."""
    for namespace in BOTH:
        apply(source, namespace, deployment("web", 10))
    until_shown_alike(source, "deployment", "web", replicas=10, updatedReplicas=10, availableReplicas=10)
    seats = {pod["spec"]["nodeName"] for pod in pods(source, "web")}
    assert seats <= set(virtual_nodes(source))
    found = children(source, "web")
    assert sum(len(each) for each in found.values()) == 10
    assert len([target for target, each in found.items() if each]) > 1

    for namespace in BOTH:
        source.kubectl("scale", "deployment/web", "--replicas=6", f"--namespace={namespace}")
    until_shown_alike(source, "deployment", "web", replicas=6, availableReplicas=6)
    until("six pods run", lambda: sum(len(each) for each in children(source, "web").values()) == 6)

    for namespace in BOTH:
        source.kubectl("set", "image", "deployment/web", "main=nginx:2", f"--namespace={namespace}")
    source.kubectl("rollout", "status", "deployment/web", f"--namespace={ELSEWHERE}", TIMEOUT)
    until_shown_alike(source, "deployment", "web", replicas=6, updatedReplicas=6, availableReplicas=6)
    until("only the new image runs", lambda: _images(source, "web") == {"nginx:2"})

    for namespace in BOTH:
        source.kubectl("delete", "deployment", "web", f"--namespace={namespace}")
    until_nothing_is_left(source, "web")


def a_job_with_failures_is_counted_as_at_home(source: Source) -> None:
    """Twenty completions, a dozen at a time, with failures; and Jobs that fail for good, in either way."""
    work = job("work", ["sleep", "1h"], completions=20, parallelism=12, backoffLimit=4)
    broken = job("broken", ["sh", "-c", "exit 3"], backoffLimit=1)
    stubborn = job("stubborn", ["sh", "-c", "exit 4"], restarts="OnFailure", backoffLimit=1)
    for namespace in BOTH:
        apply(source, namespace, work, broken, stubborn)
    until_shown_alike(source, "job", "work", active=12, ready=12)
    # A Job waits for tens of seconds after failures, unless a pod succeeds after them.
    end(source, "work", 2, code=3)
    until_shown_alike(source, "job", "work", failed=2)
    end(source, "work", 10, code=0)
    until_shown_alike(source, "job", "work", succeeded=10, failed=2, active=10, ready=10)
    end(source, "work", 10, code=0)
    complete = until_shown_alike(source, "job", "work", succeeded=20, failed=2)
    assert ("Complete", "True", "CompletionsReached") in complete["conditions"]
    phases = sorted(pod["status"]["phase"] for pod in pods(source, "work"))
    assert phases == ["Failed"] * 2 + ["Succeeded"] * 20

    failed = until_shown_alike(source, "job", "broken", failed=2)
    assert ("Failed", "True", "BackoffLimitExceeded") in failed["conditions"]
    assert {_ending(pod) for pod in pods(source, "broken")} == {(3, "Error")}
    stopped = until_shown_alike(source, "job", "stubborn", failed=1)
    assert ("Failed", "True", "BackoffLimitExceeded") in stopped["conditions"]
    source.kubectl("delete", "jobs", "work", "broken", "stubborn", f"--namespace={ELSEWHERE}")
    for name in ("work", "broken", "stubborn"):
        until_nothing_is_left(source, name)


def a_cron_job_has_run(source: Source) -> None:
    """Its time has come since it was applied, and its Jobs are complete, elsewhere and at home."""
    nodes = set(virtual_nodes(source))

    def has_run_elsewhere() -> bool:
        ran = [pod for pod in pods(source, "minutely") if pod["spec"].get("nodeName") in nodes]
        return bool(_complete(source, ELSEWHERE) & {pod["metadata"]["ownerReferences"][0]["name"] for pod in ran})

    until("the CronJob has run elsewhere", has_run_elsewhere)
    until("the CronJob has run at home", lambda: bool(_complete(source, AT_HOME)))
    for namespace in BOTH:
        source.kubectl("delete", "cronjob", "minutely", f"--namespace={namespace}")
    until_nothing_is_left(source, "minutely")


def a_bare_pod_runs_and_ends_elsewhere(source: Source) -> None:
    """A pod of nobody shows what becomes of it, keeps showing it, and goes when it is deleted."""
    here = f"--namespace={ELSEWHERE}"
    run = ("run", "alone", "--image=busybox:1", "--restart=Never", f"--annotations={ELECT}=", "--labels=app=alone")
    source.kubectl(*run, here, "--command", "--", "sh", "-c", "sleep 1; exit 7")
    source.kubectl("wait", "pod/alone", "--for=jsonpath={.status.phase}=Failed", here, TIMEOUT)
    [pod] = pods(source, "alone")
    assert _ending(pod) == (7, "Error")
    assert pod["spec"]["nodeName"] in virtual_nodes(source)
    source.kubectl("delete", "pod", "alone", here, TIMEOUT)
    until_nothing_is_left(source, "alone")


def a_whole_job_runs_in_one_target(source: Source) -> None:
    """The Job stays at home with its status, and its pods are in one other cluster."""
    whole = job("train", ["sleep", "1"], completions=4, parallelism=2, completionMode="Indexed", managedBy=JOB_MANAGER)
    apply(source, ELSEWHERE, whole)
    plain = {name: value for name, value in whole["spec"].items() if name != "managedBy"}
    apply(source, AT_HOME, {**whole, "spec": plain})
    source.kubectl("wait", "job/train", "--for=condition=Complete", f"--namespace={ELSEWHERE}", TIMEOUT)
    source.kubectl("wait", "job/train", "--for=condition=Complete", f"--namespace={AT_HOME}", TIMEOUT)
    there, here = (shown(source, "job", "train", namespace) for namespace in BOTH)
    ours = [each for each in there.pop("conditions") if each[0] != "Propagated"]
    assert ours == here.pop("conditions")
    assert there == here
    assert pods(source, "train") == []
    others = [target for target in source.targets if target != source.home]
    ran = [target for target in others if get_in(source, target, "pods", "--selector=app=train")["items"]]
    assert len(ran) == 1
    source.kubectl("delete", "job", "train", f"--namespace={ELSEWHERE}")
    until("no Job in its target", lambda: not get_in(source, ran[0], "jobs", "--selector=app=train")["items"])


def a_gang_runs_in_one_target_or_waits(source: Source) -> None:
    """Five pods that belong together are in one target; five of which no target has room for are in none."""
    gang = job("ring", ["sleep", "1h"], completions=5, parallelism=5)
    crowd = job("crowd", ["sleep", "1h"], completions=5, parallelism=5)
    for each in (gang, crowd):
        each["spec"]["template"]["metadata"]["annotations"][GANG] = "all"
    # A target has three nodes of eight cores, of which one pod takes most of one: there is room for three of five.
    crowd["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "7"}}
    apply(source, ELSEWHERE, gang, crowd)
    source.kubectl("wait", "job/ring", "--for=jsonpath={.status.ready}=5", f"--namespace={ELSEWHERE}", TIMEOUT)
    assert sorted(len(each) for each in children(source, "ring").values())[-1] == 5
    until(
        "all of the crowd say that they wait",
        lambda: len([each for each in map(waits, pods(source, "crowd")) if each]) == 5,
    )
    assert not any(children(source, "crowd").values())
    source.kubectl("delete", "job", "ring", "crowd", f"--namespace={ELSEWHERE}")
    until_nothing_is_left(source, "ring")
    until_nothing_is_left(source, "crowd")


def waits(pod: dict[str, Any]) -> str:
    """Return why a pod has no place yet, as it says itself; "" while it does not."""
    found = find_condition(dig(pod, "status", "conditions"), "PodScheduled") or {}
    return str(found.get("message") or "") if found.get("status") == "False" else ""


def virtual_nodes(source: Source) -> list[str]:
    """Return the nodes that stand for targets."""
    listed = source.kubectl("get", "nodes", f"--selector={PROVIDER}={PROVIDER_NAME}", "--output=name")
    return [name.partition("/")[2] for name in listed.split()]


def _named(api_version: str, kind: str, name: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": labels or {}}}


def _has_account(source: Source, namespace: str) -> bool:
    found = source.kubectl("get", "serviceaccount", "default", f"--namespace={namespace}", "--ignore-not-found")
    return bool(found)


def _running(found: Sequence[dict[str, Any]]) -> list[str]:
    return [pod["metadata"]["name"] for pod in found if _runs(pod)]


def _runs(pod: dict[str, Any]) -> bool:
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def _images(source: Source, app: str) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for each in children(source, app).values() for pod in each}


def _ending(pod: dict[str, Any]) -> tuple[int, str]:
    terminated = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    return terminated["exitCode"], terminated["reason"]


def _complete(source: Source, namespace: str) -> set[str]:
    """Return the names of the Jobs that are complete."""
    return {
        each["metadata"]["name"]
        for each in get(source, "jobs", namespace=namespace)["items"]
        if condition(each, "Complete")
    }
