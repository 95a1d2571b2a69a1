"""`hanse join`: make clusters members of the federation."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import yaml

from hanse.api.cluster_kind import CLUSTER_NAME_LENGTH, CLUSTER_NAME_PATTERN
from hanse.api.clusters import Address, with_scheme
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.cli.connection import host_endpoint, host_options
from hanse.cli.enrolment import Request, join_by_secret, join_cluster, rotate, wait_ready
from hanse.cli.failures import Misuse, one_sentence
from hanse.cli.pull_join import AgentFiles, join_pulling, rehearsal
from hanse.cli.running import run
from hanse.clusters.account import Account, account_manifests
from hanse.clusters.joining import as_account, joining_manifests
from hanse.clusters.kube_dns import NO_NOTICE, DnsNotice, check_entry, check_server
from hanse.clusters.kubeconfigs import HIDDEN
from hanse.clusters.tokens import TOKEN_SECONDS
from hanse.kube.kubeconfig import Endpoint, Kubeconfig, KubeconfigError
from hanse.kube.manifest import Key, Obj

_FEDERATION_PLACEHOLDER = "<the uid of the federation's kube-system namespace>"


@click.command("join")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--kubeconfig",
    "member_kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A kubeconfig of the clusters that join (default: $KUBECONFIG, else ~/.kube/config).",
)
@click.option(
    "--context",
    "member_context",
    default="",
    help="The context in that file (default: the one called NAME, or for a single NAME the current one).",
)
@click.option("--secret", default="", metavar="[NAMESPACE/]NAME", help="A Secret on the host that holds credentials.")
@click.option(
    "--address",
    "addresses",
    multiple=True,
    metavar="[CIDR=]URL",
    help="A further address of its API server, for clients in CIDR (repeat); tried in turn.",
)
@click.option("-l", "--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label for the Cluster (repeat).")
@click.option(
    "--service-account/--no-service-account",
    "own_account",
    default=True,
    help="Make a service account with just enough rights in the cluster, or store the given credentials themselves.",
)
@click.option(
    "--token-hours",
    type=click.IntRange(min=1),
    default=TOKEN_SECONDS // 3600,
    show_default=True,
    help="How long the service account's tokens last; they are renewed after half of it.",
)
@click.option(
    "--rotate", "renew", is_flag=True, help="Give a member's service account a new token now; needs no kubeconfig."
)
@click.option(
    "--dns-federation",
    default="",
    metavar="NAME=DOMAIN",
    help="Tell the cluster's own DNS (ConfigMap kube-system/kube-dns) of the federation's name and domain.",
)
@click.option(
    "--dns-server",
    "dns_servers",
    multiple=True,
    metavar="IP[:PORT]",
    help="With --dns-federation: a DNS server that has that domain, as the cluster reaches it (repeat).",
)
@click.option("--pull", is_flag=True, help="Let the cluster fetch its work by an agent (`hanse agent`).")
@click.option(
    "--agent-kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --pull: where to write the kubeconfig by which the agent reaches the federation.",
)
@click.option(
    "--agent-manifest",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --pull: where to write what runs the agent in the cluster, for kubectl apply.",
)
@click.option("--agent-image", default="", metavar="IMAGE", help="With --agent-manifest: the image of the agent's pod.")
@click.option("--host-address", default="", metavar="URL", help="With --pull: the federation as the agent reaches it.")
@click.option("--replace", is_flag=True, help="Take the place of another cluster that has this name.")
@click.option("--wait", "wait_seconds", type=float, default=0.0, metavar="SECONDS", help="Wait until it is Ready.")
@click.option("--dry-run", is_flag=True, help="Print what would be written and where, with secrets hidden.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="How --dry-run prints.")
@host_options
def command(
    names: tuple[str, ...],
    member_kubeconfig: Path | None,
    member_context: str,
    secret: str,
    addresses: tuple[str, ...],
    labels: tuple[str, ...],
    own_account: bool,
    token_hours: int,
    renew: bool,
    dns_federation: str,
    dns_servers: tuple[str, ...],
    pull: bool,
    agent_kubeconfig: Path | None,
    agent_manifest: Path | None,
    agent_image: str,
    host_address: str,
    replace: bool,
    wait_seconds: float,
    dry_run: bool,
    output: str,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Make clusters members of the federation, each under its NAME.

    Signs in with a kubeconfig, makes a service account with the rights that federation needs, and keeps only that
    account's token, in a Secret of the host. The credentials of the kubeconfig are used once and stored nowhere.
    With --pull nothing is done in the cluster: an agent there fetches its work with the credentials written here.
    """
    request = Request(
        labels=dict(map(_label, labels)),
        addresses=tuple(map(_address, addresses)),
        own_account=own_account,
        token_seconds=token_hours * 3600,
        replace=replace,
        dns=_dns_notice(dns_federation, dns_servers, by_kubeconfig=not (secret or renew or pull)),
    )
    _check_names(names, alone=bool(member_context or secret))
    files = AgentFiles(agent_kubeconfig, agent_manifest, agent_image, host_address)
    _check_pull(pull, files, reached=bool(member_kubeconfig or member_context or secret or renew or addresses))
    with one_sentence():
        if pull:
            if dry_run:
                _show({name: rehearsal(name, request) for name in names}, output)
                return
            files.check(names)
            host_at = host_endpoint(data_dir, kubeconfig, context)
            join_pulling(host_at, names[0], request, files)
        elif renew or secret:
            host_at = host_endpoint(data_dir, kubeconfig, context)
            if renew:
                _rotate(host_at, names, request)
            else:
                _join_by_secret(host_at, names[0], _secret_key(secret), request, output if dry_run else "")
        else:
            members = _endpoints(names, member_kubeconfig, member_context)
            if dry_run:
                _show({name: _rehearsal(name, at, request) for name, at in members.items()}, output)
                return
            host_at = host_endpoint(data_dir, kubeconfig, context)
            _join(host_at, members, request)
        if wait_seconds and not dry_run:
            run(lambda: wait_ready(host_at, names, wait_seconds))


def _join(host_at: Endpoint, members: Mapping[str, Endpoint], request: Request) -> None:
    async def one(name: str, member_at: Endpoint) -> bool:
        return await join_cluster(host_at, member_at, name, request)

    for name, member_at in members.items():
        new = run(functools.partial(one, name, member_at))
        renewed = f"cluster {name} was a member already; its credentials are renewed"
        click.echo(f"cluster {name} joined" if new else renewed)


def _join_by_secret(host_at: Endpoint, name: str, key: Key, request: Request, rehearsal: str) -> None:
    done = run(lambda: join_by_secret(host_at, name, key, request, dry_run=bool(rehearsal)))
    if isinstance(done, dict):
        _show({name: {"member": [], "host": [done]}}, rehearsal)
    else:
        click.echo(f"cluster {name} joined" if done else f"cluster {name} was a member already; it uses {key} now")


def _rotate(host_at: Endpoint, names: Sequence[str], request: Request) -> None:
    for name in names:
        run(functools.partial(rotate, host_at, name, request.token_seconds))
        click.echo(f"cluster {name} has a new token")


def _endpoints(names: Sequence[str], path: Path | None, context: str) -> dict[str, Endpoint]:
    config = _load(path)
    known = config.context_names()
    if len(names) == 1 and not context and names[0] not in known:
        return {names[0]: config.endpoint()}
    return {name: config.endpoint(context or name) for name in names}


def _load(path: Path | None) -> Kubeconfig:
    if path is not None:
        return Kubeconfig.load(path)
    listed = os.environ.get("KUBECONFIG", "")
    return Kubeconfig.load_all(listed.split(os.pathsep) if listed else [Path.home() / ".kube" / "config"])


def _rehearsal(name: str, endpoint: Endpoint, request: Request) -> dict[str, list[Obj]]:
    wish = request.wish()
    if not request.own_account:
        return {"member": [], "host": joining_manifests(name, endpoint, wish.labels, others=wish.others)}
    account = Account(name)
    token = as_account(endpoint, HIDDEN)
    return {
        "member": account_manifests(account, _FEDERATION_PLACEHOLDER, wish.kinds),
        "host": joining_manifests(name, token, wish.labels, others=wish.others, account=account.path),
    }


def _show(documents: dict[str, dict[str, list[Obj]]], output: str) -> None:
    hidden = {
        name: {where: [_hidden(obj) for obj in objects] for where, objects in places.items()}
        for name, places in documents.items()
    }
    if output == "json":
        click.echo(json.dumps(hidden, indent=2))
        return
    for name, places in hidden.items():
        for where, title in (("member", f"in the cluster {name}"), ("host", "in the federation")):
            for obj in places[where]:
                click.echo(f"---\n# {title}")
                click.echo(yaml.safe_dump(obj, sort_keys=False), nl=False)


def _hidden(obj: Obj) -> Obj:
    return {**obj, "data": dict.fromkeys(obj["data"], HIDDEN)} if obj["kind"] == "Secret" else obj


def _check_names(names: Sequence[str], *, alone: bool) -> None:
    for name in names:
        if not re.fullmatch(CLUSTER_NAME_PATTERN, name) or len(name) > CLUSTER_NAME_LENGTH:
            allowed = f"use up to {CLUSTER_NAME_LENGTH} lower-case letters, digits and -"
            raise Misuse(f"NAME: {name!r} is not a cluster name; {allowed}")
    if alone and len(names) > 1:
        raise Misuse("--context and --secret are for a single NAME; several NAMEs are the names of their contexts")


def _check_pull(pull: bool, files: AgentFiles, *, reached: bool) -> None:
    if pull and reached:
        raise Misuse("--pull: needs no way into the cluster; leave out its kubeconfig, context, secret and addresses")
    if files and not pull:
        raise Misuse("--agent-kubeconfig, --agent-manifest, --agent-image and --host-address are for --pull")


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise Misuse(f"--label: {text!r} must be KEY=VALUE")
    return key, value


def _address(text: str) -> Address:
    cidr, equals, server = text.rpartition("=")
    if equals and "/" not in cidr:
        raise Misuse(f"--address: {text!r} must be URL, or CIDR=URL with a CIDR as in 10.0.0.0/8")
    return Address(with_scheme(server), cidr)


def _dns_notice(entry: str, servers: tuple[str, ...], *, by_kubeconfig: bool) -> DnsNotice:
    if servers and not entry:
        raise Misuse("--dns-server: needs --dns-federation, which says for which domain it is asked")
    if not entry:
        return NO_NOTICE
    if not by_kubeconfig:
        raise Misuse("--dns-federation: needs a kubeconfig that may write into the cluster, not --secret or --rotate")
    try:
        check_entry(entry)
    except ValueError as error:
        raise Misuse(f"--dns-federation: {error}") from error
    try:
        return DnsNotice(entry, tuple(map(check_server, servers)))
    except ValueError as error:
        raise Misuse(f"--dns-server: {error}") from error


def _secret_key(text: str) -> Key:
    namespace, slash, name = text.rpartition("/")
    if not name:
        raise KubeconfigError("--secret: must be NAME or NAMESPACE/NAME")
    return Key(namespace if slash else SYSTEM_NAMESPACE, name)
