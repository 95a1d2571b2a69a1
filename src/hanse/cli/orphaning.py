"""`hanse orphaning-deletion`: whether the copies of a federated object stay in clusters when it is deleted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from hanse.api.kubefed.forms import FORM_D
from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.failures import one_sentence
from hanse.cli.federated_types import one_kind, type_of_objects
from hanse.cli.naming import find_source, parse_named, require_name
from hanse.cli.output import Column, output_option, show
from hanse.cli.running import run
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, annotations_of, key_of

_COLUMNS = (Column("OBJECT"), Column("ORPHANING"))


@dataclass(frozen=True, slots=True)
class _Answer:
    named: str
    enabled: bool

    @property
    def word(self) -> str:
        return "Enabled" if self.enabled else "Disabled"


@click.command("orphaning-deletion")
@click.argument("wish", type=click.Choice(["enable", "disable", "status"]), metavar="enable|disable|status")
@click.argument("words", nargs=-1, required=True, metavar="TYPE NAME")
@click.option("-n", "--namespace", default="", help="The namespace of the object (default: default, else where it is).")
@host_options
@output_option()
def command(
    wish: str,
    words: tuple[str, ...],
    namespace: str,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Say whether deleting a federated object leaves its copies in the clusters, or have it so.

    `hanse orphaning-deletion enable fdeploy web` sets the annotation that KubeFed has for it, `disable` takes it off.
    """
    named = require_name(parse_named(words, f"orphaning-deletion {wish}"), f"orphaning-deletion {wish}")
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        answer = run(lambda: _ask(endpoint, wish, named.kind, Key(namespace, named.name)))
    document = {"object": answer.named, "orphaning": answer.word}
    if output == "table":
        # As kubefedctl answers, so that scripts go on working.
        click.echo(answer.word)
    else:
        show(output, _COLUMNS, [[answer.named, answer.word]], document, [answer.named])


async def _ask(endpoint: Endpoint, wish: str, word: str, key: Key) -> _Answer:
    async with connected(endpoint) as host:
        known = await type_of_objects(host, await one_kind(host, word))
        source = await find_source(host, known.federated, key)
        annotation = (known.form or FORM_D).orphan_annotation
        if wish != "status":
            found = key_of(source)
            value = "true" if wish == "enable" else None
            patch = {"metadata": {"annotations": {annotation: value}}}
            source = await host.patch(known.federated, found.name, patch, found.namespace)
        named = f"{known.federated.group_resource}/{key_of(source)}"
        return _Answer(named, annotations_of(source).get(annotation) == "true")
