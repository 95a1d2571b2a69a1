"""What people type: scenarios driven by kubectl alone, given a way to call it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from tests.behaviour.stage import selecting, template

Kubectl = Callable[..., Awaitable[str]]


def manifest(api_version: str, kind: str, name: str, spec: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec})


async def rolled_out(kubectl: Kubectl, target: str) -> str:
    return await kubectl("rollout", "status", target, "--timeout=180s")


async def revisions(kubectl: Kubectl, target: str) -> list[str]:
    told = await kubectl("rollout", "history", target)
    return [line.split()[0] for line in told.splitlines() if line[:1].isdigit()]


async def a_rollout_is_followed_listed_and_taken_back(kubectl: Kubectl, target: str, spec: dict[str, Any]) -> None:
    """Change a workload's image, look at its history, and go back."""
    kind, name = target.split("/")
    await kubectl("apply", "--filename=-", input=manifest("apps/v1", kind, name, spec))
    await rolled_out(kubectl, target)
    await kubectl("set", "image", target, "main=nginx:2")
    await rolled_out(kubectl, target)
    assert await revisions(kubectl, target) == ["1", "2"]
    await kubectl("rollout", "undo", target)
    await rolled_out(kubectl, target)
    assert await revisions(kubectl, target) == ["2", "3"]
    pods = json.loads(await kubectl("get", "pods", f"--selector=app={name}", "--output=json"))["items"]
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"nginx:1"}


async def stateful_sets_and_daemon_sets_roll_out_and_back(kubectl: Kubectl) -> None:
    spec = {"selector": selecting("db"), "template": template("db"), "replicas": 2, "serviceName": "db"}
    await a_rollout_is_followed_listed_and_taken_back(kubectl, "StatefulSet/db", spec)
    spec = {"selector": selecting("agent"), "template": template("agent")}
    await a_rollout_is_followed_listed_and_taken_back(kubectl, "DaemonSet/agent", spec)


async def a_node_is_drained_past_a_budget_and_taken_back(kubectl: Kubectl) -> None:
    spec = {"selector": selecting("web"), "template": template("web"), "replicas": 4}
    budget = manifest("policy/v1", "PodDisruptionBudget", "web", {"minAvailable": 4, "selector": selecting("web")})
    await kubectl("apply", "--filename=-", input=manifest("apps/v1", "Deployment", "web", spec))
    await kubectl("apply", "--filename=-", input=budget)
    await kubectl("scale", "deployment/web", "--replicas=5")
    await rolled_out(kubectl, "deployment/web")
    pods = json.loads(await kubectl("get", "pods", "--selector=app=web", "--output=json"))["items"]
    node = pods[0]["spec"]["nodeName"]
    drained = await kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=180s")
    assert f"node/{node} drained" in drained
    await rolled_out(kubectl, "deployment/web")
    left = json.loads(await kubectl("get", "pods", "--selector=app=web", "--output=json"))["items"]
    assert node not in {pod["spec"].get("nodeName") for pod in left}
    await kubectl("uncordon", node)


async def a_cron_job_is_run_by_hand(kubectl: Kubectl) -> None:
    work = template("work", command=["sleep", "1s"], restartPolicy="Never")
    spec = {"schedule": "0 3 1 1 *", "jobTemplate": {"spec": {"template": work}}}
    await kubectl("apply", "--filename=-", input=manifest("batch/v1", "CronJob", "yearly", spec))
    await kubectl("create", "job", "now", "--from=cronjob/yearly")
    await kubectl("wait", "job/now", "--for=condition=Complete", "--timeout=180s")


SCENARIOS = (
    stateful_sets_and_daemon_sets_roll_out_and_back,
    a_node_is_drained_past_a_budget_and_taken_back,
    a_cron_job_is_run_by_hand,
)
