"""From a request's body to a manifest that belongs at the request's path."""

from __future__ import annotations

from typing import Any

from hanse.apiserver import negotiation, status
from hanse.apiserver.core import Call
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import gvk
from hanse.kube.schemas import schema_for
from hanse.kube.schemas.decoding import decode_errors

_SHOWN = 30


def read_manifest(call: Call) -> Obj:
    """Decode the body and check that it is of the kind and in the namespace of the path."""
    body = negotiation.read_body(call.request.body, call.request.headers, call.served.resource.kind)
    _tell_duplicates(call, body)
    return checked_manifest(call, body)


def _tell_duplicates(call: Call, body: Any) -> None:
    wanted = call.options.text("fieldValidation") or "Warn"
    if wanted == "Ignore":
        return
    told = [f'duplicate field "{path}"' for path in negotiation.duplicate_keys(call.request.body, body)]
    if told and wanted == "Strict":
        resource = call.served.resource
        handled = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
        raise status.bad_request(f"{handled}: strict decoding error: {', '.join(told)}")
    call.warnings += told


def checked_manifest(call: Call, body: Any) -> Obj:
    """Check a decoded body against the path, and fill in what the path implies."""
    resource = call.served.resource
    if not isinstance(body, dict):
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            "couldn't get version/kind; json parse error: json: cannot unmarshal "
            f"{_go_kind(body)} into Go value of type struct "
            '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } '
            f"({call.request.body[:256].hex()})"
        )
    _check_kind(call, body)
    metadata = body.get("metadata")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        raise status.bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: json: cannot '
            f"unmarshal {_go_kind(metadata)} into Go struct field {resource.kind}.metadata of type v1.ObjectMeta"
        )
    obj: Obj = {"kind": resource.kind, "apiVersion": resource.api_version}
    obj.update(body)
    obj["metadata"] = {name: value for name, value in metadata.items() if value is not None}
    return obj


def read_part(call: Call, group: str, version: str, kind: str) -> Obj:
    """Read the body of a subresource that has a kind of its own (Binding, Eviction, Scale …), as its kind demands."""
    body = negotiation.read_body(call.request.body, call.request.headers, kind)
    if not isinstance(body, dict):
        raise status.bad_request(f"the {kind.lower()} is not an object")
    schema = schema_for(group, version, kind)
    refusal = decode_errors(schema, body).refusal if schema is not None else ""
    if refusal:
        raise status.bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {refusal}')
    return body


def place(call: Call, obj: Obj) -> None:
    """Give an object the path's namespace, or refuse one that names another."""
    metadata = obj["metadata"]
    if not call.served.resource.namespaced:
        if metadata.get("namespace"):
            metadata.pop("namespace")
        return
    named = metadata.get("namespace")
    if not named:
        metadata["namespace"] = call.namespace
    elif named != call.namespace:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_name(call: Call, obj: Obj) -> None:
    """Refuse an object whose name is not the path's."""
    metadata = obj["metadata"]
    named = metadata.get("name")
    if not named:
        metadata["name"] = call.path.name
    elif named != call.path.name:
        raise status.bad_request(
            f"the name of the object ({named}) does not match the name on the URL ({call.path.name})"
        )


def _check_kind(call: Call, body: Obj) -> None:
    resource = call.served.resource
    group, version, kind = gvk(body)
    if call.served.custom:
        _check_custom_kind(call, body)
        return
    group, version = (group, version) if version else (resource.group, resource.version)
    kind = kind or resource.kind
    if (group, version, kind) == (resource.group, resource.version, resource.kind):
        return
    handled = f'{kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
    named = f"{group}/{version}" if group else version
    if call.core.registry.find_kind(group, version, kind) is None:
        raise status.bad_request(
            f'{handled}no kind "{kind}" is registered for version "{named}" in scheme "pkg/runtime/scheme.go:111"'
        )
    if kind != resource.kind:
        raise status.bad_request(
            f"{handled}converting ({_go_type(group, version, kind)}) to "
            f"({_go_type(resource.group, '', resource.kind)}): unknown conversion"
        )
    raise status.bad_request(
        f"the API version in the data ({named}) does not match the expected API version ({resource.api_version})"
    )


def _check_custom_kind(call: Call, body: Obj) -> None:
    resource = call.served.resource
    kind, api_version = str(body.get("kind") or ""), str(body.get("apiVersion") or "")
    if not kind:
        text = call.request.body.decode(errors="replace")
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"Object 'Kind' is missing in '{text}' ({shown})"
        )
    if api_version != resource.api_version:
        raise status.bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    if kind != resource.kind:
        problem = status.invalid_value("kind", kind, f"must be {resource.kind}")
        raise status.invalid(resource.group, kind, str(dig(body, "metadata", "name", default="")), [problem])


def _go_type(group: str, version: str, kind: str) -> str:
    return f"{version or group.split('.', maxsplit=1)[0] or 'core'}.{kind}"


def _go_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
