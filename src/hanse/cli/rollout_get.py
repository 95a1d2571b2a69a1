"""`hanse rollout get`: all applications in one table, or one as a tree down to its pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from hanse.api.clusters import Cluster
from hanse.api.shipper.kinds import APP_LABEL
from hanse.cli.connection import connected, host_options, read_clusters
from hanse.cli.failures import Misuse, one_sentence
from hanse.cli.fleet import ask_members
from hanse.cli.output import Column, echo, output_option, show, table
from hanse.cli.rollout_finding import (
    Where,
    endpoint_of,
    find_rollout,
    list_rollouts,
    namespace_option,
    on_host,
)
from hanse.cli.rollout_following import Followed
from hanse.cli.rollout_tree import COLUMNS, document, outcome_word, rows, summary, tree_of
from hanse.cli.running import run, until_signalled
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden
from hanse.kube.manifest import Key, Obj, key_of, name_of, namespace_of
from hanse.kube.resources import PODS
from hanse.rollouts.reading import RolloutReading, step_title

_TABLE = (
    Column("NAMESPACE"),
    Column("NAME"),
    Column("CONTENDER"),
    Column("STEP"),
    Column("STATE"),
    Column("WAITS FOR"),
    Column("INCUMBENT", wide=True),
    Column("CLUSTERS", wide=True),
)


@click.command("get")
@click.argument("application", required=False, default="", metavar="[APP]")
@click.option("-w", "--watch", is_flag=True, help="Go on, and print again what has changed.")
@namespace_option
@host_options
@output_option()
def command(application: str, watch: bool, output: str, **where: Any) -> None:
    """Show applications and how their rollouts stand, or one of them as a tree.

    The tree has the releases, their clusters with capacity (pods available of those wanted) and traffic (weight reached
    of that wanted), and the pods as the clusters tell of them. A cluster that does not answer says why on its line.
    """
    if watch and output not in ("table", "wide"):
        raise Misuse(f"-w prints tables only; leave out -o {output}")
    if watch:
        with one_sentence():
            run(lambda: until_signalled(_follow(application, where, output)))
    elif application:
        rollout, pods = on_host(where, lambda host: _tree(host, Key(where["namespace"], application)))
        laid = rows(tree_of(rollout, pods))
        show(output, COLUMNS, laid, document(rollout, pods), [f"release/{each.name}" for each in rollout.releases])
    else:
        _print_all(on_host(where, lambda host: list_rollouts(host, where["namespace"])), where["namespace"], output)


def _print_all(rollouts: list[RolloutReading], namespace: str, output: str) -> None:
    if not rollouts and output in ("table", "wide"):
        place = f" in namespace {namespace}" if namespace else ""
        click.echo(f"there is no application{place}; `kubectl apply` one (examples/rollouts)", err=True)
        return
    names = [f"application/{name_of(each.application)}" for each in rollouts]
    show(output, _TABLE, [_row(each) for each in rollouts], {"items": [summary(each) for each in rollouts]}, names)


def _row(rollout: RolloutReading) -> list[str]:
    contender, incumbent = rollout.contender, rollout.incumbent
    return [
        namespace_of(rollout.application),
        name_of(rollout.application),
        contender.name if contender else "",
        step_title(contender.obj, contender.target_step) if contender else "",
        outcome_word(rollout.verdict.outcome),
        rollout.verdict.why,
        incumbent.name if incumbent else "",
        ",".join(each.name for each in contender.clusters) if contender else "",
    ]


async def _tree(host: Client, key: Key) -> tuple[RolloutReading, dict[str, list[Obj] | str]]:
    rollout = await find_rollout(host, key)
    return rollout, await read_pods(host, rollout)


async def read_pods(host: Client, rollout: RolloutReading) -> dict[str, list[Obj] | str]:
    """Ask every cluster that has a release of an application for its pods."""
    used = {cluster.name for release in rollout.releases for cluster in release.clusters}
    key = key_of(rollout.application)

    async def pods(member: Member) -> list[Obj]:
        return (await member.client.list(PODS, key.namespace, labels=f"{APP_LABEL}={key.name}")).items

    try:
        clusters = await read_clusters(host)
    except Forbidden as error:
        # An application's team need not be allowed to look into clusters.
        return dict.fromkeys(used, str(error))
    return await ask_members(host, _among(clusters, used), pods)


def _among(clusters: list[Cluster], used: set[str]) -> list[Cluster]:
    return [cluster for cluster in clusters if cluster.name in used]


async def _follow(application: str, where: Where, output: str) -> None:
    async with connected(endpoint_of(where)) as host:
        key = Key(where["namespace"], application)
        if application:
            key = key_of((await find_rollout(host, key)).application)
        await follow(host, key, echo, wide=output == "wide")


async def follow(host: Client, key: Key, tell: Callable[[str], None], *, wide: bool) -> None:
    """Tell everything at first, and again whenever it has changed, until cancelled; without a name of all."""
    before, following = "", Followed(host, key)
    while True:
        text = await _told(host, await following.look(), key.name, wide=wide)
        if text != before:
            tell(text if not before else f"\n{text}")
        before = text
        await following.rest()


async def _told(host: Client, rollouts: list[RolloutReading], application: str, *, wide: bool) -> str:
    if not application:
        return table(_TABLE, [_row(each) for each in rollouts], wide=wide)
    if not rollouts:
        return f"application {application} is gone\n"
    pods = await read_pods(host, rollouts[0])
    return table(COLUMNS, rows(tree_of(rollouts[0], pods)), wide=wide)
