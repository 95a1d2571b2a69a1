"""Mutating and validating webhooks: who is called, in which order, and what their answers do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import orjson

from hanse.apiserver import status
from hanse.apiserver.admission.attributes import Attributes, in_version
from hanse.apiserver.admission.conditions import Activation, conditions_hold
from hanse.apiserver.admission.matching import match_webhook
from hanse.apiserver.admission.reinvocation import Reinvocation
from hanse.apiserver.admission.reviews import BadReview, Verdict, read_verdict, review_of
from hanse.apiserver.cel.admission_expressions import Scope
from hanse.apiserver.core import Call
from hanse.apiserver.webhook_client import CallFailed, Target
from hanse.kube.cel.rule import EvaluationError
from hanse.kube.errors import ApiError
from hanse.kube.log import Log
from hanse.kube.manifest import Obj, dig
from hanse.kube.patches.json_patch import JsonPatchError, apply_json_patch
from hanse.kube.resources import SERVICES

_log = Log(__name__)

Complete = Callable[[Obj], Obj]
_QUIET = ("None", "NoneOnDryRun")


class CallingFailed(Exception):
    """A webhook that could not be asked or did not answer properly; its failurePolicy decides what follows."""


@dataclass(frozen=True, slots=True)
class _Hook:
    """A webhook with the configuration that it stands in."""

    configuration: str
    webhook: Obj

    @property
    def name(self) -> str:
        return str(self.webhook["name"])

    @property
    def fails_open(self) -> bool:
        return self.webhook.get("failurePolicy") == "Ignore"


def _hooks(call: Call, plural: str) -> list[_Hook]:
    found = call.core.hooks.configurations(call.core.storage, call.core.hub, plural)
    return [_Hook(one["metadata"]["name"], hook) for one in found for hook in one.get("webhooks") or ()]


async def mutate_by_webhooks(
    call: Call, attributes: Attributes, complete: Complete, rounds: Reinvocation
) -> Attributes:
    """Let the mutating webhooks change an object one after the other; raises what refuses it."""
    rounds.begin(attributes.object)
    for place, hook in enumerate(_hooks(call, "mutatingwebhookconfigurations")):
        matched = _wants(call, hook, attributes)
        if matched is None or not rounds.calls(place):
            continue
        before = attributes.object
        try:
            verdict = await _call(call, hook, matched, attributes, mutating=True)
            if verdict.patch:
                patched = _patched(hook, matched, verdict)
                back = in_version(call.core, patched, matched.served, attributes.served)
                attributes = replace(attributes, object=complete(back or {}))
        except CallingFailed as error:
            _failed(hook, error)
        rounds.called(place, changed=attributes.object != before, again=_again(hook))
    rounds.end(attributes.object)
    return attributes


async def validate_by_webhooks(call: Call, attributes: Attributes) -> None:
    """Ask all validating webhooks at once; raises the first refusal in their order."""
    wanted = [(hook, _wants(call, hook, attributes)) for hook in _hooks(call, "validatingwebhookconfigurations")]
    asked = [_refusal(call, hook, matched, attributes) for hook, matched in wanted if matched is not None]
    for refusal in await asyncio.gather(*asked):
        if refusal is not None:
            raise refusal


async def _refusal(call: Call, hook: _Hook, matched: Attributes, asked: Attributes) -> ApiError | None:
    try:
        await _call(call, hook, matched, asked, mutating=False)
    except CallingFailed as error:
        try:
            _failed(hook, error)
        except ApiError as refusal:
            return refusal
    except ApiError as refusal:
        return refusal
    return None


def _again(hook: _Hook) -> bool:
    return hook.webhook.get("reinvocationPolicy") == "IfNeeded"


def _failed(hook: _Hook, error: CallingFailed) -> None:
    if not hook.fails_open:
        raise status.internal(str(error)) from None
    _log.warning("A webhook failed and was passed over", webhook=hook.name, error=str(error))


def _wants(call: Call, hook: _Hook, attributes: Attributes) -> Attributes | None:
    matched = match_webhook(call.core, hook.webhook, attributes)
    conditions: list[Obj] = hook.webhook.get("matchConditions") or []
    if matched is None or not conditions:
        return matched
    activation = Activation(call.core, matched, attributes, None)
    try:
        return matched if conditions_hold(conditions, activation, Scope()) else None
    except EvaluationError as error:
        if hook.fails_open:
            return None
        raise status.forbidden(attributes.served.resource, attributes.name, str(error)) from None


async def _call(call: Call, hook: _Hook, matched: Attributes, asked: Attributes, *, mutating: bool) -> Verdict:
    webhook = hook.webhook
    if matched.dry_run and webhook.get("sideEffects") not in _QUIET:
        raise status.bad_request(f'admission webhook "{hook.name}" does not support dry run')
    failed = f'failed calling webhook "{hook.name}"'
    if "v1" not in (webhook.get("admissionReviewVersions") or ()):
        told = "webhook does not accept known AdmissionReview versions (v1)"
        raise CallingFailed(f"{failed}: could not create admission objects: {told}")
    uid = call.core.runtime.uid()
    body = review_of(matched, asked, uid)
    try:
        seconds = float(webhook.get("timeoutSeconds") or 10)
        target = _target(call, webhook["clientConfig"], seconds)
        answer = await call.core.hooks.client.post(target, body, seconds)
    except CallFailed as error:
        raise CallingFailed(f"{failed}: failed to call webhook: {error}") from None
    try:
        verdict = read_verdict(answer, uid, mutating=mutating)
    except BadReview as error:
        raise CallingFailed(f"{failed}: received invalid webhook response: {error}") from None
    call.warnings += [one for one in verdict.warnings if one not in call.warnings]
    if not verdict.allowed:
        raise _denied(hook.name, verdict.status)
    return verdict


def _target(call: Call, config: Obj, seconds: float) -> Target:
    bundle = str(config.get("caBundle") or "")
    service = config.get("service")
    if not service:
        return Target(str(config.get("url") or ""), bundle)
    namespace, name, port = service["namespace"], service["name"], int(service.get("port") or 443)
    server_name = f"{name}.{namespace}.svc"
    path = str(service.get("path") or "/")
    url = f"https://{server_name}:{port}{path}"
    address = _service_address(call, namespace, name, port)
    if isinstance(address, CallFailed):
        raise CallFailed(f'Post "{url}?timeout={seconds:g}s": {address}')
    return Target(url, bundle, address, server_name)


def _service_address(call: Call, namespace: str, name: str, port: int) -> str | CallFailed:
    resolver = call.core.hooks.resolver
    found = resolver(namespace, name, port) if resolver is not None else None
    if found:
        return found
    served = call.core.registry.find("", "v1", SERVICES.plural)
    service = call.core.read(served, namespace, name) if served else None
    if service is None:
        return CallFailed(f'service "{name}" not found')
    if all(one.get("port") != port for one in dig(service, "spec", "ports", default=[]) or []):
        return CallFailed(f'no service port {port} found for service "{name}"')
    ingress = dig(service, "status", "loadBalancer", "ingress", default=[]) or [{}]
    host = ingress[0].get("ip") or ingress[0].get("hostname")
    return f"{host}:{port}" if host else CallFailed(f'no endpoints available for service "{name}"')


def _denied(name: str, given: Obj) -> ApiError:
    denied = f'admission webhook "{name}" denied the request'
    code = given.get("code")
    code = code if isinstance(code, int) and 400 <= code < 600 else 400
    reason, message = str(given.get("reason") or ""), str(given.get("message") or "")
    told = f"{denied}: {message or reason}" if message or reason else f"{denied} without explanation"
    details = given.get("details")
    return status.failure(code, reason, told, details if isinstance(details, dict) else None)


def _patched(hook: _Hook, attributes: Attributes, verdict: Verdict) -> Obj:
    failed = f'failed calling webhook "{hook.name}"'
    if verdict.patch_type != "JSONPatch":
        raise CallingFailed(f'{failed}: unsupported patch type "{verdict.patch_type}"')
    try:
        operations = orjson.loads(verdict.patch)
    except orjson.JSONDecodeError as error:
        raise CallingFailed(f"{failed}: received undecodable patch in webhook response: {error}") from None
    if not isinstance(operations, list):
        told = "json: cannot unmarshal object into Go value of type jsonpatch.Patch"
        raise CallingFailed(f"{failed}: received undecodable patch in webhook response: {told}")
    if not operations:
        return attributes.object or {}
    if attributes.object is None:
        told = "attempted to modify the object, which is not supported for this operation"
        raise status.internal(f'admission webhook "{hook.name}" {told}')
    try:
        patched = apply_json_patch(attributes.object, operations)
    except JsonPatchError as error:
        raise status.internal(str(error)) from None
    if not isinstance(patched, dict):
        raise status.internal(f'admission webhook "{hook.name}" did not leave an object')
    return patched
