"""`hanse unjoin`: let a cluster go, and leave it clean."""

from __future__ import annotations

import asyncio
import functools
from dataclasses import dataclass, field
from pathlib import Path

import click

from hanse.api.clusters import CLUSTERS, parse_cluster
from hanse.api.names import MANAGED_LABEL
from hanse.api.works import agent_namespace
from hanse.cli.connection import connect_member, connected, host_endpoint, host_options
from hanse.cli.elsewhere import has_door
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.pull_leave import remove_works, take_back, told_copies
from hanse.cli.running import run
from hanse.clusters.account import Account
from hanse.clusters.kube_dns import DnsNotice, noticed, withdraw
from hanse.clusters.leaving import Copy, counted, delete_copies, find_copies, forget, mark_leaving, remove_account
from hanse.clusters.member import Member
from hanse.clusters.tokens import account_of
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.kubeconfig import Endpoint, KubeconfigError
from hanse.kube.manifest import Obj
from hanse.kube.resources import SECRETS
from hanse.kube.transport import Unreachable

_ASKING_SECONDS = 15.0
_LEAVING_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Terms:
    keep: bool
    delete: bool
    force: bool
    dry_run: bool


@dataclass(slots=True)
class _Departure:
    """What is known of a cluster that is to leave; `silence` says why it cannot be asked."""

    name: str
    cluster: Obj
    secret: Obj | None = None
    member: Member | None = None
    copies: list[Copy] = field(default_factory=list)
    silence: str = ""
    pull: bool = False

    @property
    def dns(self) -> DnsNotice:
        return noticed(self.cluster)

    @property
    def has_account(self) -> bool:
        return self.secret is not None and account_of(self.secret) is not None


@click.command("unjoin")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--keep", is_flag=True, help="Leave the copies in the cluster; they go on running there.")
@click.option("--delete", is_flag=True, help="Delete the copies from the cluster first.")
@click.option("--force", is_flag=True, help="Let a cluster go that does not answer; what is in it stays.")
@click.option("--dry-run", is_flag=True, help="Say what would happen, and change nothing.")
@host_options
def command(
    names: tuple[str, ...],
    keep: bool,
    delete: bool,
    force: bool,
    dry_run: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Let clusters leave the federation.

    Removes Hanse's service account and roles from each, and its Cluster and credentials from the federation. While
    copies of federated objects are in a cluster, what becomes of them must be said: --keep or --delete.
    """
    if keep and delete:
        raise Misuse("--keep and --delete exclude each other")
    terms = _Terms(keep, delete, force, dry_run)
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        for name in names:
            for sentence in run(functools.partial(_unjoin, endpoint, name, terms)):
                click.echo(sentence)


async def _unjoin(host_at: Endpoint, name: str, terms: _Terms) -> list[str]:
    async with connected(host_at) as host:
        departure = await _look(host, name)
        try:
            _refuse(departure, terms)
            return _rehearsal(departure, terms) if terms.dry_run else await _let_go(host, departure, terms)
        finally:
            if departure.member is not None:
                await departure.member.client.close()


async def _look(host: Client, name: str) -> _Departure:
    try:
        departure = _Departure(name, await host.get(CLUSTERS, name))
    except NotFound:
        raise Failure(f"no cluster {name} is a member of the federation; `hanse clusters` lists them") from None
    cluster = parse_cluster(departure.cluster)
    if cluster.pull:
        departure.pull = True
        departure.copies = await told_copies(host, name)
        # One that is leaving already is looked after by its agent alone.
        departure.silence = "" if cluster.leaving else cluster.refusal
        return departure
    if cluster.credentials is not None:
        departure.secret = await host.find(SECRETS, cluster.credentials.name, cluster.credentials.namespace)
    if departure.secret is None:
        departure.silence = "its credentials are gone"
        return departure
    try:
        departure.member = await connect_member(host, cluster)
        async with asyncio.timeout(_ASKING_SECONDS):
            departure.copies = await find_copies(departure.member.client)
    except (ApiError, Unreachable, KubeconfigError) as error:
        departure.silence = str(error)
    except TimeoutError:
        departure.silence = f"{cluster.server} did not answer within {_ASKING_SECONDS:g} s"
    return departure


def _refuse(departure: _Departure, terms: _Terms) -> None:
    if has_door(departure.cluster) and not terms.force:
        name = departure.name
        raise Failure(f"pods of cluster {name} may run elsewhere: `hanse doors disable pods --cluster {name}` first")
    if departure.silence and not terms.force:
        raise Failure(
            f"cluster {departure.name} cannot be asked what it has: {departure.silence}; "
            "--force lets it go and leaves what is in it"
        )
    if departure.copies and not terms.keep and not terms.delete:
        raise Failure(
            f"cluster {departure.name} has {counted(departure.copies)} copies of federated objects: "
            "say --keep to leave them there or --delete to remove them"
        )


def _rehearsal(departure: _Departure, terms: _Terms) -> list[str]:
    name = departure.name
    told = []
    if departure.silence:
        told.append(f"cluster {name} would be left as it is: {departure.silence}")
    fate = "delete" if terms.delete else "keep"
    told += [f"{fate} {copy} in cluster {name}" for copy in departure.copies]
    if departure.dns.entry and not departure.silence:
        told.append(f"take {departure.dns.entry} out of configmap kube-system/kube-dns in cluster {name}")
    if departure.has_account and not departure.silence:
        told.append(f"delete clusterrole {Account(name).role} in cluster {name}, and all that it owns there")
    if departure.pull:
        told.append(f"delete namespace {agent_namespace(name)} in the federation, with the account of its agent")
    return [*told, f"delete cluster {name} and its credentials in the federation"]


async def _let_go(host: Client, departure: _Departure, terms: _Terms) -> list[str]:
    """Mark it, clean the member, forget it; what could not be removed is told and keeps nobody from leaving."""
    name = departure.name
    await mark_leaving(host, departure.cluster)
    remaining: list[str] = []
    if departure.pull:
        if terms.delete and not departure.silence:
            remaining += await take_back(host, name, _LEAVING_SECONDS)
        await remove_works(host, name)
        remaining.append(f"what runs its agent; stop it, and remove the ClusterRole {Account(name).role} where it is")
    elif departure.member is not None and departure.secret is not None and not departure.silence:
        client = departure.member.client
        if terms.delete:
            # What the control plane had under way when it was told to let go may have arrived since.
            remaining += await delete_copies(client, await find_copies(client), _LEAVING_SECONDS)
        if departure.dns.entry:
            try:
                await withdraw(client, departure.dns)
            except (ApiError, ValueError) as error:
                remaining.append(f"{departure.dns.entry} in the ConfigMap kube-system/kube-dns ({error})")
        if left := await remove_account(client, departure.secret, name, _LEAVING_SECONDS):
            remaining.append(left)
    elif departure.has_account:
        remaining.append(f"the ClusterRole {Account(name).role} and what belongs to it, and all copies")
    await forget(host, name, departure.secret)
    told = [f"cluster {name} has left the federation"]
    if departure.copies and terms.keep:
        told.append(f"in it stay {counted(departure.copies)} copies, labelled {MANAGED_LABEL}=true")
    return told + [f"in it remains: {each}" for each in remaining]
