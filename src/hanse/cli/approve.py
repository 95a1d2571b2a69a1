"""`hanse approve`: what waits for a person's word, and giving it.

Two things wait: a change that would take away more than half of a front door's objects, and the next group of clusters
of a rollout whose policy asks for approval. What is approved is what was shown: if that has changed, nothing is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import orjson

from hanse.api.held_changes import HELD_CHANGES
from hanse.api.names import ROLLOUT_ANNOTATION, ROLLOUT_APPROVED_ANNOTATION
from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.doors import read_kinds
from hanse.cli.failures import Failure, one_sentence
from hanse.cli.naming import find_source, kind_named, parse_named, require_name
from hanse.cli.output import Column, output_option, show
from hanse.cli.running import run
from hanse.kube.client import Client, WriteOptions
from hanse.kube.errors import Conflict, NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj, annotations_of, dig, name_of, namespace_of, version_of
from hanse.kube.resources import Resource

_COLUMNS = (Column("WHAT"), Column("NAMESPACE"), Column("WAITS FOR"), Column("EXAMPLES", wide=True))


@dataclass(frozen=True, slots=True)
class Waiting:
    """One thing that waits for a person: what to call it on the command line, and the patch that approves it."""

    resource: Resource
    obj: Obj
    name: str
    why: str
    patch: Obj
    examples: tuple[str, ...] = ()

    def as_mapping(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "name": self.name,
            "namespace": namespace_of(self.obj),
            "why": self.why,
            "examples": list(self.examples),
        }


@click.command("approve")
@click.argument("words", nargs=-1, metavar="[CHANGE | KIND NAME]")
@click.option("-n", "--namespace", default="", help="The namespace of the object (default: where the name is found).")
@click.option("--dry-run", is_flag=True, help="Say what would be approved, and approve nothing.")
@host_options
@output_option()
def command(
    words: tuple[str, ...],
    namespace: str,
    dry_run: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """List what waits for approval, or approve it.

    \b
    hanse approve                  what waits, and why
    hanse approve native           let a held change of plain objects go on
    hanse approve federated        let a held change of FederatedDeployments and their like go on
    hanse approve dns-main         let services lose their names in the zone of the DNSZone main
    hanse approve deployment web   let a rollout go on to its next group of clusters
    """
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        waiting = run(lambda: _answer(endpoint, words, namespace, dry_run))
    if output in ("table", "wide") and (words or not waiting):
        done = "would be approved" if dry_run else "approved"
        click.echo(f"{waiting[0].name} {done}: {waiting[0].why}" if words else "nothing waits for approval")
        return
    rows = [[each.name, namespace_of(each.obj), each.why, ", ".join(each.examples)] for each in waiting]
    show(output, _COLUMNS, rows, {"items": [each.as_mapping() for each in waiting]}, [each.name for each in waiting])


async def _answer(endpoint: Endpoint, words: tuple[str, ...], namespace: str, dry_run: bool) -> list[Waiting]:
    async with connected(endpoint) as host:
        if not words:
            return await list_waiting(host)
        return [await approve(host, words, namespace, dry_run=dry_run)]


async def list_waiting(host: Client) -> list[Waiting]:
    """Return everything that waits for a person's word."""
    return [*await held_changes(host), *await _rollouts(host)]


async def approve(host: Client, words: tuple[str, ...], namespace: str = "", *, dry_run: bool = False) -> Waiting:
    """Approve what is named; raises Failure where it does not wait, or is no longer what was shown."""
    waiting = await _named(host, words, namespace)
    metadata = {**waiting.patch.get("metadata", {}), "resourceVersion": version_of(waiting.obj)}
    patch, options = {**waiting.patch, "metadata": metadata}, WriteOptions(dry_run=dry_run)
    try:
        await host.patch(waiting.resource, name_of(waiting.obj), patch, namespace_of(waiting.obj), options=options)
    except Conflict as error:
        raise Failure(f"{waiting.name} has changed meanwhile; look at it again with `hanse approve`") from error
    return waiting


async def _named(host: Client, words: tuple[str, ...], namespace: str) -> Waiting:
    if len(words) == 1 and "/" not in words[0]:
        for change in await held_changes(host):
            if change.name == words[0]:
                return change
        raise Failure(f"no change {words[0]!r} waits for approval; `hanse approve` lists what does")
    named = require_name(parse_named(words, "approve"), "approve")
    resource = await kind_named(host, named.kind)
    found = _rollout(resource, await find_source(host, resource, Key(namespace, named.name)))
    if found is None:
        raise Failure(f"no rollout of {named.kind} {named.name} waits for approval; `hanse approve` lists what does")
    return found


async def held_changes(host: Client) -> list[Waiting]:
    """Return the changes that reach too far to be made unasked."""
    try:
        items = (await host.list(HELD_CHANGES)).items
    except NotFound:
        return []
    return [_held_change(obj) for obj in items if dig(obj, "spec", "approved") is not True]


def _held_change(obj: Obj) -> Waiting:
    spec = obj["spec"]
    where = ", ".join(f"{entry['name']} ({entry['objects']})" for entry in spec["clusters"])
    why = spec.get("what") or f"{spec['objects']} of {spec['of']} objects would leave clusters that have them: {where}"
    examples = tuple(spec.get("examples") or ())
    return Waiting(HELD_CHANGES, obj, name_of(obj), why, {"spec": {"approved": True}}, examples)


async def _rollouts(host: Client) -> list[Waiting]:
    found = []
    for resource in (await read_kinds(host)).resources:
        try:
            items = (await host.list(resource)).items
        except NotFound:
            continue
        found += [waiting for obj in items if (waiting := _rollout(resource, obj)) is not None]
    return found


def _rollout(resource: Resource, obj: Obj) -> Waiting | None:
    try:
        kept = orjson.loads(annotations_of(obj).get(ROLLOUT_ANNOTATION, ""))
    except orjson.JSONDecodeError:
        return None
    group, template = dig(kept, "asksFor"), dig(kept, "template")
    if not isinstance(group, int) or not isinstance(template, str):
        return None
    patch = {"metadata": {"annotations": {ROLLOUT_APPROVED_ANNOTATION: f"{template}/{group}"}}}
    why = f"its new version goes on to group {group + 1} of its rollout"
    return Waiting(resource, obj, f"{resource.kind.lower()}/{name_of(obj)}", why, patch)
