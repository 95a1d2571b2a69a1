"""`hanse rollout diff`: in what two releases of an application differ."""

from __future__ import annotations

from typing import Any

import click
import orjson
import yaml

from hanse.api.pieces import PIECES
from hanse.api.shipper.kinds import RELEASE_LABEL
from hanse.cli.failures import Failure, Misuse
from hanse.cli.rollout_comparing import Difference, Side, differences
from hanse.cli.rollout_finding import application_options, on_rollout, require_contender, require_release
from hanse.kube.client import Client
from hanse.kube.manifest import name_of, namespace_of
from hanse.rollouts.reading import ReleaseReading, RolloutReading

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command("diff")
@application_options
@click.argument("releases", nargs=-1, metavar="[RELEASE] [RELEASE]")
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", help="How to print it.")
def command(application: str, releases: tuple[str, ...], output: str, **where: Any) -> None:
    """Show in what two releases differ: what they are made of, and the manifests that came of it.

    Without names it is the incumbent and the contender, with one name that release and the contender. Values of Secrets
    are hidden. A release's own name is shown as RELEASE.
    """
    if len(releases) > 2:
        raise Misuse(f"diff takes two releases; {len(releases)} were given")

    async def compare(host: Client, rollout: RolloutReading) -> list[Difference]:
        one, other = chosen(rollout, releases)
        return differences(await _side(host, one), await _side(host, other))

    found = on_rollout(application, where, compare)
    document = {"differences": [{"of": each.title, "diff": each.diff} for each in found]}
    if output == "json":
        click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
    elif output == "yaml":
        click.echo(yaml.safe_dump(document, sort_keys=False), nl=False)
    elif not found:
        click.echo("the two releases do not differ")
    else:
        click.echo("\n".join(_told(each) for each in found))


def chosen(rollout: RolloutReading, names: tuple[str, ...]) -> tuple[ReleaseReading, ReleaseReading]:
    """Return the two releases that are meant, the earlier one first where nothing else is said; raises Failure."""
    if len(names) == 2:
        return require_release(rollout, names[0]), require_release(rollout, names[1])
    contender = require_contender(rollout)
    if names:
        return require_release(rollout, names[0]), contender
    if rollout.incumbent is None:
        way = "; name two releases" if len(rollout.releases) > 1 else ""
        raise Failure(f"release {contender.name} has no complete one before it to be compared with{way}")
    return rollout.incumbent, contender


async def _side(host: Client, release: ReleaseReading) -> Side:
    labels = f"{RELEASE_LABEL}={name_of(release.obj)}"
    return Side(release.obj, (await host.list(PIECES, namespace_of(release.obj), labels=labels)).items)


def _told(difference: Difference) -> str:
    lines = [click.style(line, fg=_COLOURS.get(line[:1])) for line in difference.diff.splitlines()[2:]]
    return "\n".join([click.style(difference.title, bold=True), *lines, ""])
