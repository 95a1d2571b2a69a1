"""`hanse join`: make a cluster a member of the federation."""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.running import run
from hanse.clusters.joining import already_another, join, joining_manifests
from hanse.kube.errors import ApiError
from hanse.kube.kubeconfig import Endpoint, Kubeconfig
from hanse.kube.manifest import Obj, uid_of
from hanse.kube.resources import NAMESPACES
from hanse.kube.transport import Unreachable

_CLUSTER_NAME_LENGTH = 63


@click.command("join")
@click.argument("name")
@click.option(
    "--kubeconfig",
    "member_kubeconfig",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A kubeconfig of the cluster that joins.",
)
@click.option("--context", "member_context", default="", help="The context in that file (default: its current one).")
@click.option("-l", "--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label for the Cluster (repeat).")
@click.option("--replace", is_flag=True, help="Take the place of another cluster that has this name.")
@click.option("--dry-run", is_flag=True, help="Print what would be written to the host, with secrets hidden.")
@host_options
def command(
    name: str,
    member_kubeconfig: Path,
    member_context: str,
    labels: tuple[str, ...],
    replace: bool,
    dry_run: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Make the cluster of a kubeconfig context a member of the federation, under NAME."""
    _check_name(name)
    with one_sentence():
        endpoint = Kubeconfig.load(member_kubeconfig).endpoint(member_context)
        manifests = joining_manifests(name, endpoint, dict(_label(text) for text in labels))
        if dry_run:
            click.echo(yaml.safe_dump_all([_hidden(obj) for obj in manifests], sort_keys=False), nl=False)
            return
        host = host_endpoint(data_dir, kubeconfig, context)
        new = run(lambda: _join(host, endpoint, manifests, replace=replace))
    click.echo(f"cluster {name} joined" if new else f"cluster {name} was a member already; its credentials are renewed")


async def _join(host_at: Endpoint, member_at: Endpoint, manifests: list[Obj], *, replace: bool) -> bool:
    async with connected(member_at) as member:
        try:
            uid = uid_of(await member.get(NAMESPACES, "kube-system"))
        except (Unreachable, ApiError) as error:
            raise Failure(f"the cluster was not joined: {error}") from error
    async with connected(host_at) as host:
        name = manifests[-1]["metadata"]["name"]
        other = await already_another(host, name, uid)
        if other and not replace:
            raise Failure(
                f"another cluster, {other}, is a member under the name {name}; choose another name, or take its place "
                "with --replace (what Hanse has put into it stays there)"
            )
        return await join(host, manifests)


def _check_name(name: str) -> None:
    plain = name.replace("-", "a")
    starts_well = name[:1].isalpha() and name[-1:] != "-"
    if not (starts_well and plain.isalnum() and plain.isascii() and name == name.lower()) or len(name) > 63:
        raise Misuse(
            f"NAME: {name!r} is not a cluster name; use up to {_CLUSTER_NAME_LENGTH} lower-case letters, digits and -"
        )


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise Misuse(f"--label: {text!r} must be KEY=VALUE")
    return key, value


def _hidden(obj: Obj) -> Obj:
    if obj["kind"] != "Secret":
        return obj
    return {**obj, "data": dict.fromkeys(obj["data"], "<hidden>")}
