"""The subresource `token` of service accounts: a signed token for an audience and a time, bound to an object."""

from __future__ import annotations

from dataclasses import replace

from hanse.apiserver import admission, status
from hanse.apiserver.answers import Answer, answer_plain
from hanse.apiserver.core import Call
from hanse.apiserver.service_accounts import AUDIENCES, claims_for
from hanse.apiserver.verbs.bodies import read_part
from hanse.kube.manifest import Obj, dig
from hanse.kube.patches.server_side_apply import track_update
from hanse.kube.resources import Resource
from hanse.kube.runtime import timestamp
from hanse.kube.schemas import schema_for

_GROUP, _KIND = "authentication.k8s.io", "TokenRequest"
_DEFAULT_SECONDS, _SHORTEST_SECONDS, _LONGEST_SECONDS = 3600, 600, 1 << 32
_BOUND_KINDS = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}


async def token_request(call: Call) -> Answer:
    """Issue a bearer token for a service account."""
    wanted = read_part(call, _GROUP, "v1", _KIND)
    _check_place(call, wanted)
    account = call.core.read(call.served, call.namespace, call.path.name)
    if account is None:
        raise status.not_found(call.served.resource, call.path.name)
    _check_uid(wanted, account)
    spec: Obj = dict(wanted.get("spec") or {})
    spec["audiences"] = spec.get("audiences") or list(AUDIENCES)
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = _DEFAULT_SECONDS
    spec.setdefault("boundObjectRef", None)
    request: Obj = {"kind": _KIND, "apiVersion": f"{_GROUP}/v1", "metadata": _metadata(call, wanted, account)}
    unissued = {"token": "", "expirationTimestamp": None}
    spec = (await admission.admit_part(call, {**request, "spec": spec, "status": unissued}))["spec"]
    _check_expiration(spec["expirationSeconds"])
    bound = _bound(call, spec["boundObjectRef"])
    now, seconds = call.core.runtime.now(), int(spec["expirationSeconds"])
    claims = claims_for(
        account,
        bound,
        audiences=spec["audiences"],
        now=now,
        seconds=seconds,
        token_id=call.core.runtime.uid(),
    )
    told = {"token": call.core.signer.sign(claims), "expirationTimestamp": timestamp(now + seconds)}
    return answer_plain(call, {**request, "spec": spec, "status": told}, 201)


def _check_place(call: Call, wanted: Obj) -> None:
    for field, here in (("name", call.path.name), ("namespace", call.namespace)):
        named = dig(wanted, "metadata", field)
        if named and named != here:
            told = f"must match the service account {field} if specified"
            problem = status.invalid_value(f"metadata.{field}", named, told)
            raise status.invalid(_GROUP, _KIND, call.path.name, [problem])


def _check_uid(wanted: Obj, account: Obj) -> None:
    uid, held = dig(wanted, "metadata", "uid"), account["metadata"]["uid"]
    if uid and uid != held:
        told = f"the UID in the token request ({uid}) does not match the UID of the service account ({held})"
        raise status.conflict(Resource(_GROUP, "v1", _KIND, _KIND), account["metadata"]["name"], told)


def _check_expiration(seconds: int) -> None:
    told = ""
    if seconds < _SHORTEST_SECONDS:
        told = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST_SECONDS:
        told = "may not specify a duration larger than 2^32 seconds"
    if told:
        raise status.invalid(_GROUP, _KIND, "", [status.invalid_value("spec.expirationSeconds", seconds, told)])


def _bound(call: Call, reference: Obj | None) -> dict[str, Obj]:
    """Return the objects that a token is bound to, by the names that they have in its claims."""
    if reference is None:
        return {}
    kind, name = str(reference.get("kind", "")), str(reference.get("name", ""))
    group, _, version = str(reference.get("apiVersion", "")).rpartition("/")
    served = call.core.registry.find("", "v1", _BOUND_KINDS.get(kind, ""))
    if group or served is None:
        raise status.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    obj = call.core.read(served, call.namespace if served.resource.namespaced else "", name)
    if obj is None:
        raise status.not_found(served.resource, name)
    if kind == "Pod" and dig(obj, "spec", "serviceAccountName") != call.path.name:
        told = f'cannot bind token for serviceaccount "{call.path.name}" to pod running with different serviceaccount'
        raise status.bad_request(f"{told} name.")
    uid = reference.get("uid")
    if uid and uid != obj["metadata"]["uid"]:
        told = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise status.conflict(replace(served.resource, plural=kind), name, told)
    bound = {kind.lower(): obj}
    if kind == "Pod" and dig(obj, "spec", "nodeName"):
        bound["node"] = _node(call, obj["spec"]["nodeName"])
    return bound


def _node(call: Call, name: str) -> Obj:
    served = call.core.registry.find("", "v1", "nodes")
    found = call.core.read(served, "", name) if served else None
    return found or {"metadata": {"name": name}}


def _metadata(call: Call, wanted: Obj, account: Obj) -> Obj:
    now = timestamp(call.core.runtime.now())
    spec = {"expirationSeconds": _DEFAULT_SECONDS, **(wanted.get("spec") or {})}
    sent: Obj = {"kind": _KIND, "apiVersion": f"{_GROUP}/v1", "metadata": {}, "spec": spec}
    tracked = track_update(
        None, sent, manager=call.manager, schema=schema_for(_GROUP, "v1", _KIND), now=now, subresource="token"
    )
    held = account["metadata"]
    own = {"name": held["name"], "namespace": held["namespace"], "uid": held["uid"], "creationTimestamp": now}
    return {**own, **{name: value for name, value in tracked["metadata"].items() if name == "managedFields"}}
