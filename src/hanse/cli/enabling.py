"""Giving a kind a federated type: its definition and its FederatedTypeConfig, decided first and written then."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hanse.api.kubefed.forms import DEFAULT_TARGETS, FORM_D, Form, template_resource
from hanse.api.kubefed.generation import federated_definitions
from hanse.api.kubefed.type_configs import TYPE_CONFIGS, FederatedType, type_config_manifest
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.cli.failures import Failure
from hanse.cli.federated_types import enabled_types, target_schema
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, dig, key_of, name_of, namespace_of
from hanse.kube.resources import CRDS, Resource

_SERVED_SECONDS = 30.0
# Kinds that servers have offered in several groups; an object of one is an object of the other.
_SAME = (
    ({"deployments", "daemonsets", "replicasets"}, {"apps", "extensions"}),
    ({"networkpolicies", "ingresses"}, {"networking.k8s.io", "extensions"}),
    ({"podsecuritypolicies"}, {"policy", "extensions"}),
    ({"events"}, {"", "events.k8s.io"}),
)


@dataclass(frozen=True, slots=True)
class Written:
    """An object that was created or updated, as it is told to whoever asked for it."""

    resource: Resource
    name: str
    namespace: str
    state: str

    def __str__(self) -> str:
        within = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.resource.kind.lower()}.{self.resource.group}/{self.name} {self.state}{within}"


def enabling_problem(target: Resource, federated: Resource, enabled: Iterable[FederatedType]) -> str:
    """Say why a kind cannot have a federated type beside those that there are; "" where it can."""
    for other in enabled:
        if other.target.group_resource == target.group_resource:
            if other.federated.group_resource != federated.group_resource:
                return (
                    f"{target.group_resource} are federated as {other.federated.group_resource} already; "
                    f"`hanse disable {target.group_resource}` first"
                )
        elif _are_same(target, other.target):
            return (
                f"{target.group_resource} are the same objects as {other.target.group_resource}, "
                "which are federated already"
            )
        elif other.federated.group_resource == federated.group_resource:
            return (
                f"{federated.group_resource} federate {other.target.group_resource} already; "
                "choose another group with --federated-group"
            )
    return ""


def _are_same(one: Resource, other: Resource) -> bool:
    return one.plural == other.plural and any(
        one.plural in plurals and {one.group, other.group} <= groups for plurals, groups in _SAME
    )


async def type_manifests(host: Client, target: Resource, form: Form) -> list[Obj]:
    """Return what gives a kind a federated type on a host: its FederatedTypeConfig, then its definitions."""
    enabled = await enabled_types(host)
    if problem := enabling_problem(target, template_resource(form, target), [known for _, known in enabled]):
        raise Failure(problem)
    # Where there is one already it stays in the namespace in which it is.
    namespaces = [
        namespace_of(obj)
        for obj, known in enabled
        if known.target.group_resource == target.group_resource and obj["apiVersion"] == TYPE_CONFIGS.api_version
    ]
    config = type_config_manifest(target, form, namespaces[0] if namespaces else SYSTEM_NAMESPACE)
    return [config, *federated_definitions(form, target, await target_schema(host, target))]


async def write_type(host: Client, manifests: Sequence[Obj]) -> list[Written]:
    """Write a federated type, its definitions first, and return when it is served."""
    config, *definitions = manifests
    written = [await _write(host, CRDS, definition) for definition in definitions]
    for definition in definitions:
        await _wait_served(host, definition)
    return [*written, await _write(host, TYPE_CONFIGS, config)]


async def _write(host: Client, resource: Resource, manifest: Obj) -> Written:
    name, namespace = name_of(manifest), namespace_of(manifest)
    if await host.find(resource, name, namespace) is None:
        await host.create(resource, manifest)
        return Written(resource, name, namespace, "created")
    # A server goes on writing the status of a new definition, so that what was read of it is soon out of date.
    await host.patch(resource, name, {"spec": manifest["spec"]}, namespace)
    return Written(resource, name, namespace, "updated")


async def _wait_served(host: Client, definition: Obj) -> None:
    name, spec = name_of(definition), definition["spec"]
    kind = Resource(spec["group"], spec["versions"][0]["name"], spec["names"]["plural"], spec["names"]["kind"])
    try:
        async with asyncio.timeout(_SERVED_SECONDS):
            while not await _is_served(host, kind):
                await host.runtime.sleep(0.1)
    except TimeoutError as error:
        told = f"{name} is not served after {_SERVED_SECONDS:g} s; `kubectl describe crd {name}` says why"
        raise Failure(told) from error


async def _is_served(host: Client, kind: Resource) -> bool:
    """Tell whether objects of a kind can be written: a server says that it is established a moment before it is."""
    crd = await host.get(CRDS, kind.group_resource)
    if not is_true(dig(crd, "status", "conditions"), "Established"):
        return False
    try:
        await host.get_raw(kind.path())
    except NotFound:
        return False
    host.discovery.forget()
    return kind.group_resource in {one.group_resource for one in await host.discovery.resources()}


async def serves_types(host: Client) -> bool:
    """Tell whether a host can have federated types: it serves FederatedTypeConfigs."""
    return TYPE_CONFIGS in await host.discovery.resources()


@dataclass(frozen=True, slots=True)
class Leaving:
    """The federated type of a kind that is disabled, found before anything is changed."""

    configs: tuple[Obj, ...] = ()
    stays: bool = False
    """Whether its config stays, switched off: without one, a kind that KubeFed had by default would be federated."""
    definitions: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """What is told when it is gone."""
        names = [key_of(config) for config in self.configs]
        disabled = [f'Disabled propagation for FederatedTypeConfig "{name}"' for name in names]
        deleted = [] if self.stays else [f'federatedtypeconfig "{name}" deleted' for name in names]
        return [*disabled, *(f'customresourcedefinition "{name}" deleted' for name in self.definitions), *deleted]


async def leaving_type(host: Client, target: Resource, *, delete_definition: bool) -> Leaving:
    """Find what makes up a kind's federated type; raises Failure where its definition shall go and has objects."""
    if not await serves_types(host):
        return Leaving()
    found = [
        (obj, known.federated)
        for obj, known in await enabled_types(host)
        if known.target.group_resource == target.group_resource and known.federated.kind != target.kind
    ]
    by_default = target in DEFAULT_TARGETS
    configs = [obj for obj, _ in found]
    if by_default and not configs:
        configs = [type_config_manifest(target, FORM_D, SYSTEM_NAMESPACE)]
    kinds = [federated for _, federated in found] or [template_resource(FORM_D, target)]
    served = [kind for kind in kinds if kind in await host.discovery.resources()] if delete_definition else []
    for kind in served:
        await _require_empty(host, kind)
    return Leaving(tuple(configs), by_default, tuple(kind.group_resource for kind in served))


async def _require_empty(host: Client, kind: Resource) -> None:
    if objects := (await host.list(kind)).items:
        raise Failure(
            f"--delete-crd: there are {len(objects)} {kind.group_resource}, {key_of(objects[0])} among them; "
            "delete them first, or leave the definition"
        )


async def remove_type(host: Client, leaving: Leaving) -> None:
    """Take away a federated type: nothing is propagated any more before its definition goes."""
    for config in leaving.configs:
        former = "targetType" not in config["spec"]
        off = {"propagationEnabled": False} if former else {"propagation": "Disabled"}
        resource = await host.resource_of(config)
        await _write(host, resource, {**config, "spec": {**config["spec"], **off}})
        if not leaving.stays:
            await host.delete(resource, name_of(config), namespace_of(config))
    for name in leaving.definitions:
        await host.delete(CRDS, name)
