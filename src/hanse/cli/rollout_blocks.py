"""`hanse rollout blocks`: what keeps rollouts from going on, and going on nevertheless."""

from __future__ import annotations

from typing import Any

import click

from hanse.api.shipper.kinds import APPLICATIONS, GLOBAL_BLOCKS_NAMESPACE, OVERRIDE_ANNOTATION, RELEASES, ROLLOUT_BLOCKS
from hanse.cli.connection import host_options
from hanse.cli.failures import Failure
from hanse.cli.output import Column, output_option, show
from hanse.cli.rollout_blocking import block_key, read_blocks
from hanse.cli.rollout_finding import application_options, namespace_option, on_host, on_rollout, write
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import Key, Obj, dig, key_of, name_of, namespace_of
from hanse.kube.resources import NAMESPACES
from hanse.rollouts.blocks.standing import concerns, overrides_of
from hanse.rollouts.reading import RolloutReading

_COLUMNS = (
    Column("NAMESPACE"),
    Column("NAME"),
    Column("HOLDS FOR"),
    Column("MESSAGE"),
    Column("AUTHOR"),
    Column("OVERRIDDEN BY", wide=True),
)


@click.group("blocks")
def command() -> None:
    """List, make, delete and override what keeps rollouts from going on."""


@command.command("list")
@namespace_option
@host_options
@output_option()
def listing(output: str, **where: Any) -> None:
    """List the blocks that hold for a namespace, or all there are."""
    blocks = on_host(where, lambda host: read_blocks(host, where["namespace"]))
    if not blocks and output in ("table", "wide"):
        click.echo("nothing blocks rollouts")
        return
    rows = [_row(each) for each in sorted(blocks, key=key_of)]
    for block in blocks:
        block["metadata"].pop("managedFields", None)
    show(output, _COLUMNS, rows, {"items": blocks}, [f"rolloutblock/{name_of(each)}" for each in blocks])


def _row(block: Obj) -> list[str]:
    key, spec = key_of(block), block.get("spec") or {}
    overrides = dig(block, "status", "overrides", default={})
    return [
        key.namespace,
        key.name,
        "every namespace" if key.namespace == GLOBAL_BLOCKS_NAMESPACE else f"namespace {key.namespace}",
        str(spec.get("message") or ""),
        str(dig(spec, "author", "name", default="")),
        ",".join(part for part in (overrides.get("application"), overrides.get("release")) if part),
    ]


@command.command("create")
@click.argument("name")
@click.option("-m", "--message", required=True, help="Why nothing shall be rolled out.")
@click.option("--author", required=True, help="Who says so: a name, a team, a ticket.")
@click.option("--author-type", default="user", show_default=True, help="What the author is.")
@click.option("--everywhere", is_flag=True, help="Hold for every namespace.")
@click.option("-n", "--namespace", default="default", show_default=True, help="The namespace that it holds for.")
@host_options
def create(
    name: str, message: str, author: str, author_type: str, everywhere: bool, namespace: str, **where: Any
) -> None:
    """Keep rollouts of a namespace, or of all, as they are: no new release, no step, no deletion."""
    place = GLOBAL_BLOCKS_NAMESPACE if everywhere else namespace
    block = {
        "apiVersion": ROLLOUT_BLOCKS.api_version,
        "kind": ROLLOUT_BLOCKS.kind,
        "metadata": {"name": name, "namespace": place},
        "spec": {"message": message, "author": {"type": author_type, "name": author}},
    }

    async def make(host: Client) -> None:
        if everywhere:
            await _have_namespace(host, place)
        try:
            await host.create(ROLLOUT_BLOCKS, block)
        except AlreadyExists:
            raise Failure(f"there is a RolloutBlock {place}/{name} already; choose another name") from None

    on_host(where, make)
    click.echo(f"rolloutblock {place}/{name} created")


async def _have_namespace(host: Client, name: str) -> None:
    try:
        await host.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    except AlreadyExists:
        return


@command.command("delete")
@click.argument("block", metavar="[NAMESPACE/]NAME")
@click.option("-n", "--namespace", default="default", show_default=True, help="The namespace of the block.")
@host_options
def delete(block: str, namespace: str, **where: Any) -> None:
    """Let rollouts go on; overrides of the block go with it."""
    key = block_key(block, namespace)

    async def remove(host: Client) -> None:
        try:
            await host.delete(ROLLOUT_BLOCKS, key.name, key.namespace)
        except NotFound:
            raise Failure(f"there is no RolloutBlock {key}; `hanse rollout blocks list` shows them") from None

    on_host(where, remove)
    click.echo(f"rolloutblock {key} deleted")


@command.command("override")
@application_options
@click.argument("blocks", nargs=-1, required=True, metavar="[NAMESPACE/]BLOCK...")
def override(application: str, blocks: tuple[str, ...], **where: Any) -> None:
    """Let one application go on although blocks hold for it.

    It adds them to the annotation shipper.booking.com/rollout-block.override of the Application and of its newest
    Release.
    """
    click.echo(on_rollout(application, where, lambda host, rollout: _override(host, rollout, blocks)))


async def _override(host: Client, rollout: RolloutReading, blocks: tuple[str, ...]) -> str:
    namespace = namespace_of(rollout.application)
    known = {key_of(obj) for obj in await read_blocks(host, namespace)}
    named = [_known_block(each, namespace, known) for each in blocks]
    contender = rollout.contender
    written = [(APPLICATIONS, rollout.application)]
    written += [] if contender is None else [(RELEASES, contender.obj)]
    for resource, obj in written:
        names = ",".join(sorted({*overrides_of(obj), *map(str, named)}))
        if set(names.split(",")) != set(overrides_of(obj)):
            await write(host, resource, obj, {"metadata": {"annotations": {OVERRIDE_ANNOTATION: names}}})
    return f"application {name_of(rollout.application)} goes on in spite of {', '.join(map(str, named))}"


def _known_block(word: str, namespace: str, known: set[Key]) -> Key:
    """Find a block by its name among those that hold for a namespace; raises Failure that lists them."""
    for key in (block_key(word, namespace), block_key(word, GLOBAL_BLOCKS_NAMESPACE)):
        if key in known and concerns(key, namespace):
            return key
    names = ", ".join(sorted(map(str, known))) or "none"
    raise Failure(f"no RolloutBlock {word} holds for namespace {namespace}; there are {names}")
