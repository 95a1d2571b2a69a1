"""`hanse mcs`: which clusters take part in the multi-cluster services API."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from hanse.api.clusters import CLUSTERS, parse_cluster
from hanse.api.mcs import MCS_ANNOTATION, MCS_CRDS, TAKES_NO_PART, TAKES_PART
from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.output import show_documents
from hanse.cli.running import run
from hanse.clusters.account import CLUSTER_ROLES, RESOURCE_OF, Account
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.kubeconfig import Endpoint, Kubeconfig
from hanse.kube.manifest import Obj, annotations_of
from hanse.services.mcs.installing import install_mcs, mcs_account_manifests


@click.group("mcs")
def command() -> None:
    """Let clusters export services to the others, and import theirs (ServiceExport, ServiceImport)."""


@command.command("enable")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--kubeconfig",
    "member_kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A kubeconfig that may define kinds and roles in the clusters, where Hanse itself may not.",
)
@click.option(
    "--context",
    "member_context",
    default="",
    help="The context in that file (default: the one called NAME, or for a single NAME the current one).",
)
@click.option("--dry-run", is_flag=True, help="Print what would be written into each cluster, and change nothing.")
@host_options
def enable(
    names: tuple[str, ...],
    member_kubeconfig: Path | None,
    member_context: str,
    dry_run: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Have clusters take part.

    Defines the kinds in each cluster, gives Hanse's account the rights that they need, and marks the Cluster. Without
    --kubeconfig only the Cluster is marked, which is enough where Hanse may define kinds there.
    """
    if member_context and len(names) > 1:
        raise Misuse("--context: names one cluster; enable several one after the other, or name contexts as clusters")
    if dry_run:
        role = {"metadata": {"name": Account(names[0]).role, "uid": "<its uid>"}}
        show_documents([*MCS_CRDS, *(each for name in names for each in mcs_account_manifests(Account(name), role))])
        return
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        for name in names:
            at = _member_endpoint(member_kubeconfig, member_context, name, alone=len(names) == 1)
            click.echo(run(functools.partial(_enable, endpoint, name, at)))


@command.command("disable")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@host_options
def disable(names: tuple[str, ...], data_dir: Path | None, kubeconfig: Path | None, context: str) -> None:
    """Have clusters take part no longer: what they imported is taken away, and nobody imports what they export.

    The kinds and the ServiceExports stay where they are.
    """
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        for name in names:
            changed = run(functools.partial(_mark, endpoint, name, TAKES_NO_PART))
            click.echo(f"cluster {name} takes part no longer" if changed else f"cluster {name} unchanged")


def _member_endpoint(path: Path | None, context: str, name: str, *, alone: bool) -> Endpoint | None:
    if path is None:
        return None
    config = Kubeconfig.load(path)
    current = alone and not context and name not in config.context_names()
    return config.endpoint() if current else config.endpoint(context or name)


async def _enable(host_at: Endpoint, name: str, member_at: Endpoint | None) -> str:
    async with connected(host_at) as host:
        cluster = await _find(host, name)
        if parse_cluster(cluster).pull:
            raise Failure(
                f"cluster {name} fetches its work by an agent, which does not carry services of many clusters"
            )
        if member_at is not None:
            async with connected(member_at) as member:
                await install_mcs(member)
                await _give_rights(member, Account(name))
    changed = await _mark(host_at, name, TAKES_PART)
    return f"cluster {name} takes part" if changed else f"cluster {name} takes part already"


async def _give_rights(member: Client, account: Account) -> None:
    """Give Hanse's account its rights; where there is none, Hanse signs in as somebody else, who has or has not."""
    role = await member.find(CLUSTER_ROLES, account.role)
    if role is not None:
        for manifest in mcs_account_manifests(account, role):
            await member.apply(RESOURCE_OF[manifest["kind"]], manifest)


async def _mark(host_at: Endpoint, name: str, said: str) -> bool:
    async with connected(host_at) as host:
        if annotations_of(await _find(host, name)).get(MCS_ANNOTATION) == said:
            return False
        await host.patch(CLUSTERS, name, {"metadata": {"annotations": {MCS_ANNOTATION: said}}})
        return True


async def _find(host: Client, name: str) -> Obj:
    try:
        return await host.get(CLUSTERS, name)
    except NotFound:
        raise Failure(f"no cluster {name} is a member of the federation; `hanse clusters` lists them") from None
