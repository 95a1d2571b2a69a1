"""Making clusters members, as a command does it: with two API servers to talk to, and failures in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hanse.api.clusters import CLUSTERS, Address, Cluster, cluster_manifest, parse_cluster
from hanse.api.kubefed.forms import CLUSTER_ROLES
from hanse.api.kubefed.type_configs import parse_type_config
from hanse.cli.connection import connect_member, connected
from hanse.cli.doors import KIND_INPUTS, plain_kinds, read_inputs
from hanse.cli.failures import Failure, Misuse
from hanse.clusters.credentials import KUBECONFIG_KEY, endpoints_of
from hanse.clusters.joining import (
    NotJoined,
    Wish,
    already_another,
    join,
    join_with_account,
    joining_manifests,
    write_cluster,
)
from hanse.clusters.kube_dns import NO_NOTICE, DnsNotice, announce
from hanse.clusters.tokens import account_of, renew_token
from hanse.federated.knowledge import TYPE_CONFIG_KINDS
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj, name_of, uid_of
from hanse.kube.resources import NAMESPACES, SECRETS, Resource
from hanse.kube.transport import Unreachable


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for, for every cluster alike."""

    labels: dict[str, str]
    addresses: tuple[Address, ...]
    own_account: bool
    token_seconds: int
    replace: bool
    dns: DnsNotice = NO_NOTICE

    def wish(self, kinds: Sequence[Resource] = ()) -> Wish:
        """Return it as the registry wants it; without `kinds` for those that are federated without being asked."""
        from hanse.native.kinds import DEFAULT_KINDS

        return Wish(self.labels, self.addresses, tuple(kinds) or DEFAULT_KINDS, self.token_seconds)


async def join_cluster(host_at: Endpoint, member_at: Endpoint, name: str, request: Request) -> bool:
    """Make one cluster a member; True if it is new."""
    async with connected(member_at) as member, connected(host_at) as host:
        try:
            uid = uid_of(await member.get(NAMESPACES, "kube-system"))
        except (Unreachable, ApiError) as error:
            raise Failure(f"the cluster was not joined: {error}") from error
        other = await already_another(host, name, uid)
        if other and not request.replace:
            raise Failure(
                f"another cluster, {other}, is a member under the name {name}; choose another name, or take its place "
                "with --replace (what Hanse has put into it stays there)"
            )
        new = await _enrol(host, member, member_at, name, request)
        if request.dns.entry:
            # Noted before it is done, so that leaving finds it whenever this ends.
            await host.patch(CLUSTERS, name, {"metadata": {"annotations": request.dns.annotations()}})
            await _tell_dns(member, request.dns)
        return new


async def _tell_dns(member: Client, notice: DnsNotice) -> None:
    try:
        await announce(member, notice)
    except ValueError as error:
        raise Failure(f"the cluster has joined, but its DNS was not told of the federation: {error}") from error


async def _enrol(host: Client, member: Client, member_at: Endpoint, name: str, request: Request) -> bool:
    try:
        if not request.own_account:
            manifests = joining_manifests(name, member_at, request.labels, others=request.addresses)
            return await join(host, manifests, relabel=True)
        return await join_with_account(host, member, member_at, name, request.wish(await federated_kinds(host)))
    except NotJoined as error:
        raise Failure(str(error)) from error


async def federated_kinds(host: Client) -> Sequence[Resource]:
    """Return the kinds of objects that a federation carries into its members.

    Rights on roles are given only where somebody asked for roles to be federated: who has them hands out others.
    """
    found = await read_inputs(host, KIND_INPUTS)
    configs = [obj for kind in TYPE_CONFIG_KINDS for obj in found.inputs[kind].values()]
    asked = {*plain_kinds(found.doors), *(parse_type_config(config).target for config in configs)}
    return [kind for kind in found.doors.targets if kind.group != CLUSTER_ROLES.group or kind in asked]


async def join_by_secret(host_at: Endpoint, name: str, key: Key, request: Request, *, dry_run: bool) -> Obj | bool:
    """Write a Cluster that points to a Secret of the host; True if it is new. A dry run returns the Cluster."""
    async with connected(host_at) as host:
        secret = await host.get(SECRETS, key.name, key.namespace)
        first, others = (request.addresses[0].server, request.addresses[1:]) if request.addresses else ("", ())
        known = Cluster(name=name, server=first, addresses=request.addresses, ca_bundle="")
        endpoint = endpoints_of(known, secret)[0]
        if KUBECONFIG_KEY in (secret.get("data") or {}) and not first:
            first = endpoint.server
        manifest = cluster_manifest(
            name, server=first, ca_bundle="", secret=key, labels=request.labels, others=tuple(others)
        )
        if dry_run:
            return manifest
        try:
            _, new = await write_cluster(host, manifest, relabel=True)
        except NotJoined as error:
            raise Failure(str(error)) from error
        return new


async def rotate(host_at: Endpoint, name: str, seconds: int) -> None:
    """Give a member's service account a new token, by the account's own right to one."""
    async with connected(host_at) as host:
        cluster = parse_cluster(await host.get(CLUSTERS, name))
        if cluster.credentials is None:
            raise Misuse(f"cluster {name} names no credentials in spec.authInfo.controller")
        secret = await host.get(SECRETS, cluster.credentials.name, cluster.credentials.namespace)
        if account_of(secret) is None:
            raise Failure(
                f"the credentials of cluster {name} are not of a service account that Hanse has made; "
                f"`hanse join {name} --kubeconfig FILE` makes one"
            )
        member = await connect_member(host, cluster)
        try:
            await renew_token(host, member.client, cluster, secret, seconds)
        finally:
            await member.client.close()


async def wait_ready(host_at: Endpoint, names: Sequence[str], seconds: float) -> None:
    """Wait until the registry calls clusters ready."""
    async with connected(host_at) as host:
        end = host.runtime.monotonic() + seconds
        while waiting := [each for each in await _states(host, names) if each.refusal]:
            if host.runtime.monotonic() >= end:
                told = "; ".join(f"{each.name}: {each.refusal}" for each in waiting)
                raise Failure(f"not ready within {seconds:g} s: {told}")
            await host.runtime.sleep(0.2)


async def _states(host: Client, names: Sequence[str]) -> list[Cluster]:
    listed = await host.list(CLUSTERS)
    return [parse_cluster(obj) for obj in listed.items if name_of(obj) in names]
