"""The schema of what an Application's template asks for, and of what a Release keeps of it.

Shipper's fields with Shipper's limits; those that Hanse adds are optional, and their descriptions say so.
"""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import record, text

ANYTHING: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_ADDED = "(Hanse's own, optional)"
_DURATION = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$"
_REMEDIES = ["Pause", "Abort", "Rollback"]


def listed(description: str, items: dict[str, Any], **rules: object) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "description": description, "items": items, **rules}


def number(description: str, **rules: object) -> dict[str, Any]:
    """Return the schema of a 32-bit number."""
    return {"type": "integer", "format": "int32", "description": description, **rules}


def _duration(description: str) -> dict[str, Any]:
    return text(f"{description}, such as 90s, 10m or 1h30m", pattern=_DURATION)


def chart() -> dict[str, Any]:
    """Return the schema of a chart's name, version and address."""
    return record(
        {
            "name": text("The chart's name in its repository"),
            "version": text("Its version, or a range such as ~1.2.0; an Application's range is replaced by what it is"),
            "repoUrl": text(
                "Where it is: https:// an HTTP repository, oci:// a registry, file:/// a folder of the control plane, "
                "configmap:// a ConfigMap of this namespace with the packed chart"
            ),
        },
        "A Helm chart",
        required=["name", "version", "repoUrl"],
    )


def _files(description: str) -> dict[str, Any]:
    return record(
        {
            "location": text("configmap://NAME of this namespace, or file:///FOLDER of the control plane", minLength=1),
            "path": text("The folder within it"),
        },
        description,
        required=["location"],
    )


_SOURCE = record(
    {
        "kustomization": _files("A kustomization, built as kubectl kustomize builds it"),
        "manifests": _files("Plain manifests, as they are"),
    },
    f"What the application is made of where it is no chart {_ADDED}",
    **{
        "x-kubernetes-validations": [
            {
                "rule": "has(self.kustomization) != has(self.manifests)",
                "message": "give exactly one of kustomization and manifests",
            }
        ]
    },
)

_REQUIREMENTS = record(
    {
        "regions": listed(
            "The regions it goes to; at least one",
            record(
                {"name": text("The region's name"), "replicas": number("In how many of its clusters; 1 where absent")}
            ),
        ),
        "capabilities": listed("What every chosen cluster must be capable of", text()),
    },
    "What clusters must be like",
    required=["regions"],
)


def _pair(what: str, **rules: object) -> dict[str, Any]:
    return record(
        {
            "incumbent": number(f"{what} of the release that is being replaced", **rules),
            "contender": number(f"{what} of the release that is being rolled out", **rules),
        },
        f"{what} of either release",
        required=["incumbent", "contender"],
    )


_CHECK = record(
    {
        "name": text("Its name in messages"),
        "http": record({"url": text("The address that is asked", minLength=1)}, "Ask by HTTP", required=["url"]),
        "prometheus": record(
            {"address": text("Where the Prometheus is", minLength=1), "query": text("What it is asked", minLength=1)},
            "Ask a Prometheus",
            required=["address", "query"],
        ),
        "success": text("When an answer is good: CEL over result, or over status, body and json of an HTTP answer"),
        "failure": text("When an answer is bad, in the same words; one that is neither is inconclusive"),
        "interval": _duration("How long between two questions; 30s where absent"),
        "count": number("How often it is asked; once where absent", minimum=1),
        "failureLimit": number("How many bad answers are put up with; none where absent", minimum=0),
        "inconclusiveLimit": number("How many inconclusive answers are put up with; none where absent", minimum=0),
    },
    "One question",
    required=["name"],
    **{
        "x-kubernetes-validations": [
            {"rule": "has(self.http) != has(self.prometheus)", "message": "give either http or prometheus"}
        ]
    },
)

_STEP = record(
    {
        "name": text("Its name in status and messages"),
        "capacity": _pair("The percent of its full size", minimum=0, maximum=100),
        "traffic": _pair("The weight in traffic", minimum=0),
        "pause": record(
            {"duration": _duration("For how long")},
            f"The step ends by itself so long after it was achieved; without it a person ends it {_ADDED}",
            required=["duration"],
        ),
        "checks": listed(f"What is asked while the step lasts, before the next may begin {_ADDED}", _CHECK),
    },
    required=["name", "capacity", "traffic"],
)

_SELECTOR = record(
    {
        "matchLabels": {"type": "object", "additionalProperties": text(), "description": "Labels and their values"},
        "matchExpressions": listed(
            "Conditions on labels",
            record(
                {
                    "key": text("The label"),
                    "operator": text("How it is compared", enum=["In", "NotIn", "Exists", "DoesNotExist"]),
                    "values": listed("With what", text()),
                },
                required=["key", "operator"],
            ),
        ),
    },
    "Those with these labels",
)

_WAVE = record(
    {
        "name": text("Its name in status and messages"),
        "clusters": listed("Those with these names", text()),
        "regions": listed("Those of these regions", text()),
        "selector": _SELECTOR,
        "pause": _duration("How long it must have been well before the next wave begins"),
    },
    required=["name"],
)

_STRATEGY = record(
    {
        "steps": listed("The steps, in order; after each but the last the rollout waits", _STEP),
        "waves": listed(
            "Groups of clusters that take every step one after the other; what says nothing is the rest. "
            f"Without waves all clusters move together {_ADDED}",
            _WAVE,
        ),
        "deadline": record(
            {
                "duration": _duration("How long a step may take"),
                "then": text("What is done then; Pause where absent", enum=_REMEDIES),
            },
            f"How long a step may take until it is achieved {_ADDED}",
            required=["duration"],
        ),
        "onFailure": text(f"What is done when a check fails; Pause where absent {_ADDED}", enum=_REMEDIES),
        "trafficBy": text(
            "How clients are led to a release: by a label on its pods, or by the weights of DNS and of the global "
            f"balancer; Pods where absent {_ADDED}",
            enum=["Pods", "Weights"],
        ),
    },
    "How it is rolled out",
    required=["steps"],
)


def environment(description: str) -> dict[str, Any]:
    """Return the schema of an environment.

    A chart needs `values`, as in Shipper; what is no chart has none.
    """
    return record(
        {
            "chart": chart(),
            "source": _SOURCE,
            "values": {**ANYTHING, "description": "The chart's values"},
            "clusterRequirements": _REQUIREMENTS,
            "strategy": _STRATEGY,
        },
        description,
        required=["clusterRequirements", "strategy"],
        **{
            "x-kubernetes-validations": [
                {
                    "rule": "has(self.chart) != has(self.source)",
                    "message": "give either chart or source, and not both",
                },
                {
                    "rule": "!has(self.chart) || has(self.values)",
                    "message": "a chart needs values; write {} for none",
                    "fieldPath": ".values",
                    "reason": "FieldValueRequired",
                },
            ]
        },
    )
