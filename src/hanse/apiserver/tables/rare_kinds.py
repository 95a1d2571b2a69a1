"""Tables of kinds that few people look at: storage drivers, admission policies, addresses of services."""

from __future__ import annotations

from typing import Any

from hanse.apiserver.tables.columns import Column, Printer, columns, created, duration
from hanse.kube.manifest import Obj, dig, name_of

_UNSET = "<unset>"


def _driver(obj: Obj, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    tokens = [str(one.get("audience") or "") for one in spec.get("tokenRequests") or ()]
    return [
        name_of(obj),
        bool(spec.get("attachRequired", True)),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        ",".join(tokens) or _UNSET,
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or "<none>",
        created(obj, now),
    ]


def _driver_node(obj: Obj, now: float) -> list[Any]:
    return [name_of(obj), len(dig(obj, "spec", "drivers", default=None) or ()), created(obj, now)]


def _attachment(obj: Obj, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    return [
        name_of(obj),
        spec.get("attacher", ""),
        dig(spec, "source", "persistentVolumeName", default="") or "",
        spec.get("nodeName", ""),
        bool(dig(obj, "status", "attached")),
        created(obj, now),
    ]


def _attributes(obj: Obj, now: float) -> list[Any]:
    return [name_of(obj), obj.get("driverName", ""), created(obj, now)]


def _policy(listed: str) -> Any:
    def cells(obj: Obj, now: float) -> list[Any]:
        kind = dig(obj, "spec", "paramKind")
        shown = f"{kind.get('apiVersion')}/{kind.get('kind')}" if kind else _UNSET
        return [name_of(obj), len(dig(obj, "spec", listed, default=None) or ()), shown, created(obj, now)]

    return cells


def _policy_binding(obj: Obj, now: float) -> list[Any]:
    given = dig(obj, "spec", "paramRef")
    shown = _UNSET
    if given:
        place = f"{given['namespace']}/" if given.get("namespace") else ""
        shown = f"{place}{given.get('name') or '*'}"
    return [name_of(obj), dig(obj, "spec", "policyName", default=""), shown, created(obj, now)]


def _address(obj: Obj, now: float) -> list[Any]:
    """Return one cell more than there are columns, as upstream does."""
    parent = dig(obj, "spec", "parentRef", default={})
    path = [parent.get("resource") or "", parent.get("namespace") or "", parent.get("name") or ""]
    shown = "/".join(one for one in path if one)
    if parent.get("group"):
        shown = f"{path[0]}.{parent['group']}/" + "/".join(one for one in path[1:] if one)
    return [name_of(obj), shown, created(obj, now)]


def _networks(obj: Obj, now: float) -> list[Any]:
    return [name_of(obj), ",".join(dig(obj, "spec", "cidrs", default=None) or ()), created(obj, now)]


def _request(obj: Obj, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    kinds = [str(one.get("type")) for one in dig(obj, "status", "conditions", default=None) or ()]
    issued = ["Issued"] if dig(obj, "status", "certificate") else []
    told = [*(kind for kind in ("Denied", "Approved", "Failed") if kind in kinds), *issued]
    lasting = spec.get("expirationSeconds")
    return [
        name_of(obj),
        created(obj, now),
        spec.get("signerName") or "<none>",
        spec.get("username", ""),
        "<none>" if lasting is None else duration(lasting),
        ",".join(told) or "Pending",
    ]


def _runtime_class(obj: Obj, now: float) -> list[Any]:
    return [name_of(obj), obj.get("handler", ""), created(obj, now)]


_BOOLEANS = dict.fromkeys(
    ("attachrequired", "podinfoonmount", "storagecapacity", "requiresrepublish", "attached"), "boolean"
)
_ADMISSION = "admissionregistration.k8s.io"
_ATTACHMENT_COLUMNS = (
    Column("Name", format="name"),
    Column("Attacher", format="name"),
    *columns("PV|Node|Attached|Age", **_BOOLEANS),
)
_POLICY_BINDING = Printer(columns("Name|PolicyName|ParamRef|Age"), _policy_binding)

PRINTERS: dict[tuple[str, str], Printer] = {
    (_ADMISSION, "MutatingAdmissionPolicy"): Printer(
        columns("Name|Mutations|ParamKind|Age", mutations="integer"), _policy("mutations")
    ),
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): _POLICY_BINDING,
    (_ADMISSION, "ValidatingAdmissionPolicy"): Printer(
        columns("Name|Validations|ParamKind|Age", validations="integer"), _policy("validations")
    ),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): _POLICY_BINDING,
    ("certificates.k8s.io", "CertificateSigningRequest"): Printer(
        columns("Name|Age|SignerName|Requestor|RequestedDuration|Condition"), _request
    ),
    ("networking.k8s.io", "IPAddress"): Printer(columns("Name|ParentRef"), _address),
    ("networking.k8s.io", "ServiceCIDR"): Printer(columns("Name|CIDRs|Age"), _networks),
    ("node.k8s.io", "RuntimeClass"): Printer(columns("Name|Handler|Age"), _runtime_class),
    ("storage.k8s.io", "CSIDriver"): Printer(
        columns(
            "Name|AttachRequired|PodInfoOnMount|StorageCapacity|TokenRequests|RequiresRepublish|Modes|Age", **_BOOLEANS
        ),
        _driver,
    ),
    ("storage.k8s.io", "CSINode"): Printer(columns("Name|Drivers|Age", drivers="integer"), _driver_node),
    ("storage.k8s.io", "VolumeAttachment"): Printer(_ATTACHMENT_COLUMNS, _attachment),
    ("storage.k8s.io", "VolumeAttributesClass"): Printer(columns("Name|DriverName|Age"), _attributes),
}
