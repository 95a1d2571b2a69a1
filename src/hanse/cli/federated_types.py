"""Finding kinds by what people type, and the federated types that a host has for them."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from hanse.api.kubefed.forms import FORM_A, FORM_D, FORM_D0, FORMS, default_targets, template_resource
from hanse.api.kubefed.hosting import known_schema
from hanse.api.kubefed.served_schemas import openapi_path, schema_from_definition, schema_from_openapi
from hanse.api.kubefed.type_configs import FederatedType, parse_type_config, type_config_resource
from hanse.cli.failures import Failure
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj
from hanse.kube.resources import CRDS, Resource
from hanse.kube.schemas import Schema

_CONFIGS = tuple(type_config_resource(form) for form in (FORM_D, FORM_D0, FORM_A))


def matching_kinds(word: str, resources: Iterable[Resource]) -> list[Resource]:
    """Return the kinds that a word may mean, one for each group; a core kind is meant before any other.

    A word is a plural, a singular, a kind or a short name in any case, with or without the group after a dot.
    """
    name, _, group = word.lower().partition(".")
    found: dict[str, Resource] = {}
    for resource in resources:
        names = {resource.plural, resource.kind.lower(), resource.singular, *resource.short_names}
        if name in names and (not group or resource.group == group or resource.group.startswith(f"{group}.")):
            found.setdefault(resource.group_resource, resource)
    exact = [resource for resource in found.values() if resource.group == group]
    return exact or list(found.values())


async def one_kind(host: Client, word: str) -> Resource:
    """Find the one kind that a word means; raises Failure that names all of several."""
    found = matching_kinds(word, await host.discovery.resources())
    if not found:
        host.discovery.forget()
        found = matching_kinds(word, await host.discovery.resources())
    if not found:
        raise Failure(f"the federation serves no kind {word!r}; `kubectl api-resources` lists what it serves")
    if len(found) > 1:
        names = sorted(resource.group_resource for resource in found)
        raise Failure(f"{word!r} may mean {' or '.join(names)}; write which")
    return found[0]


async def enabled_types(host: Client) -> list[tuple[Obj, FederatedType]]:
    """Return the FederatedTypeConfigs of a host with what they say."""
    found: list[tuple[Obj, FederatedType]] = []
    for resource in _CONFIGS:
        try:
            listed = await host.list(resource)
        except NotFound:
            continue
        found += [(resource.name_kind(obj), parse_type_config(obj)) for obj in listed.items]
    return found


async def federated_type(host: Client, target: Resource) -> FederatedType | None:
    """Return how a kind is federated in the last form: as a FederatedTypeConfig says, or as it is served by default."""
    for _, known in await enabled_types(host):
        if known.target.group_resource == target.group_resource and known.form in (None, FORM_D):
            return known
    expected = template_resource(FORM_D, target)
    served = await host.discovery.resources()
    return FederatedType(target, expected) if expected in served else None


async def type_of_objects(host: Client, federated: Resource) -> FederatedType:
    """Return the federated type whose objects are of a kind; raises Failure for a kind that holds no templates."""
    defaults = [
        FederatedType(target, template_resource(form, target)) for form in FORMS for target in default_targets(form)
    ]
    for known in [*(known for _, known in await enabled_types(host)), *defaults]:
        if known.federated == federated and federated.kind != known.target.kind:
            return known
    raise Failure(
        f"{federated.group_resource} are no federated kind; `hanse federate {federated.group_resource} NAME` "
        "makes federated objects of plain ones"
    )


async def target_schema(host: Client, target: Resource) -> Schema | None:
    """Return the schema of a kind: of its definition, of Kubernetes itself, or as an aggregated server tells it."""
    if target.group and (crd := await host.find(CRDS, target.group_resource)) is not None:
        return schema_from_definition(crd, target.version)
    if (schema := known_schema(target)) is not None:
        return schema
    try:
        document: Obj = orjson.loads(await host.get_raw(openapi_path(target)))
    except ApiError:
        return None
    return schema_from_openapi(document, target)
