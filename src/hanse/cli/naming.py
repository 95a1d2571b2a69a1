"""How people name objects on a command line: `deployment web`, `deployment/web`, with or without a namespace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hanse.api.shipper.kinds import APPLICATIONS
from hanse.cli.failures import Failure, Misuse
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key, Obj, namespace_of
from hanse.kube.resources import Resource


@dataclass(frozen=True, slots=True)
class Named:
    """What was typed: a kind, and a name where one was given."""

    kind: str
    name: str = ""


def parse_named(words: Sequence[str], command: str) -> Named:
    """Read `KIND`, `KIND NAME` or `KIND/NAME`; raises Misuse with an example of the command."""
    if len(words) == 1:
        kind, slash, name = words[0].partition("/")
        if kind and "/" not in name and (name or not slash):
            return Named(kind, name)
    elif len(words) == 2 and not any("/" in word for word in words):
        return Named(words[0], words[1])
    typed = " ".join(words)
    raise Misuse(f"{typed!r} names no object; write `hanse {command} deployment web` or `hanse {command} deploy/web`")


def require_name(named: Named, command: str) -> Named:
    """Return what was typed if it names one object; raises Misuse."""
    if not named.name:
        raise Misuse(f"which of the {named.kind}? Write `hanse {command} {named.kind} NAME`")
    return named


async def kind_named(host: Client, word: str) -> Resource:
    """Find a kind by what people type; raises Failure with what to do about an unknown one."""
    try:
        return await host.discovery.named(word)
    except NotFound as error:
        raise Failure(
            f"the federation serves no kind {word!r}; `kubectl api-resources` lists what it serves, and the "
            "CustomResourceDefinition of a kind of your own is applied to it like to any cluster"
        ) from error


async def find_source(host: Client, resource: Resource, key: Key) -> Obj:
    """Find an object; without a namespace the default one counts first, then any other if only one has it."""
    if key.namespace or not resource.namespaced:
        return await host.get(resource, key.name, key.namespace)
    found = {namespace_of(obj): obj for obj in (await host.list(resource, fields=f"metadata.name={key.name}")).items}
    if "default" in found:
        return found["default"]
    if not found:
        raise Failure(f'{resource.group_resource} "{key.name}" not found in any namespace of the federation')
    if len(found) > 1:
        raise Misuse(f"{resource.plural} named {key.name} are in {', '.join(sorted(found))}; choose one with -n")
    return next(iter(found.values()))


def require_not_rolled_out(resource: Resource, name: str) -> None:
    """Raise Failure for what belongs to a rollout, whose own command shows what became of it."""
    if resource.group == APPLICATIONS.group:
        raise Failure(rolled_out(resource, name if resource.kind == APPLICATIONS.kind else "APP"))


def rolled_out(resource: Resource, application: str) -> str:
    """Say that a kind is not copied into clusters as it is, and what shows what became of it."""
    shows = f"`hanse rollout get {application}` shows an application with its releases, clusters and pods"
    return f"{resource.group_resource} are not copied into clusters: {shows}"


def not_federated(resource: Resource, known: Sequence[Resource]) -> str:
    """Say that a kind stays on the federation, and what to write instead or how to change that."""
    if resource.group == APPLICATIONS.group:
        return rolled_out(resource, "APP")
    kinds = ", ".join(kind.plural for kind in known)
    advice = {
        "pods": "write a Deployment, whose pods run in the clusters",
        "replicasets": "write a Deployment",
        "events": "`hanse events` shows those of every cluster",
        "nodes": "they belong to their cluster; `hanse get nodes` shows them all",
    }.get(resource.plural, f"`hanse enable {resource.group_resource}` federates them")
    return f"{resource.group_resource} are not federated: {advice} (federated are {kinds})"
