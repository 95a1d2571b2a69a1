"""How the host's API server is told of Shipper's kinds: schemas, columns, and what is refused.

The status of each is a subresource: what a user asks for and what a controller says are different writes. Shipper's
`Cluster` is among the other forms of clusters (`hanse.api.cluster_forms`).
"""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column, definition
from hanse.api.shipper.environment_schema import ANYTHING, chart, environment, listed, number
from hanse.api.shipper.kinds import (
    APPLICATIONS,
    CAPACITY_TARGETS,
    INSTALLATION_TARGETS,
    RELEASES,
    ROLLOUT_BLOCKS,
    TRAFFIC_TARGETS,
)
from hanse.api.shipper.progress_schema import PROGRESS
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

ENVIRONMENT_CHANGED = "the Release environment must not be changed; consider editing the Application object"
_SHIPPER = ("shipper",)
_ALL = ("all", "shipper")


def _condition(**more: dict[str, Any]) -> dict[str, Any]:
    return record(
        {
            "type": text("What it is about"),
            "status": text("True, False or Unknown"),
            "lastTransitionTime": text("Since when", format="date-time"),
            "reason": text("Why, in one word"),
            "message": text("Why, in one sentence"),
            **more,
        },
        required=["type", "status"],
    )


def _conditions(about: str) -> dict[str, Any]:
    return listed(f"{about}, in order of type", _condition())


_OBSERVED = {"type": "integer", "format": "int64", "description": "The generation of the spec that this is about"}
_AGE = column("Age", "date", ".metadata.creationTimestamp")
_TARGET_COLUMNS = [
    column("Operational", "string", '.status.conditions[?(@.type=="Operational")].status'),
    column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
    column("Reason", "string", '.status.conditions[?(@.status=="False")].message'),
    _AGE,
]


def _kind(
    resource: Resource,
    short: str,
    categories: tuple[str, ...],
    description: str,
    spec: dict[str, Any],
    status: dict[str, Any],
    columns: list[dict[str, Any]],
) -> Obj:
    schema = record(
        {"apiVersion": text(), "kind": text(), "metadata": {"type": "object"}, "spec": spec, "status": status},
        description,
        required=["spec"],
    )
    return definition(resource, schema, columns, short=(short,), categories=categories, status=True)


def _status(**fields: dict[str, Any]) -> dict[str, Any]:
    return record(fields, "What is the case; written by Hanse")


APPLICATION_CRD = _kind(
    APPLICATIONS,
    "app",
    _ALL,
    "An application and how it is rolled out over clusters: every change of its template becomes a Release.",
    record(
        {
            "revisionHistoryLimit": number("How many finished Releases are kept beside the latest: 1 to 1000, else 20"),
            "template": environment("What the next Release is"),
        },
        "What is to be rolled out",
        required=["template"],
    ),
    _status(
        conditions=_conditions("Aborting, Blocked, ReleaseSynced, RollingOut, ValidHistory"),
        history=listed("Its Releases, the latest last", text()),
    ),
    [
        column("Latest Release", "string", ".status.history[-1]"),
        column("Rolling Out", "string", ".status.conditions[?(@.type=='RollingOut')].status"),
        _AGE,
    ],
)

RELEASE_CRD = _kind(
    RELEASES,
    "rel",
    _ALL,
    "One version of an Application, and how far its rollout is to go.",
    record(
        {
            "targetStep": number("The step of the strategy to go to; 0 is the first", minimum=0),
            "environment": environment("What the Application's template was when this was made; it stays so"),
        },
        "What it is and how far it goes",
        required=["targetStep", "environment"],
        **{
            "x-kubernetes-validations": [
                {
                    "rule": "self.environment == oldSelf.environment",
                    "message": ENVIRONMENT_CHANGED,
                    "fieldPath": ".environment",
                }
            ]
        },
    ),
    _status(
        achievedStep=record(
            {"step": number("Its number"), "name": text("Its name")},
            "The last step that was reached in every cluster",
            required=["step", "name"],
        ),
        strategy=record(
            {
                "state": record(
                    {
                        "waitingForInstallation": text("True, False or Unknown"),
                        "waitingForCapacity": text("True, False or Unknown"),
                        "waitingForTraffic": text("True, False or Unknown"),
                        "waitingForCommand": text("True, False or Unknown"),
                    },
                    "What the rollout waits for",
                ),
                "conditions": listed(
                    "What of a step is achieved, in order of type", _condition(step=number("Of which step"))
                ),
            },
            "How its strategy stands",
        ),
        conditions=_conditions("Blocked, Complete, Held (only while it stands still), Scheduled, StrategyExecuted"),
        progress=PROGRESS,
    ),
    [
        _AGE,
        column("Achieved Step", "string", ".status.achievedStep.name"),
        column("Clusters", "string", r".metadata.annotations.shipper\.booking\.com\/release\.clusters"),
        column("Waiting", "string", '.status.strategy.conditions[?(@.status=="False")].type'),
        column("Reason", "string", '.status.strategy.conditions[?(@.status=="False")].message'),
        column("Held", "string", '.status.conditions[?(@.type=="Held")].message'),
    ],
)

INSTALLATION_TARGET_CRD = _kind(
    INSTALLATION_TARGETS,
    "it",
    _SHIPPER,
    "The clusters in which a Release is installed.",
    record(
        {
            "clusters": listed("The clusters' names", text()),
            "canOverride": {"type": "boolean", "description": "Whether it may still take over from earlier Releases"},
            "chart": chart(),
            "values": {**ANYTHING, "description": "The chart's values"},
        },
        "Where what is installed",
        required=["clusters", "canOverride"],
    ),
    _status(
        clusters=listed(
            "Each cluster, in order of name",
            record(
                {"name": text("The cluster's name"), "conditions": _conditions("Operational, Ready")}, required=["name"]
            ),
        ),
        conditions=_conditions("Operational, Ready"),
    ),
    _TARGET_COLUMNS,
)

CAPACITY_TARGET_CRD = _kind(
    CAPACITY_TARGETS,
    "ct",
    _SHIPPER,
    "How much of its full size a Release has in each cluster.",
    record(
        {
            "clusters": listed(
                "Each cluster",
                record(
                    {
                        "name": text("The cluster's name"),
                        "percent": number("How much of the full size", minimum=0, maximum=100),
                        "totalReplicaCount": number("The full size, in replicas"),
                    },
                    required=["name", "percent"],
                ),
            )
        },
        "How much is wanted",
        required=["clusters"],
    ),
    _status(
        observedGeneration=_OBSERVED,
        clusters=listed(
            "Each cluster, in order of name",
            record(
                {
                    "name": text("The cluster's name"),
                    "availableReplicas": number("How many replicas are available"),
                    "achievedPercent": number("How much of the full size that is"),
                    "sadPods": listed("Some of the pods that are not ready", ANYTHING),
                    "conditions": _conditions("Operational, Ready"),
                    "reports": listed("What pods are like, counted", ANYTHING),
                },
                required=["name"],
            ),
        ),
        conditions=_conditions("Operational, Ready"),
    ),
    _TARGET_COLUMNS,
)

TRAFFIC_TARGET_CRD = _kind(
    TRAFFIC_TARGETS,
    "tt",
    _SHIPPER,
    "How much of the traffic a Release gets in each cluster.",
    record(
        {
            "clusters": listed(
                "Each cluster",
                record(
                    {"name": text("The cluster's name"), "weight": number("Its share beside others'", minimum=0)},
                    required=["name", "weight"],
                ),
            )
        },
        "How much is wanted",
        required=["clusters"],
    ),
    _status(
        observedGeneration=_OBSERVED,
        clusters=listed(
            "Each cluster, in order of name",
            record(
                {
                    "name": text("The cluster's name"),
                    "achievedTraffic": number("The share that it has"),
                    "conditions": _conditions("Operational, Ready"),
                },
                required=["name"],
            ),
        ),
        conditions=_conditions("Operational, Ready"),
    ),
    _TARGET_COLUMNS,
)

ROLLOUT_BLOCK_CRD = _kind(
    ROLLOUT_BLOCKS,
    "rb",
    _ALL,
    "Keeps rollouts of its namespace as they are, or of every namespace where it is in rollout-blocks-global.",
    record(
        {
            "message": text("Why, for those who are stopped by it"),
            "author": record(
                {"type": text("A person or a program"), "name": text("Which")}, "Who did it", required=["type", "name"]
            ),
        },
        "Who stops rollouts, and why",
        required=["message", "author"],
    ),
    _status(
        overrides=record(
            {
                "application": text("The Applications that go on nevertheless, as namespace/name, comma-separated"),
                "release": text("The Releases that go on nevertheless, as namespace/name, comma-separated"),
            },
            "Who goes on nevertheless",
        )
    ),
    [
        column("Message", "string", ".spec.message"),
        column("Author Type", "string", ".spec.author.type", 1),
        column("Author Name", "string", ".spec.author.name", 1),
        column("Overriding Applications", "string", ".status.overrides.application", 1),
        column("Overriding Releases", "string", ".status.overrides.release", 1),
    ],
)

SHIPPER_CRDS: tuple[Obj, ...] = (
    APPLICATION_CRD,
    RELEASE_CRD,
    INSTALLATION_TARGET_CRD,
    CAPACITY_TARGET_CRD,
    TRAFFIC_TARGET_CRD,
    ROLLOUT_BLOCK_CRD,
)
