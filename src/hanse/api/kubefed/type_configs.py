"""FederatedTypeConfig: that a kind is federated, under which name, and whether its status is collected.

`core.kubefed.io` and `core.kubefed.k8s.io` name a target and a federated type. `core.federation.k8s.io` did so at last,
and named a template, a placement and an override before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column
from hanse.api.kubefed.forms import FORM_A, FORM_D, FORM_D0, Form, form_of, template_resource
from hanse.api.kubefed.serving import AGE, kubefed_definition
from hanse.kube.manifest import Obj, name_of
from hanse.kube.resources import Resource

_ENABLED = ("Enabled", "Disabled")
_LABEL = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
_SUBDOMAIN = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$"


def type_config_resource(form: Form) -> Resource:
    """Return the kind of the objects that have kinds federated in a form."""
    short = ("ftc",) if form.name == FORM_D.name else ()
    return Resource(
        form.core_group, form.core_version, "federatedtypeconfigs", "FederatedTypeConfig", short_names=short
    )


TYPE_CONFIGS = type_config_resource(FORM_D)


@dataclass(frozen=True, slots=True)
class FederatedType:
    """A kind that is federated, and the kind that holds its templates."""

    target: Resource
    federated: Resource
    propagates: bool = True
    collects_status: bool = False

    @property
    def form(self) -> Form | None:
        """The form in which its objects are written; None where people chose a group of their own."""
        return form_of(self.federated.group)


def plural_of(kind: str) -> str:
    """Return the plural that KubeFed takes a kind to have where nobody says it."""
    word = kind.lower()
    if word.endswith(("s", "x", "z", "o", "ch", "sh")):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def parse_type_config(obj: Obj) -> FederatedType:
    """Read a FederatedTypeConfig of any form; what it leaves out follows from its name and its kinds."""
    spec: Obj = obj["spec"]
    if "targetType" not in spec:
        return _parse_former(obj)
    target = _kind(spec["targetType"], name_of(obj), namespaced=spec["targetType"].get("scope") != "Cluster")
    named: Obj = spec.get("federatedType") or {}
    return FederatedType(
        target=target,
        federated=_federated(named, target, FORM_D),
        propagates=spec.get("propagation") == "Enabled",
        collects_status=spec.get("statusCollection") == "Enabled",
    )


def _parse_former(obj: Obj) -> FederatedType:
    spec: Obj = obj["spec"]
    target = _kind(spec.get("target") or {}, name_of(obj), namespaced=spec.get("namespaced") is not False)
    return FederatedType(
        target=target,
        federated=_federated(spec.get("federatedType") or spec.get("template") or {}, target, FORM_A),
        propagates=spec.get("propagationEnabled") is True,
        collects_status=spec.get("enableStatus") is True,
    )


def _kind(named: Obj, name: str, *, namespaced: bool) -> Resource:
    plural, _, group = name.partition(".")
    return Resource(
        named.get("group") or group,
        named.get("version") or "",
        named.get("pluralName") or plural,
        named.get("kind") or "",
        namespaced=namespaced,
    )


def _federated(named: Obj, target: Resource, form: Form) -> Resource:
    expected = template_resource(form, target)
    kind = named.get("kind") or expected.kind
    return Resource(
        named.get("group", expected.group),
        named.get("version") or expected.version,
        named.get("pluralName") or plural_of(kind),
        kind,
        namespaced=named.get("scope", "Namespaced" if expected.namespaced else "Cluster") == "Namespaced",
    )


def type_config_manifest(target: Resource, form: Form, namespace: str) -> Obj:
    """Return the object that has a kind federated in a form."""
    federated = template_resource(form, target)
    return {
        "apiVersion": TYPE_CONFIGS.api_version,
        "kind": TYPE_CONFIGS.kind,
        "metadata": {"name": target.group_resource, "namespace": namespace},
        "spec": {
            "targetType": _named(target),
            "federatedType": _named(federated),
            "propagation": "Enabled",
        },
    }


def _named(resource: Resource) -> Obj:
    named = {"group": resource.group} if resource.group else {}
    return named | {
        "version": resource.version,
        "kind": resource.kind,
        "pluralName": resource.plural,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
    }


def _api_resource(*, dotted: bool = False, required: tuple[str, ...] = ("version", "kind")) -> Obj:
    group = text(maxLength=253, pattern=_SUBDOMAIN)
    if dotted:
        group["x-kubernetes-validations"] = [
            {"rule": "self.contains('.')", "message": "must be a domain with a dot in it, e.g. types.kubefed.io"}
        ]
    return record(
        {
            "group": group,
            "version": text(maxLength=63, pattern=_LABEL),
            "kind": text(maxLength=63, pattern="^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$"),
            "pluralName": text(maxLength=63, pattern=_LABEL),
            "scope": text(enum=["Cluster", "Namespaced"]),
        },
        required=list(required),
    )


_CONTROLLER = text(enum=["Running", "NotRunning"])
_STATUS = record(
    {
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        "propagationController": _CONTROLLER,
        "statusController": _CONTROLLER,
    }
)
_SPEC = record(
    {
        "targetType": _api_resource(required=("version", "kind", "scope")),
        "federatedType": _api_resource(dotted=True, required=("group", "version", "kind")),
        "propagation": text(enum=list(_ENABLED)),
        "statusType": _api_resource(dotted=True, required=("kind",)),
        "statusCollection": text(enum=list(_ENABLED)),
    },
    required=["targetType", "federatedType", "propagation"],
)
_FORMER_SPEC = record(
    {
        **{name: _api_resource(required=("kind",)) for name in ("target", "template", "placement", "override")},
        "federatedType": _api_resource(dotted=True, required=("kind",)),
        "status": _api_resource(required=("kind",)),
        "namespaced": {"type": "boolean"},
        "propagationEnabled": {"type": "boolean"},
        "enableStatus": {"type": "boolean"},
        "comparisonField": text(enum=["Generation", "ResourceVersion"]),
        "overridePath": {"type": "array", "items": text()},
        "overridePaths": {"type": "array", "items": record({"name": text(), "path": text()}, required=["path"])},
    },
    required=["target"],
)


def _name_rule(target: str) -> dict[str, Any]:
    """Return the rule that an object is called as its target is, whatever of that is left out."""
    group = f"(has({target}.group) && {target}.group != '' ? '.' + {target}.group : '')"
    return {
        "rule": f"has({target}.pluralName) ? self.metadata.name == {target}.pluralName + {group} : "
        f"self.metadata.name.endsWith({group})",
        "message": "metadata.name must be the target's plural and group with a dot between them, "
        "e.g. deployments.apps or services",
    }


def _definition(form: Form, spec: Obj, target: str) -> Obj:
    columns = [
        column("Kind", "string", f".{target}.kind"),
        column("Propagation", "string", ".spec.propagation"),
        column("Running", "string", ".status.propagationController"),
        AGE,
    ]
    return kubefed_definition(
        type_config_resource(form), {"spec": spec}, columns, status=_STATUS, rules=[_name_rule(f"self.{target}")]
    )


TYPE_CONFIG_CRDS: tuple[Obj, ...] = (
    _definition(FORM_D, _SPEC, "spec.targetType"),
    _definition(FORM_D0, _SPEC, "spec.targetType"),
    _definition(FORM_A, _FORMER_SPEC, "spec.target"),
)
