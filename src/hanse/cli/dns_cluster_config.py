"""`hanse dns cluster-config`: what a member's DNS needs to find the federation's services, printed or put there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
import yaml

from hanse.api.clusters import CLUSTERS, parse_cluster
from hanse.api.federation import FEDERATION_NAME, FEDERATIONS, FederationError, parse_federation
from hanse.api.mcs import MCS_ANNOTATION, TAKES_PART
from hanse.cli.connection import connect_member, connected, host_endpoint, host_options
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.running import run
from hanse.clusters.kube_dns import DnsNotice, announce, announced, check_server, noticed, withdraw
from hanse.kube.client import Client, WriteOptions
from hanse.kube.errors import NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj, annotations_of, dig
from hanse.kube.resources import CONFIGMAPS
from hanse.services.naming import Federation
from hanse.services.presence import Place
from hanse.services.resolution.corefile import CLUSTER_DOMAIN, MemberDns, corefile_part
from hanse.services.resolution.section import with_section, without_section

_CONFIG = Key("kube-system", "coredns")
_COREFILE = "Corefile"


@dataclass(frozen=True, slots=True)
class _Wish:
    cluster: str
    servers: tuple[str, ...]
    kube_dns: bool
    domain: str
    apply: bool
    remove: bool


@click.command("cluster-config")
@click.argument("cluster")
@click.option(
    "--server",
    "servers",
    multiple=True,
    metavar="IP[:PORT]",
    help="A DNS server that has the federation's domain, as the cluster reaches it (repeat); without one the domain "
    "is asked for where the cluster asks for everything else.",
)
@click.option("--for", "kind", type=click.Choice(["coredns", "kube-dns"]), default="coredns", show_default=True)
@click.option("--cluster-domain", default=CLUSTER_DOMAIN, show_default=True, help="What the cluster's names end with.")
@click.option("--apply", "apply", is_flag=True, help="Put it into the cluster's ConfigMap, after a dry run there.")
@click.option("--remove", is_flag=True, help="With --apply: take out of the ConfigMap what was put there.")
@host_options
def command(
    cluster: str,
    servers: tuple[str, ...],
    kind: str,
    cluster_domain: str,
    apply: bool,
    remove: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Print what CLUSTER's own DNS needs so that NAME.NAMESPACE.FEDERATION finds services, the local one first.

    For CoreDNS it is a part of the Corefile, for kube-dns data of its ConfigMap. Nothing is changed without --apply.
    """
    if remove and not apply:
        raise Misuse("--remove: needs --apply; without it nothing is changed")
    try:
        given = tuple(map(check_server, servers))
    except ValueError as error:
        raise Misuse(f"--server: {error}") from error
    wish = _Wish(cluster, given, kind == "kube-dns", cluster_domain, apply, remove)
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        click.echo(run(lambda: _configure(endpoint, wish)), nl=False)


async def _configure(host_at: Endpoint, wish: _Wish) -> str:
    async with connected(host_at) as host:
        cluster = await _cluster(host, wish.cluster)
        federation = await _federation(host)
        notice = DnsNotice(f"{federation.name}={federation.domain}", wish.servers)
        part = corefile_part(_member_dns(cluster, federation, wish))
        if not wish.apply:
            return yaml.safe_dump(announced({}, notice), sort_keys=False) if wish.kube_dns else part
        if parse_cluster(cluster).pull:
            raise Failure(f"cluster {wish.cluster} is not reached from here; print the part and put it there by hand")
        member = await connect_member(host, parse_cluster(cluster))
        try:
            if wish.kube_dns:
                return await _change_kube_dns(host, member.client, cluster, notice, wish)
            return await _change_corefile(member.client, part, wish)
        except ValueError as error:
            raise Failure(f"nothing was changed in cluster {wish.cluster}: {error}") from error
        finally:
            await member.client.close()


def _member_dns(cluster: Obj, federation: Federation, wish: _Wish) -> MemberDns:
    known = parse_cluster(cluster)
    return MemberDns(
        Place(known.name, known.region, known.zones),
        federation,
        wish.servers,
        imports_services=annotations_of(cluster).get(MCS_ANNOTATION) == TAKES_PART,
        cluster_domain=wish.domain,
    )


async def _change_kube_dns(host: Client, member: Client, cluster: Obj, notice: DnsNotice, wish: _Wish) -> str:
    if wish.remove:
        await withdraw(member, noticed(cluster) if noticed(cluster).entry else notice)
        return f"configmap kube-system/kube-dns in cluster {wish.cluster} says nothing of {notice.entry} any more\n"
    # Noted before it is done, so that leaving finds it whenever this ends.
    await host.patch(CLUSTERS, wish.cluster, {"metadata": {"annotations": notice.annotations()}})
    await announce(member, notice)
    return f"configmap kube-system/kube-dns in cluster {wish.cluster} says {notice.entry}\n"


async def _change_corefile(member: Client, part: str, wish: _Wish) -> str:
    config = await member.find(CONFIGMAPS, _CONFIG.name, _CONFIG.namespace)
    known = dig(config, "data", _COREFILE)
    if config is None or known is None:
        raise Failure(
            f"cluster {wish.cluster} has no ConfigMap {_CONFIG} with a {_COREFILE}; "
            "print the part and put it where its DNS reads it"
        )
    wanted = without_section(known) if wish.remove else with_section(known, part)
    if wanted == known:
        return f"configmap {_CONFIG} in cluster {wish.cluster} unchanged\n"
    changed = {**config, "data": {**config["data"], _COREFILE: wanted}}
    for options in (WriteOptions(dry_run=True), WriteOptions()):
        await member.update(CONFIGMAPS, changed, options=options)
    return f"configmap {_CONFIG} in cluster {wish.cluster} changed; CoreDNS takes it up where it has `reload`\n"


async def _cluster(host: Client, name: str) -> Obj:
    try:
        return await host.get(CLUSTERS, name)
    except NotFound:
        raise Failure(f"no cluster {name} is a member of the federation; `hanse clusters` lists them") from None


async def _federation(host: Client) -> Federation:
    found = await host.find(FEDERATIONS, FEDERATION_NAME)
    if found is None:
        raise Failure(
            "the federation has no name in DNS: there is no Federation object; "
            "`hanse up` and `hanse controller` write one by --domain and the federation's name"
        )
    try:
        settings = parse_federation(found)
    except FederationError as error:
        raise Failure(f"the Federation object cannot be used: {error}") from error
    return Federation(settings.name, settings.domain)
