"""How the commands of `hanse vitess` find a VitessCluster, and how they write what a person asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click

from hanse.api.planetscale.kinds import VITESS_CLUSTERS
from hanse.cli.connection import host_options
from hanse.cli.failures import Failure
from hanse.cli.rollout_finding import Where, on_host
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key, Obj, name_of, namespace_of
from hanse.vitess.federated.plan import Plan, stored_plan
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.identity import parse_alias

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def cluster_options(command: F) -> F:
    """Add the name of a VitessCluster, its namespace, and the options that say which federation is meant."""
    told = "The namespace of the VitessCluster (default: where the name is found)."
    command = click.option("-n", "--namespace", default="", help=told)(command)
    command = host_options(command)
    return click.argument("cluster", metavar="NAME")(command)


def on_vitess(cluster: str, where: Where, act: Callable[[Client, Obj], Awaitable[T]]) -> T:
    """Find a VitessCluster on the federation and do something about it."""

    async def acting(host: Client) -> T:
        return await act(host, await find_vitess(host, Key(where["namespace"], cluster)))

    return on_host(where, acting)


async def find_vitess(host: Client, key: Key) -> Obj:
    """Find a VitessCluster; without a namespace any that only one has."""
    try:
        items = (await host.list(VITESS_CLUSTERS, key.namespace)).items
    except NotFound as error:
        raise Failure(
            "the federation serves no VitessClusters; start its control plane with `hanse up` or `hanse controller`"
        ) from error
    found = [obj for obj in items if name_of(obj) == key.name]
    if len(found) == 1:
        return found[0]
    if found:
        spaces = ", ".join(sorted(map(namespace_of, found)))
        raise Failure(f"VitessCluster {key.name} is in several namespaces ({spaces}); name one with -n")
    known = ", ".join(sorted(f"{namespace_of(obj)}/{name_of(obj)}" for obj in items)) or "none at all"
    raise Failure(f"there is no VitessCluster {key}; the federation has {known}")


def require_plan(source: Obj) -> Plan:
    """Return how a VitessCluster is divided; raises Failure before it is."""
    plan = stored_plan(source)
    if plan is None:
        raise Failure(f"VitessCluster {name_of(source)} is not federated yet; `hanse vitess plan` says what is missing")
    return plan


def member_of_tablet(plan: Plan, alias: str) -> str:
    """Return the cluster that a tablet is in; raises Failure where the alias says nothing."""
    parsed = parse_alias(alias)
    if parsed is None:
        raise Failure(f"{alias!r} is no tablet alias; write CELL-UID with ten digits, as `hanse vitess status` does")
    member = plan.homes.get(parsed[0])
    if member is None:
        cells = ", ".join(plan.homes)
        raise Failure(f"there is no cell {parsed[0]!r}; there are {cells}")
    return member


def parse_shard(text: str) -> ShardId:
    """Read KEYSPACE/SHARD; raises Failure."""
    keyspace, slash, shard = text.partition("/")
    if not keyspace or not slash or not shard:
        raise Failure(f"{text!r} is no shard; write KEYSPACE/SHARD, such as orders/-80")
    return ShardId(keyspace, shard)


async def annotate(host: Client, source: Obj, name: str, text: str | None) -> None:
    """Write an annotation on a VitessCluster; None takes it away."""
    patch = {"metadata": {"annotations": {name: text}}}
    await host.patch(VITESS_CLUSTERS, name_of(source), patch, namespace_of(source))
