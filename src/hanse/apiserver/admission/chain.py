"""The order of admission: policies before webhooks, mutation (twice where needed) before validation."""

from __future__ import annotations

from hanse.apiserver import objects
from hanse.apiserver.admission.attributes import Attributes, attributes_of, delete_options, part_attributes
from hanse.apiserver.admission.mutating_policies import mutate_by_policies
from hanse.apiserver.admission.reinvocation import Reinvocation, Rounds
from hanse.apiserver.admission.validating_policies import validate_by_policies
from hanse.apiserver.admission.webhooks import Complete, mutate_by_webhooks, validate_by_webhooks
from hanse.apiserver.core import Call
from hanse.kube.manifest import Obj, dig

_MUTATING = ("mutatingadmissionpolicies", "mutatingwebhookconfigurations")
_VALIDATING = ("validatingadmissionpolicies", "validatingwebhookconfigurations")
# What is sent to these is admitted itself, by `admit_part`; what it does to the object then is not asked about again.
_PARTS = ("binding", "eviction")


async def mutate(call: Call, obj: Obj, old: Obj | None, complete: Complete, *, subresource: str = "") -> Obj:
    """Return a submitted object, in the served version, as policies and webhooks change it; raises refusals.

    `complete` makes what a mutator gave whole again: it checks its form and fills in defaults.
    """
    if not _configured(call, _MUTATING) or subresource in _PARTS:
        return obj
    attributes = attributes_of(call, obj, old, subresource=subresource)
    if attributes.is_exempt:
        return obj
    if subresource == "scale":
        return _rescaled(call, obj, await _mutated(call, attributes, _unchanged))
    return (await _mutated(call, attributes, complete)).object or obj


def _rescaled(call: Call, obj: Obj, mutated: Attributes) -> Obj:
    from hanse.apiserver.verbs.scale import set_replicas

    replicas = dig(mutated.object or {}, "spec", "replicas", default=0)
    if replicas == dig(attributes_of(call, obj, obj, subresource="scale").object or {}, "spec", "replicas", default=0):
        return obj
    changed = objects.copy(obj)
    set_replicas(call, changed, replicas)
    return changed


async def validate(call: Call, obj: Obj, old: Obj | None, *, subresource: str = "") -> None:
    """Refuse a write, in the served version, that a policy or webhook denies."""
    if not _configured(call, _VALIDATING) or subresource in _PARTS:
        return
    attributes = attributes_of(call, obj, old, subresource=subresource)
    if not attributes.is_exempt:
        await _validated(call, attributes)


async def admit_part(call: Call, obj: Obj, operation: str = "CREATE") -> Obj:
    """Return what was sent to a subresource with a kind of its own, as policies and webhooks change it.

    Raises refusals. The operation is CREATE, or CONNECT for a connection to a pod or service.
    """
    if not _configured(call, _MUTATING + _VALIDATING):
        return obj
    attributes = await _mutated(call, part_attributes(call, obj, operation), _unchanged)
    await _validated(call, attributes)
    return attributes.object or obj


async def admit_deletion(call: Call, old: Obj) -> None:
    """Refuse a deletion that a policy or webhook denies; that an eviction leads to has been admitted with it."""
    subresource = call.path.subresource
    if not _configured(call, _MUTATING + _VALIDATING) or subresource in _PARTS:
        return
    attributes = attributes_of(call, None, old, subresource=subresource, options=delete_options(call))
    if attributes.is_exempt:
        return
    await _mutated(call, attributes, _unchanged)
    await _validated(call, attributes)


def _unchanged(obj: Obj) -> Obj:
    return obj


def _configured(call: Call, plurals: tuple[str, ...]) -> bool:
    core = call.core
    return any(core.hooks.configurations(core.storage, core.hub, plural) for plural in plurals)


async def _mutated(call: Call, attributes: Attributes, complete: Complete) -> Attributes:
    rounds = Rounds()
    policies, webhooks = Reinvocation(rounds), Reinvocation(rounds)
    attributes = mutate_by_policies(call, attributes, complete, policies)
    attributes = await mutate_by_webhooks(call, attributes, complete, webhooks)
    if rounds.wanted:
        rounds.second = True
        attributes = mutate_by_policies(call, attributes, complete, policies)
        attributes = await mutate_by_webhooks(call, attributes, complete, webhooks)
    return attributes


async def _validated(call: Call, attributes: Attributes) -> None:
    validate_by_policies(call, attributes)
    await validate_by_webhooks(call, attributes)
