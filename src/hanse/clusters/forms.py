"""What other systems' cluster objects ask for, as a Cluster, and what their status says of it: pure.

Each form names the same things: where the API server is, where credentials are, and labels. What a form cannot be
taken for is a FormError with the field in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from hanse.api.cluster_forms import CLUSTER_TARGETS, FEDERATION_CLUSTERS, KUBEFED_CLUSTERS, SHIPPER_CLUSTERS, TARGETS
from hanse.api.cluster_kind import CLUSTER_NAME_LENGTH, CLUSTER_NAME_PATTERN
from hanse.api.clusters import (
    CAPABILITIES_ANNOTATION,
    CREDENTIALS_CONTEXT_ANNOTATION,
    CREDENTIALS_KEY_ANNOTATION,
    EVERYONE,
    INSECURE_ANNOTATION,
    PROXY_ANNOTATION,
    ROLLOUT_IDENTITY_ANNOTATION,
    ROLLOUT_WEIGHT_ANNOTATION,
    with_scheme,
)
from hanse.api.names import REGION_LABEL, SYSTEM_NAMESPACE
from hanse.clusters.health import Symptom
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Key, Obj, dig, labels_of, name_of, namespace_of
from hanse.kube.resources import Resource

_SHIPPER_NAMESPACE = "shipper-system"
_ADMIRALTY_KEY = "config"
_MALFORMED = "ConfigMalformed"


class FormError(ValueError):
    """A form that no Cluster can be made of, said in one sentence."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The Cluster that a form asks for."""

    name: str
    addresses: tuple[tuple[str, str], ...]
    secret: Key
    ca_bundle: str = ""
    unschedulable: bool = False
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)

    def spec(self) -> Obj:
        """Return the part of a Cluster's spec that a form can say."""
        endpoints: Obj = {
            "serverEndpoints": [{"clientCIDR": cidr, "serverAddress": server} for cidr, server in self.addresses]
        }
        if self.ca_bundle:
            endpoints["caBundle"] = self.ca_bundle
        spec: Obj = {
            "kubernetesApiEndpoints": endpoints,
            "authInfo": {
                "controller": {"kind": "Secret", "name": self.secret.name, "namespace": self.secret.namespace}
            },
        }
        if self.unschedulable:
            spec["unschedulable"] = True
        return spec


@dataclass(frozen=True, slots=True)
class Form:
    """One other system's kind of cluster; `status` says what its status should be, None where it has none."""

    resource: Resource
    read: Callable[[Obj], Wanted | None]
    status: Callable[[Obj, Obj], Obj | None]


def _from_kubefed(form: Obj) -> Wanted:
    spec = form.get("spec") or {}
    annotations = {}
    disabled = spec.get("disabledTLSValidations") or []
    if disabled == ["*"]:
        annotations[INSECURE_ANNOTATION] = "true"
    elif disabled:
        raise FormError(
            f"spec.disabledTLSValidations: {', '.join(disabled)} cannot be left out alone; give a caBundle, or '*'"
        )
    if proxy := spec.get("proxyURL"):
        annotations[PROXY_ANNOTATION] = proxy
    return Wanted(
        name=name_of(form),
        addresses=((EVERYONE, with_scheme(_required(form, "apiEndpoint"))),),
        secret=Key(namespace_of(form), _required(form, "secretRef", "name")),
        ca_bundle="" if annotations.get(INSECURE_ANNOTATION) else spec.get("caBundle") or "",
        labels=labels_of(form),
        annotations=annotations,
    )


def _kubefed_status(_form: Obj, cluster: Obj) -> Obj:
    status = cluster.get("status") or {}
    told: Obj = {"conditions": _with_malformed(status.get("conditions") or [])}
    for theirs, ours in (("kubernetesVersion", "version"), ("zones", "zones"), ("region", "region")):
        if status.get(ours):
            told[theirs] = status[ours]
    return told


def _with_malformed(conditions: list[Obj]) -> list[Obj]:
    """Return KubeFed's conditions: of a cluster that nobody can sign in to it is not known whether it is offline."""
    joined = find_condition(conditions, "Joined") or {}
    if joined.get("status") != "False" or joined.get("reason") != Symptom.UNUSABLE.value:
        return _probed(conditions)
    known = [entry for entry in conditions if entry.get("type") == "Ready"]
    return _probed([*known, {**joined, "type": _MALFORMED, "status": "True"}])


def _from_shipper(form: Obj) -> Wanted:
    return Wanted(
        name=name_of(form),
        addresses=((EVERYONE, with_scheme(_required(form, "apiMaster"))),),
        secret=Key(_SHIPPER_NAMESPACE, name_of(form)),
        unschedulable=bool(dig(form, "spec", "scheduler", "unschedulable", default=False)),
        labels={**labels_of(form), REGION_LABEL: _required(form, "region")},
        annotations=_shipper_annotations(form),
    )


def _shipper_annotations(form: Obj) -> dict[str, str]:
    said = {
        CAPABILITIES_ANNOTATION: ",".join(dig(form, "spec", "capabilities", default=())),
        ROLLOUT_WEIGHT_ANNOTATION: str(dig(form, "spec", "scheduler", "weight", default="")),
        ROLLOUT_IDENTITY_ANNOTATION: str(dig(form, "spec", "scheduler", "identity", default="")),
    }
    return {name: value for name, value in said.items() if value}


def _shipper_status(_form: Obj, cluster: Obj) -> Obj:
    ready = find_condition(dig(cluster, "status", "conditions"), "Ready") or {}
    return {"inService": ready.get("status") == "True"}


def _from_target(form: Obj) -> Wanted | None:
    if dig(form, "spec", "self", default=False):
        # The federation's own cluster is joined under a name of its own, or not at all.
        return None
    secret = dig(form, "spec", "kubeconfigSecret", default={})
    annotations = {CREDENTIALS_KEY_ANNOTATION: secret.get("key") or _ADMIRALTY_KEY}
    if context := secret.get("context"):
        annotations[CREDENTIALS_CONTEXT_ANNOTATION] = context
    namespace = namespace_of(form) or secret.get("namespace") or SYSTEM_NAMESPACE
    return Wanted(
        name=name_of(form),
        addresses=(),
        secret=Key(namespace, _required(form, "kubeconfigSecret", "name")),
        labels=labels_of(form),
        annotations=annotations,
    )


def _from_federation(form: Obj) -> Wanted:
    entries = dig(form, "spec", "serverAddressByClientCIDRs", default=[])
    if not entries:
        raise FormError("spec.serverAddressByClientCIDRs: must have at least one entry")
    return Wanted(
        name=name_of(form),
        addresses=tuple((each.get("clientCIDR") or EVERYONE, with_scheme(each["serverAddress"])) for each in entries),
        secret=Key(SYSTEM_NAMESPACE, _required(form, "secretRef", "name")),
        labels=labels_of(form),
    )


def _federation_status(_form: Obj, cluster: Obj) -> Obj:
    status = cluster.get("status") or {}
    told: Obj = {"conditions": _probed(status.get("conditions") or []), "zones": status.get("zones") or []}
    return told | ({"region": status["region"]} if status.get("region") else {})


FORMS: tuple[Form, ...] = (
    Form(KUBEFED_CLUSTERS, _from_kubefed, _kubefed_status),
    Form(SHIPPER_CLUSTERS, _from_shipper, _shipper_status),
    Form(TARGETS, _from_target, lambda _form, _cluster: None),
    Form(CLUSTER_TARGETS, _from_target, lambda _form, _cluster: None),
    Form(FEDERATION_CLUSTERS, _from_federation, _federation_status),
)


def read_form(form: Form, obj: Obj) -> Wanted | None:
    """Return the Cluster that an object asks for, None where it asks for none; raises FormError."""
    wanted = form.read(obj)
    if wanted is not None and (
        not re.fullmatch(CLUSTER_NAME_PATTERN, wanted.name) or len(wanted.name) > CLUSTER_NAME_LENGTH
    ):
        raise FormError(
            f"metadata.name: {wanted.name!r} is not a cluster name; "
            f"use up to {CLUSTER_NAME_LENGTH} lower-case letters, digits and -"
        )
    return wanted


def _probed(conditions: list[Obj]) -> list[Obj]:
    """Return the conditions that older systems know; the time of a probe is that of its last news."""
    return [
        {**entry, "lastProbeTime": entry["lastTransitionTime"]}
        for entry in conditions
        if entry.get("type") in ("Ready", "Offline", _MALFORMED) and "lastTransitionTime" in entry
    ]


def _required(form: Obj, *path: str) -> str:
    value = dig(form, "spec", *path)
    if not value:
        raise FormError(f"spec.{'.'.join(path)}: must be given")
    return str(value)
