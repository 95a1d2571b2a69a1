"""CertificateSigningRequests: asked for by whoever sends them, approved by one, signed by another."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from cryptography import x509

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import FieldProblem, invalid_value, required_value
from hanse.kube.manifest import Obj, dig

if TYPE_CHECKING:
    from hanse.apiserver.identity import Identity

BUCKET = "certificates.k8s.io/certificatesigningrequests"
_SHORTEST_SECONDS = 600


def sign_for(identity: Identity, obj: Obj) -> None:
    """Note who asks; what they say of themselves is dropped."""
    spec = obj.setdefault("spec", {})
    for name in ("username", "uid", "groups", "extra"):
        spec.pop(name, None)
    extra = {name: list(values) for name, values in identity.extra.items()}
    told = {"username": identity.user, "uid": identity.uid, "groups": list(identity.all_groups()), "extra": extra}
    spec |= {name: value for name, value in told.items() if value}


def _validate(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj.get("spec") or {}
    if old is not None:
        return field_rules.unchanged(obj, old, "", "spec")
    problems = [*_request_problems(spec.get("request"))]
    signer = str(spec.get("signerName") or "")
    if not signer:
        problems.append(required_value("spec.signerName"))
    elif "/" not in signer or "." not in signer.partition("/")[0]:
        told = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        problems.append(invalid_value("spec.signerName", signer, told))
    if not spec.get("usages"):
        problems.append(required_value("spec.usages"))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST_SECONDS:
        told = f"may not specify a duration less than {_SHORTEST_SECONDS} seconds (10 minutes)"
        problems.append(invalid_value("spec.expirationSeconds", seconds, told))
    return problems


def _request_problems(request: object) -> list[FieldProblem]:
    try:
        x509.load_pem_x509_csr(base64.b64decode(str(request or ""), validate=True))
    except (ValueError, binascii.Error):
        return [invalid_value("spec.request", request, "PEM block type must be CERTIFICATE REQUEST")]
    return []


def _only_approval(new: Obj, old: Obj) -> None:
    """Let an approval change conditions, and of the metadata what a status may."""
    conditions = dig(new, "status", "conditions", default=None)
    new["spec"] = old["spec"]
    new["status"] = {**(old.get("status") or {}), **({"conditions": conditions} if conditions else {})}


REQUEST = Strategy(
    validate=_validate,
    new_status={},
    selectable={"spec.signerName": lambda obj: str(dig(obj, "spec", "signerName", default=""))},
    narrow={"approval": _only_approval},
)
