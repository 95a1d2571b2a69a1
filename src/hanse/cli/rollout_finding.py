"""How the commands of `hanse rollout` find an application, and how they write what a person asks for."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import click

from hanse.api.shipper.kinds import (
    APP_LABEL,
    APPLICATIONS,
    CAPACITY_TARGETS,
    INSTALLATION_TARGETS,
    RELEASES,
    TRAFFIC_TARGETS,
)
from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.running import run
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, Conflict, NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj, key_of, labels_of, name_of, namespace_of, uid_of, version_of
from hanse.kube.resources import Resource
from hanse.rollouts.cluster_reading import Targets
from hanse.rollouts.reading import ReleaseReading, RolloutReading, read_rollout

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Where = Mapping[str, Any]

_TARGET_KINDS = (INSTALLATION_TARGETS, CAPACITY_TARGETS, TRAFFIC_TARGETS)
_DENIED = "denied request: "
# A controller may write its status at any moment; it does not do so for ever.
_ROUNDS = 5
# So many names are listed to who has mistyped one.
_NAMED = 5


def application_options(command: F) -> F:
    """Add the name of an application, its namespace, and the options that say which federation is meant."""
    command = namespace_option(command)
    command = host_options(command)
    return click.argument("application", metavar="APP")(command)


def namespace_option(command: F) -> F:
    """Add `-n`."""
    told = "The namespace of the application (default: where the name is found)."
    return click.option("-n", "--namespace", default="", help=told)(command)


def endpoint_of(where: Where) -> Endpoint:
    """Find the federation by a command's options."""
    return host_endpoint(where["data_dir"], where["kubeconfig"], where["context"])


def on_host(where: Where, act: Callable[[Client], Awaitable[T]]) -> T:
    """Do something on the federation that a command's options name."""

    async def acting(endpoint: Endpoint) -> T:
        async with connected(endpoint) as host:
            with as_refused():
                return await act(host)

    with one_sentence():
        endpoint = endpoint_of(where)
        return run(lambda: acting(endpoint))


def on_rollout(application: str, where: Where, act: Callable[[Client, RolloutReading], Awaitable[T]]) -> T:
    """Find an application with all that belongs to it, and do something about it.

    Where it changes in between, it is looked at and decided about again.
    """

    async def acting(host: Client) -> T:
        for _ in range(_ROUNDS):
            with suppress(Conflict):
                return await act(host, await find_rollout(host, Key(where["namespace"], application)))
        return await act(host, await find_rollout(host, Key(where["namespace"], application)))

    return on_host(where, acting)


async def write(host: Client, resource: Resource, obj: Obj, patch: Obj) -> Obj:
    """Change an object as it was seen, by a merge patch; raises Conflict where it has changed since."""
    seen = {"uid": uid_of(obj), "resourceVersion": version_of(obj)}
    exactly = {**patch, "metadata": {**patch.get("metadata", {}), **seen}}
    return await host.patch(resource, name_of(obj), exactly, namespace_of(obj))


@contextmanager
def as_refused() -> Iterator[None]:
    """Turn what admission says of a write into its own sentence, and a lost race into one that says what to do."""
    try:
        yield
    except Conflict as error:
        raise Failure("it has changed meanwhile; look at it again and repeat the command") from error
    except NotFound:
        raise
    except ApiError as error:
        if _DENIED not in str(error):
            raise
        raise Failure(str(error).partition(_DENIED)[2]) from error


async def find_application(host: Client, key: Key) -> Obj:
    """Find an application; without a namespace the default one counts first, then any other if only one has it."""
    try:
        items = (await host.list(APPLICATIONS, key.namespace)).items
    except NotFound as error:
        raise Failure(
            "the federation serves no Applications; start its control plane with `hanse up` or `hanse controller`"
        ) from error
    found = {namespace_of(obj): obj for obj in items if name_of(obj) == key.name}
    if not found:
        raise Failure(unknown(key, (key_of(obj) for obj in items)))
    if "default" in found:
        return found["default"]
    if len(found) > 1:
        raise Misuse(f"applications named {key.name} are in {', '.join(sorted(found))}; choose one with -n")
    return next(iter(found.values()))


def unknown(key: Key, known: Iterable[Key]) -> str:
    """Say that there is no such application, and which names come near."""
    names = sorted({each.name for each in known})
    near = difflib.get_close_matches(key.name, names, n=3, cutoff=0.5)
    where = f"in namespace {key.namespace}" if key.namespace else "in any namespace of the federation"
    if near:
        return f"there is no application {key.name} {where}; did you mean {', '.join(near)}?"
    return f"there is no application {key.name} {where}; {_those(names)}"


def _those(names: Sequence[str]) -> str:
    if len(names) < 2:
        return f"there is only {names[0]}" if names else "there are none"
    return f"there are {', '.join(names[:_NAMED])}{', …' if len(names) > _NAMED else ''}"


async def find_rollout(host: Client, key: Key) -> RolloutReading:
    """Read an application with its releases and their targets; raises Failure where there is none."""
    application = await find_application(host, key)
    labels = f"{APP_LABEL}={name_of(application)}"
    return (await rollouts_of(host, [application], namespace_of(application), labels))[0]


async def list_rollouts(host: Client, namespace: str = "") -> list[RolloutReading]:
    """Read all applications of a namespace, or of all of them."""
    applications = sorted(await _listed(host, APPLICATIONS, namespace, ""), key=key_of)
    return await rollouts_of(host, applications, namespace, "")


async def rollouts_of(host: Client, applications: Sequence[Obj], namespace: str, labels: str) -> list[RolloutReading]:
    """Read the releases and targets of these applications; `labels` choose them where that is fewer than all."""
    kinds = (RELEASES, *_TARGET_KINDS)
    releases, *targets = await asyncio.gather(*(_listed(host, kind, namespace, labels) for kind in kinds))
    by_key = [{key_of(obj): obj for obj in kind} for kind in targets]
    found = []
    for application in applications:
        namespace, name = namespace_of(application), name_of(application)
        own = [obj for obj in releases if namespace_of(obj) == namespace and labels_of(obj).get(APP_LABEL) == name]
        aims = {name_of(obj): Targets(*(kind.get(key_of(obj)) for kind in by_key)) for obj in own}
        found.append(read_rollout(application, own, aims))
    return found


async def _listed(host: Client, kind: Resource, namespace: str, labels: str) -> list[Obj]:
    try:
        return (await host.list(kind, namespace, labels=labels)).items
    except NotFound:
        # A kind that is not served has no objects.
        return []


def require_contender(rollout: RolloutReading) -> ReleaseReading:
    """Return the release that a rollout is about; raises Failure."""
    if rollout.contender is None:
        raise Failure(f"application {name_of(rollout.application)} has no release yet; {rollout.verdict.why}")
    return rollout.contender


def require_release(rollout: RolloutReading, name: str) -> ReleaseReading:
    """Return a release of an application by its name; raises Failure that lists them."""
    found = rollout.named(name)
    if found is None:
        names = ", ".join(each.name for each in rollout.releases) or "none"
        raise Failure(f"application {name_of(rollout.application)} has no release {name}; it has {names}")
    return found
