"""A rollout as a tree: application, releases, clusters, pods, and beside each line what it waits for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from hanse.api.shipper.kinds import RELEASE_LABEL, TRAFFIC_ENABLED, TRAFFIC_LABEL
from hanse.cli.health import Mark, health_of
from hanse.cli.output import Column, marked
from hanse.cli.tree import lines
from hanse.kube.manifest import Obj, labels_of, name_of, namespace_of
from hanse.rollouts.cluster_reading import ClusterReading
from hanse.rollouts.reading import Outcome, ReleaseReading, Role, RolloutReading, step_title

COLUMNS = (
    Column("NAME"),
    Column("ROLE"),
    Column("STEP"),
    Column("CAPACITY"),
    Column("TRAFFIC"),
    Column("STATE"),
    Column("WAITS FOR"),
)
# The pods of an application by cluster, or why a cluster did not tell of them.
Pods = Mapping[str, Sequence[Obj] | str]

_COLOURS = {
    Outcome.COMPLETE: "green",
    Outcome.WAITING: "cyan",
    Outcome.WORKING: "yellow",
    Outcome.PAUSED: "yellow",
    Outcome.BLOCKED: "red",
    Outcome.FAILED: "red",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the tree and what hangs below it."""

    title: str
    role: str = ""
    step: str = ""
    capacity: str = ""
    traffic: str = ""
    state: str = ""
    why: str = ""
    children: tuple[Line, ...] = ()


def rows(root: Line) -> list[list[str]]:
    """Return the tree as the rows of a table."""
    return [
        [f"{lead}{line.title}", line.role, line.step, line.capacity, line.traffic, line.state, line.why]
        for lead, line in lines(root)
    ]


def tree_of(rollout: RolloutReading, pods: Pods) -> Line:
    """Put the tree together; a release that has nothing anywhere shows no clusters."""
    return Line(
        title=f"Application/{name_of(rollout.application)}",
        state=outcome_word(rollout.verdict.outcome),
        why=rollout.verdict.why,
        children=tuple(_release(each, pods) for each in rollout.releases),
    )


def outcome_word(outcome: Outcome) -> str:
    """Return the word for how a rollout stands in its colour."""
    return click.style(str(outcome), fg=_COLOURS[outcome])


def _release(release: ReleaseReading, pods: Pods) -> Line:
    shown = [each for each in release.clusters if release.role is not Role.EARLIER or _has_pods(each)]
    return Line(
        title=f"Release/{release.name}",
        role=str(release.role),
        step=step_title(release.obj, release.target_step),
        capacity=_sum((each.available, each.desired) for each in release.clusters),
        traffic="",
        state=outcome_word(release.verdict.outcome),
        why=release.verdict.why,
        children=tuple(_cluster(each, release.name, pods.get(each.name, ())) for each in shown),
    )


def _has_pods(cluster: ClusterReading) -> bool:
    return bool(cluster.available or cluster.desired)


def _sum(parts: Iterable[tuple[int, int]]) -> str:
    counted = list(parts)
    return f"{sum(one for one, _ in counted)}/{sum(of for _, of in counted)}" if counted else ""


def _cluster(cluster: ClusterReading, release: str, pods: Sequence[Obj] | str) -> Line:
    silent = pods if isinstance(pods, str) else ""
    said = any(silent in problem for problem in cluster.problems)
    below = () if isinstance(pods, str) else pods_of(release, pods)
    done = cluster.installed and cluster.available == cluster.desired and not cluster.problems
    # A cluster that tells this command nothing may be well for all that the control plane knows.
    state = marked(Mark.OK) if done else outcome_word(Outcome.FAILED if cluster.failing else Outcome.WORKING)
    return Line(
        title=f"cluster {cluster.name}",
        capacity=f"{cluster.available}/{cluster.desired} ({cluster.percent}%)",
        traffic=f"{cluster.achieved_weight}/{cluster.weight}",
        state=state,
        why="; ".join((*cluster.problems, *([silent] if silent and not said else []))),
        children=tuple(_pod(pod) for pod in below),
    )


def pods_of(release: str, pods: Iterable[Obj]) -> list[Obj]:
    """Return a release's pods in order of name."""
    return sorted((pod for pod in pods if labels_of(pod).get(RELEASE_LABEL) == release), key=name_of)


def _pod(pod: Obj) -> Line:
    health = health_of({"kind": "Pod", **pod})
    return Line(
        title=f"Pod/{name_of(pod)}",
        capacity=health.ready,
        traffic="yes" if in_traffic(pod) else "no",
        state=marked(health.mark),
        why=health.why,
    )


def in_traffic(pod: Obj) -> bool:
    """Tell whether clients may be led to a pod."""
    return labels_of(pod).get(TRAFFIC_LABEL) == TRAFFIC_ENABLED


def document(rollout: RolloutReading, pods: Pods) -> dict[str, Any]:
    """Return the tree for programs."""
    return {
        **summary(rollout),
        "releases": [_release_document(each, pods) for each in rollout.releases],
        "unreachable": {name: told for name, told in sorted(pods.items()) if isinstance(told, str)},
    }


def summary(rollout: RolloutReading) -> dict[str, Any]:
    """Return an application's own line for programs."""
    contender, incumbent = rollout.contender, rollout.incumbent
    return {
        "application": name_of(rollout.application),
        "namespace": namespace_of(rollout.application),
        "state": str(rollout.verdict.outcome),
        "why": rollout.verdict.why,
        "contender": contender.name if contender else None,
        "incumbent": incumbent.name if incumbent else None,
    }


def _release_document(release: ReleaseReading, pods: Pods) -> dict[str, Any]:
    return {
        "name": release.name,
        "role": str(release.role),
        "state": str(release.verdict.outcome),
        "why": release.verdict.why,
        "targetStep": release.target_step,
        "achievedStep": release.achieved_step,
        "steps": [step.get("name", "") for step in release.steps],
        "paused": release.paused,
        "clusters": [_cluster_document(each, release.name, pods.get(each.name, ())) for each in release.clusters],
    }


def _cluster_document(cluster: ClusterReading, release: str, pods: Sequence[Obj] | str) -> dict[str, Any]:
    return {
        "name": cluster.name,
        "installed": cluster.installed,
        "capacity": {
            "percent": cluster.percent,
            "achievedPercent": cluster.achieved_percent,
            "pods": cluster.desired,
            "available": cluster.available,
        },
        "traffic": {"weight": cluster.weight, "achieved": cluster.achieved_weight},
        "sadPods": list(cluster.sad_pods),
        "problems": list(cluster.problems),
        "pods": [] if isinstance(pods, str) else [_pod_document(pod) for pod in pods_of(release, pods)],
    }


def _pod_document(pod: Obj) -> dict[str, Any]:
    health = health_of({"kind": "Pod", **pod})
    return {"name": name_of(pod), "state": str(health.mark), "why": health.why, "traffic": in_traffic(pod)}
