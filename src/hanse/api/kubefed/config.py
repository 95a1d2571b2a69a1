"""KubeFedConfig and its forerunner FederationConfig: how a federation behaves as a whole.

What a webhook filled in and checked for KubeFed, the kind's definition does here: defaults, durations that fit
together, known feature gates, a scope that stays what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column
from hanse.api.kubefed.forms import FORM_A, FORM_D, FORM_D0, Form
from hanse.api.kubefed.serving import AGE, kubefed_definition
from hanse.api.kubefed.template_schemas import ANYTHING
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import Resource

CONFIG_NAME = "kubefed"
# The gates of the last release with what they are by default, in order of name; and those that went before it.
_GATES = {"PushReconciler": True, "RawResourceStatusCollection": False, "SchedulerPreferences": True}
_FORMER_GATES = ("CrossClusterServiceDiscovery", "FederatedIngress")
_WORDS = {True: "Enabled", False: "Disabled"}


def config_resource(form: Form) -> Resource:
    """Return the kind of the configuration in a form."""
    kind = "FederationConfig" if form.core_version == "v1alpha1" else "KubeFedConfig"
    return Resource(form.core_group, form.core_version, f"{kind.lower()}s", kind)


CONFIGS = config_resource(FORM_D)


@dataclass(frozen=True, slots=True)
class FederationSettings:
    """What a configuration asks for, as far as it changes what becomes of federated objects."""

    namespaced: bool = False
    """Whether only the system namespace is federated, and a FederatedNamespace is not needed."""
    adopts: bool = True
    """Whether objects that members already have are taken over."""
    schedules: bool = True
    """Whether ReplicaSchedulingPreferences count."""
    collects_status: bool = False
    """Whether the status of members' objects may be copied to the federated object."""


def parse_config(obj: Obj) -> FederationSettings:
    """Read a configuration of any form; what it leaves out is as KubeFed had it by default."""
    spec: Obj = obj.get("spec") or {}
    gates = _GATES | {
        str(gate.get("name")): gate.get("configuration") == "Enabled" or gate.get("enabled") is True
        for gate in spec.get("featureGates") or spec.get("feature-gates") or ()
    }
    skips = dig(spec, "sync-controller", "skip-adopting-resources", default=False)
    return FederationSettings(
        namespaced=spec.get("scope") == "Namespaced",
        adopts=dig(spec, "syncController", "adoptResources", default="Enabled") == "Enabled" and not skips,
        schedules=gates["SchedulerPreferences"],
        collects_status=gates["RawResourceStatusCollection"],
    )


def _duration(default: str) -> Obj:
    schema = text(maxLength=32, pattern=r"^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$", default=default)
    schema["x-kubernetes-validations"] = [
        {"rule": "duration(self) > duration('0s')", "message": "must be longer than nothing, e.g. 10s"}
    ]
    return schema


def _positive(default: int) -> Obj:
    return {"type": "integer", "format": "int64", "minimum": 1, "default": default}


def _block(fields: Obj) -> Obj:
    # An empty default would do, were it not held to the rules before the defaults within are filled in.
    return record(fields, default={name: one["default"] for name, one in fields.items() if "default" in one})


_LEADER_RULES = [
    {
        "rule": "duration(self.leaseDuration) > duration(self.renewDeadline)",
        "message": "leaseDuration must be longer than renewDeadline",
    },
    {
        # Five deadlines against six periods: CEL multiplies no durations.
        "rule": " + ".join(["duration(self.renewDeadline)"] * 5)
        + " > "
        + " + ".join(["duration(self.retryPeriod)"] * 6),
        "message": "renewDeadline must be longer than 1.2 times retryPeriod",
    },
]

_GATE = record(
    {
        "name": text(enum=sorted([*_GATES, *_FORMER_GATES])),
        "configuration": text(enum=["Enabled", "Disabled"]),
    },
    required=["name", "configuration"],
)

_SCOPE = text(enum=["Cluster", "Namespaced"])
_SCOPE["x-kubernetes-validations"] = [
    {"rule": "self == oldSelf", "message": "must stay what it is; delete the configuration and make it anew"}
]

_SPEC = record(
    {
        "scope": _SCOPE,
        "controllerDuration": _block(
            {
                "availableDelay": _duration("20s"),
                "unavailableDelay": _duration("60s"),
                "cacheSyncTimeout": _duration("5m"),
                "clusterMonitorPeriod": text("Means nothing; the project's own example has it"),
            }
        ),
        "leaderElect": _block(
            {
                "leaseDuration": _duration("15s"),
                "renewDeadline": _duration("10s"),
                "retryPeriod": _duration("5s"),
                "resourceLock": text(enum=["configmaps", "endpoints"], default="configmaps"),
            }
        )
        | {"x-kubernetes-validations": _LEADER_RULES},
        "featureGates": {
            "type": "array",
            "items": _GATE,
            "default": [{"name": name, "configuration": _WORDS[on]} for name, on in _GATES.items()],
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "clusterHealthCheck": _block(
            {
                "period": _duration("10s"),
                "failureThreshold": _positive(3),
                "successThreshold": _positive(1),
                "timeout": _duration("3s"),
                "periodSeconds": {"type": "integer", "description": "As the first candidates for v0.1.0 spelt it"},
                "timeoutSeconds": {"type": "integer", "description": "As the first candidates for v0.1.0 spelt it"},
            }
        ),
        "syncController": _block(
            {
                "maxConcurrentReconciles": _positive(1),
                "adoptResources": text(enum=["Enabled", "Disabled"], default="Enabled"),
            }
        ),
        "statusController": _block({"maxConcurrentReconciles": _positive(1)}),
    },
    required=["scope"],
)
_FORMER_SPEC = record(
    {
        "scope": text(enum=["Cluster", "Namespaced"]),
        "sync-controller": record({"skip-adopting-resources": {"type": "boolean"}}),
        "feature-gates": {
            "type": "array",
            "items": record({"name": text(), "enabled": {"type": "boolean"}}, required=["name"]),
        },
    }
)
_FORMER_SPEC |= ANYTHING


def _definition(form: Form, spec: Obj) -> Obj:
    columns = [column("Scope", "string", ".spec.scope"), AGE]
    return kubefed_definition(config_resource(form), {"spec": spec}, columns)


CONFIG_CRDS: tuple[Obj, ...] = (
    _definition(FORM_D, _SPEC),
    _definition(FORM_D0, _SPEC),
    _definition(FORM_A, _FORMER_SPEC),
)
