"""`hanse events`: what happened in the federation and in every cluster, in the order in which it happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from hanse.cli.chronicle import Happening, concerning, story
from hanse.cli.connection import connected, host_endpoint, host_options, read_clusters
from hanse.cli.doors import read_kinds
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.family import Relatives, read_relatives
from hanse.cli.fleet import ask_members
from hanse.cli.naming import Named, kind_named, parse_named
from hanse.cli.output import FEDERATION, Column, age, output_option, show
from hanse.cli.running import run
from hanse.cli.speaking import find_copied, target_of
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj, key_of, name_of
from hanse.kube.resources import EVENTS, Resource
from hanse.kube.runtime import timestamp
from hanse.propagation.intent import Ref

_COLUMNS = (
    Column("LAST SEEN"),
    Column("CLUSTER"),
    Column("NAMESPACE", wide=True),
    Column("OBJECT"),
    Column("REASON"),
    Column("COUNT", wide=True),
    Column("MESSAGE"),
)


@dataclass(frozen=True, slots=True)
class _Told:
    happenings: list[Happening]
    now: float
    silent: dict[str, str] = field(default_factory=dict)


@click.command("events")
@click.argument("words", nargs=-1, metavar="[KIND NAME]")
@click.option(
    "-n", "--namespace", default="", help="The namespace to look in (default: that of the object, or default)."
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Look in every namespace.")
@click.option("--warnings", is_flag=True, help="Leave out what went as it should.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Show only the newest N.")
@host_options
@output_option()
def command(
    words: tuple[str, ...],
    namespace: str,
    all_namespaces: bool,
    warnings: bool,
    last: int | None,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Show events of the federation and of every cluster, the newest at the end.

    With an object: those about it, about its copies, and about the ReplicaSets and pods that came of them.

    \b
    Examples:
      hanse events -n shop
      hanse events deployment web --warnings
      hanse events -A --last 20
    """
    named = parse_named(words, "events") if words else None
    if named is not None and (not named.name or all_namespaces):
        raise Misuse("name an object, as `hanse events deployment web`, or none and a namespace with -n or -A")
    where = "" if all_namespaces or (named is not None and not namespace) else namespace or "default"
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        told = run(lambda: _read(endpoint, named, where))
    for cluster, why in told.silent.items():
        click.echo(f"warning: {cluster}: {why}", err=True)
    shown = [each for each in told.happenings if each.warning or not warnings][-(last or 0) :]
    if not shown and output in ("table", "wide"):
        click.echo("no events: they are kept for an hour by most API servers", err=True)
        return
    show(
        output,
        _COLUMNS,
        [_row(each, told.now) for each in shown],
        _document(shown, told),
        [_name(each) for each in shown],
    )


def _row(each: Happening, now: float) -> list[str]:
    seen = age(now - each.when) if each.when else "unknown"
    return [seen, each.cluster, each.namespace, each.about, each.reason, str(each.count), each.message]


def _name(each: Happening) -> str:
    return f"{each.cluster}/{each.about}"


def _document(shown: Sequence[Happening], told: _Told) -> dict[str, Any]:
    return {
        "events": [
            {
                "cluster": each.cluster,
                "lastSeen": timestamp(each.when) if each.when else None,
                "type": "Warning" if each.warning else "Normal",
                "kind": each.kind,
                "namespace": each.namespace,
                "name": each.name,
                "reason": each.reason,
                "message": each.message,
                "count": each.count,
            }
            for each in shown
        ],
        "unreachable": told.silent,
    }


async def _read(endpoint: Endpoint, named: Named | None, namespace: str) -> _Told:
    async with connected(endpoint) as host:
        if named is None:
            return await _everything(host, namespace)
        return await _about(host, await kind_named(host, named.kind), Key(namespace, named.name))


async def _everything(host: Client, namespace: str) -> _Told:
    clusters = await read_clusters(host)
    answers = await ask_members(host, clusters, lambda member: _events(member.client, namespace))
    heard: dict[str, list[Obj]] = {FEDERATION: await _events(host, namespace)}
    silent = {}
    for cluster, answer in answers.items():
        if isinstance(answer, str):
            silent[cluster] = answer
        else:
            heard[cluster] = answer
    return _Told(story(heard), host.runtime.now(), silent)


async def _about(host: Client, resource: Resource, key: Key) -> _Told:
    try:
        source, target = await find_copied(host, resource, key)
        resource, key = await host.resource_of(source), key_of(source)
    except (NotFound, Failure):
        # What happened to an object outlives it; without a namespace there is only the usual one to look in.
        key = Key(key.namespace or ("default" if resource.namespaced else ""), key.name)
        target = target_of(await read_kinds(host), Ref(resource, key))
    where = key.namespace or "default"

    async def ask(member: Member) -> tuple[Relatives, list[Obj]]:
        relatives = await read_relatives(member.client, target.resource, target.key.name, target.key.namespace)
        return relatives, await _events(member.client, where)

    answers = await ask_members(host, await read_clusters(host), ask)
    heard: dict[str, list[Obj]] = {FEDERATION: await _events(host, where)}
    relatives: dict[str, set[str]] = {}
    silent = {}
    for cluster, answer in answers.items():
        if isinstance(answer, str):
            silent[cluster] = answer
        else:
            heard[cluster] = answer[1]
            relatives[cluster] = {f"{obj['kind']}/{name_of(obj)}" for obj in answer[0].all()}
    about = {(resource.kind, key), (target.resource.kind, target.key)}
    return _Told(concerning(story(heard), about, relatives), host.runtime.now(), silent)


async def _events(client: Client, namespace: str) -> list[Obj]:
    return (await client.list(EVENTS, namespace)).items
