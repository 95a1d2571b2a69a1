"""patch in its four kinds: JSON, merge, strategic merge, and server-side apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import yaml

from hanse.apiserver import negotiation, objects, status
from hanse.apiserver.answers import Answer, answer_object
from hanse.apiserver.core import Call
from hanse.apiserver.verbs.bodies import check_name, checked_manifest, place
from hanse.apiserver.verbs.create import create_object
from hanse.apiserver.verbs.writing import change_object, reset_fields, stored_kind
from hanse.kube.errors import AlreadyExists
from hanse.kube.manifest import Obj
from hanse.kube.patches.json_patch import apply_json_patch
from hanse.kube.patches.merge_patch import apply_merge_patch
from hanse.kube.patches.server_side_apply import ApplyConflict, apply
from hanse.kube.patches.strategic_merge import apply_strategic_merge
from hanse.kube.resources import gvk
from hanse.kube.runtime import timestamp

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

_PATCH_REFUSED = "the server rejected our request due to an error in our request"

Patch = Callable[[Obj], Obj]


async def patch(call: Call) -> Answer:
    """Change an object as the body's kind of patch says."""
    content = patch_type(call)
    if content == APPLY_PATCH:
        return await _apply(call)
    changed = patch_function(call, content)

    def patched(live: Obj) -> Obj:
        obj = checked_manifest(call, changed(live))
        place(call, obj)
        check_name(call, obj)
        return obj

    return answer_object(call, await change_object(call, patched, subresource=call.path.subresource))


def patch_type(call: Call) -> str:
    """Return the kind of patch that the body is; raises 415 for others."""
    content = call.request.headers.get("content-type", "").split(";")[0].strip().lower()
    accepted = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH]
    if not call.served.custom:
        accepted.insert(2, STRATEGIC_PATCH)
    if content not in accepted:
        raise status.unsupported_media_type(accepted) if call.served.custom else status.unsupported_patch_type()
    if call.options.flag("force") and content != APPLY_PATCH:
        problem = status.forbidden_value("force", "may not be specified for non-apply patch")
        raise status.invalid("meta.k8s.io", "PatchOptions", "", [problem])
    return content


def patch_function(call: Call, content: str) -> Patch:
    """Return the function that a patch body of one of the three older kinds stands for."""
    document = _read_patch(call)
    if content == JSON_PATCH:
        if not isinstance(document, list):
            raise status.bad_request(
                "error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch"
            )
        return lambda live: _attempt(lambda: apply_json_patch(live, document))
    if not isinstance(document, dict):
        raise status.bad_request("error decoding patch: the patch must be a JSON object")
    if content == MERGE_PATCH:
        return lambda live: apply_merge_patch(live, document)
    schema = call.served.schema()
    return lambda live: _attempt(lambda: apply_strategic_merge(live, document, schema))


def _attempt(step: Callable[[], Obj]) -> Obj:
    try:
        return step()
    except ValueError:
        raise status.failure(422, "Invalid", _PATCH_REFUSED, {}) from None


def _read_patch(call: Call) -> Any:
    try:
        return negotiation.check_depth(call.request.body, orjson.loads(call.request.body))
    except orjson.JSONDecodeError as error:
        raise status.bad_request(f"error decoding patch: {error}") from None


async def _apply(call: Call) -> Answer:
    config = _read_configuration(call)
    if not call.options.text("fieldManager"):
        problem = status.required_value("fieldManager", "is required for apply patch")
        raise status.invalid("meta.k8s.io", "PatchOptions", "", [problem])
    while True:
        record = call.core.record(call.served, call.namespace, call.path.name)
        if record is not None:
            applied = await change_object(
                call,
                lambda live: _applied(call, live, config),
                subresource=call.path.subresource,
                tracked=False,
            )
            return answer_object(call, applied)
        if call.path.subresource:
            raise status.not_found(call.served.resource, call.path.name)
        if config["metadata"].get("uid"):
            told = "uid mismatch: the provided object specified uid " + str(config["metadata"]["uid"])
            raise status.conflict(call.served.resource, call.path.name, f"{told}, and no existing object was found")
        try:
            created = await create_object(call, _applied(call, None, config), tracked=False)
        except AlreadyExists:
            continue
        return answer_object(call, created, 201)


def _read_configuration(call: Call) -> Obj:
    try:
        body = negotiation.read_body(call.request.body, {"content-type": negotiation.YAML})
    except yaml.YAMLError as error:
        raise status.bad_request(f"error decoding YAML: {error}") from None
    if isinstance(body, dict):
        group, version, kind = gvk(body)
        resource = call.served.resource
        if (group, version, kind) != (resource.group, resource.version, resource.kind):
            raise status.bad_request(f"invalid object type: {group}/{version}, Kind={kind}")
    config = checked_manifest(call, body)
    # Only checked here: refusals of the configuration show the namespace that it names itself.
    place(call, {**config, "metadata": dict(config["metadata"])})
    check_name(call, config)
    if config["metadata"].get("managedFields"):
        raise status.bad_request("metadata.managedFields must be nil")
    return config


def _applied(call: Call, live: Obj | None, config: Obj) -> Obj:
    try:
        result = apply(
            live,
            objects.copy(config),
            manager=call.options.text("fieldManager"),
            force=call.options.flag("force"),
            schema=stored_kind(call).schema(),
            now=timestamp(call.core.runtime.now()),
            subresource=call.path.subresource,
            ignore=reset_fields(stored_kind(call), call.path.subresource),
        )
        place(call, result)
        return result
    except ValueError as error:
        # Upstream too fails here as if it were its own fault; controllers meet the same code on both.
        raise status.failure(500, "", str(error)) from None
    except ApplyConflict as refused:
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": path}
            for manager, path in refused.conflicts
        ]
        raise status.failure(409, "Conflict", str(refused), {"causes": causes}) from None
