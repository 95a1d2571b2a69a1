"""Pods that run elsewhere under people's hands: logs, exec, nodes, cordon, drain, and Hanse's own commands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hanse.api.admiralty.names import TargetName
from tests.behaviour.pods_elsewhere import (
    ELSEWHERE,
    TIMEOUT,
    Source,
    alive,
    apply,
    are_available,
    children,
    deployment,
    get,
    get_in,
    job,
    manifest,
    pods,
    uids,
    until,
    until_nothing_is_left,
    virtual_nodes,
    waits,
)
from tests.behaviour.stage import selecting
from tests.e2e.federation import Refused
from tests.kubernetes.real import KubectlError

HERE = f"--namespace={ELSEWHERE}"


def logs_reach_the_pod_that_runs(source: Source) -> None:
    """`kubectl logs`, whole, in part and to the end, by pod, by Job and by Deployment."""
    apply(source, ELSEWHERE, job("talk", ["sleep", "5"]), deployment("printer", 1))
    # Followed to its end, which is the end of the pod.
    until("it has begun", lambda: {_phase(pod) for pod in pods(source, "talk")} in ({"Running"}, {"Succeeded"}))
    assert "started nginx:1 on node" in source.kubectl("logs", "--follow", "job/talk", HERE)
    source.kubectl("wait", "job/talk", "--for=condition=Complete", HERE, TIMEOUT)

    source.kubectl("rollout", "status", "deployment/printer", HERE, TIMEOUT)
    [pod] = pods(source, "printer")
    name = pod["metadata"]["name"]
    assert "started nginx:1 on node" in source.kubectl("logs", name, HERE)
    assert source.kubectl("logs", "deployment/printer", HERE, "--tail=1").count("\n") == 1
    assert source.kubectl("logs", name, HERE, "--tail=0") == ""
    source.kubectl("delete", "deployment/printer", "job/talk", HERE)
    until_nothing_is_left(source, "printer")
    until_nothing_is_left(source, "talk")


def exec_reaches_the_pod_that_runs(source: Source) -> None:
    """`kubectl exec` runs a command where the pod is."""
    apply(source, ELSEWHERE, deployment("shell", 1))
    source.kubectl("rollout", "status", "deployment/shell", HERE, TIMEOUT)
    [pod] = pods(source, "shell")
    assert source.kubectl("exec", pod["metadata"]["name"], HERE, "--", "echo", "hello", "there") == "hello there\n"
    ran = source.kubectl("exec", "deployment/shell", HERE, "--", "hostname").strip()
    assert ran in {child["metadata"]["name"] for each in children(source, "shell").values() for child in each}
    source.kubectl("delete", "deployment/shell", HERE)
    until_nothing_is_left(source, "shell")


def targets_are_nodes_that_are_cordoned_and_drained(source: Source) -> None:
    """No new pod goes to a cordoned node; a drained one is emptied as far as a budget allows, and filled elsewhere."""
    nodes = {target: TargetName("", target).node for target in source.targets}
    assert set(nodes.values()) == set(virtual_nodes(source))
    assert all("Ready" in source.kubectl("get", "node", node, "--no-headers") for node in nodes.values())
    first, *others = source.targets
    for target in others:
        source.kubectl("cordon", nodes[target])
    budget = manifest(
        "policy/v1", "PodDisruptionBudget", "guarded", {"minAvailable": 1, "selector": selecting("guarded")}
    )
    apply(source, ELSEWHERE, budget, deployment("guarded", 2))
    source.kubectl("rollout", "status", "deployment/guarded", HERE, TIMEOUT)
    there = pods(source, "guarded")
    assert {pod["spec"]["nodeName"] for pod in there} == {nodes[first]}
    until("the budget counts its pods", lambda: get(source, "pdb", "guarded")["status"]["currentHealthy"] == 2)
    source.kubectl("cordon", nodes[first])
    _evict(source, there[0])
    with pytest.raises((KubectlError, Refused), match="disruption budget"):
        _evict(source, there[1])

    for target in others:
        source.kubectl("uncordon", nodes[target])
    drained = source.kubectl("drain", nodes[first], "--ignore-daemonsets", "--force", TIMEOUT)
    assert f"node/{nodes[first]} drained" in drained
    until("its pods are replaced", lambda: are_available(source, "guarded", 2, without=uids(there)))
    assert {pod["spec"]["nodeName"] for pod in alive(source, "guarded")} <= {nodes[target] for target in others}
    until("nothing of it runs there", lambda: not children(source, "guarded")[first])
    source.kubectl("uncordon", nodes[first])
    source.kubectl("delete", "deployment/guarded", "pdb/guarded", HERE)
    until_nothing_is_left(source, "guarded")


def _evict(source: Source, pod: dict[str, Any]) -> None:
    name = {"name": pod["metadata"]["name"], "namespace": ELSEWHERE}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": name}
    path = f"/api/v1/namespaces/{ELSEWHERE}/pods/{name['name']}/eviction"
    source.kubectl("create", f"--raw={path}", "--filename=-", input=json.dumps(eviction))


def a_pod_that_fits_nowhere_says_why(source: Source) -> None:
    """It is Pending, `kubectl describe`, `hanse pods` and `hanse explain` say why, and deleting it does not hang."""
    spec = {"containers": [{"name": "main", "image": "nginx:1", "resources": {"requests": {"cpu": "4000"}}}]}
    annotations = {"multicluster.admiralty.io/elect": ""}
    metadata = {"name": "giant", "labels": {"app": "giant"}, "annotations": annotations}
    apply(source, ELSEWHERE, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def told() -> str:
        return waits(get(source, "pod", "giant"))

    until("it says why it waits", lambda: "no more room" in told())
    until("an event says so", lambda: told() in source.kubectl("describe", "pod", "giant", HERE))
    listed = json.loads(source.hanse("pods", HERE, "--output=json"))["items"]
    [giant] = [each for each in listed if each["name"] == "giant"]
    assert giant["target"] == ""
    assert "no more room" in giant["why"]
    assert "has no place" in source.hanse("explain", "pod", "giant", HERE)
    source.kubectl("delete", "pod", "giant", HERE, TIMEOUT)
    until_nothing_is_left(source, "giant")


def what_pods_need_goes_with_them_and_goes_away(source: Source) -> None:
    """A ConfigMap and a Secret that a pod names are where it is; a Service that selects it is in every target."""
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"color": "blue"}}
    key = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"key": "1"}}
    unused = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "unused"}, "data": {"a": "b"}}
    service = manifest("v1", "Service", "laden", {"selector": {"app": "laden"}, "ports": [{"port": 80}]})
    laden = deployment("laden", 1, volumes=[{"name": "key", "secret": {"secretName": "key"}}])
    main = laden["spec"]["template"]["spec"]["containers"][0]
    main["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    # A pod that runs in its own cluster has everything already.
    if source.home in source.targets:
        source.kubectl("cordon", TargetName("", source.home).node)
    apply(source, ELSEWHERE, settings, key, unused, service, laden)
    source.kubectl("rollout", "status", "deployment/laden", HERE, TIMEOUT)
    [target] = [name for name, each in children(source, "laden").items() if each]

    def copies(name: str) -> set[str]:
        listed = source.kubectl_in(name, "get", "configmaps,secrets,services", HERE, "--output=name")
        return set(listed.split()) & {"configmap/settings", "configmap/unused", "secret/key", "service/laden"}

    until("what it needs is there", lambda: copies(target) == {"configmap/settings", "secret/key", "service/laden"})
    others = [name for name in source.targets if name not in (source.home, target)]
    until("the Service alone is in the others", lambda: all(copies(name) == {"service/laden"} for name in others))
    assert "finalizers" not in get(source, "configmap", "unused")["metadata"]
    source.kubectl("patch", "configmap", "settings", HERE, "--type=merge", '--patch={"data": {"color": "green"}}')
    until("the change follows", lambda: get_in(source, target, "configmap", "settings")["data"]["color"] == "green")

    source.kubectl("delete", "deployment/laden", HERE)
    until("nothing is left", lambda: not any(copies(name) for name in (target, *others)))
    named = ("configmap/settings", "secret/key", "service/laden")
    until("nothing holds it", lambda: "finalizers" not in source.kubectl("get", *named, HERE, "--output=json"))
    if source.home in source.targets:
        source.kubectl("uncordon", TargetName("", source.home).node)
    source.kubectl("delete", "configmap/settings", "configmap/unused", "secret/key", "service/laden", HERE)
    until_nothing_is_left(source, "laden")


def hanse_says_where_pods_run_and_why(source: Source) -> None:
    """`hanse pods` and `hanse explain pod` name the cluster, the pod there and the reason."""
    apply(source, ELSEWHERE, deployment("told", 2))
    source.kubectl("rollout", "status", "deployment/told", HERE, TIMEOUT)
    listed = json.loads(source.hanse("pods", HERE, "--output=json"))["items"]
    found = {each["child"]: each["cluster"] for each in listed if each["name"].startswith("told-")}
    running = {pod["metadata"]["name"]: target for target, each in children(source, "told").items() for pod in each}
    assert found == running
    [name, _] = [pod["metadata"]["name"] for pod in pods(source, "told")]
    explained = source.hanse("explain", "pod", name, HERE)
    assert "has the pod" in explained
    assert "at the first attempt" in explained
    source.kubectl("delete", "deployment/told", HERE)
    until_nothing_is_left(source, "told")


def _phase(pod: dict[str, Any]) -> str:
    return str(pod["status"].get("phase"))
