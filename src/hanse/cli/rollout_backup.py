"""`hanse rollout backup`: all applications with their releases, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import orjson
import yaml

from hanse.cli.connection import host_options
from hanse.cli.failures import Misuse
from hanse.cli.rollout_archive import read_archive
from hanse.cli.rollout_finding import on_host


@click.command("backup")
@click.option("-f", "--filename", type=click.Path(path_type=Path, dir_okay=False), help="Where to write it.")
@click.option("--format", "form", type=click.Choice(["yaml", "json"]), default="yaml", help="How to write it.")
@click.option("-n", "--namespace", default="", help="Only what is in this namespace (default: everything).")
@host_options
def command(filename: Path | None, form: str, namespace: str, **where: Any) -> None:
    """Write applications, releases, what was rendered, targets and blocks to a file, or print them.

    What was rendered holds the application's Secrets: keep the file as you keep those.
    """
    archive = on_host(where, lambda host: read_archive(host, namespace))
    text = yaml.safe_dump(archive, sort_keys=False) if form == "yaml" else orjson.dumps(archive).decode() + "\n"
    if filename is None:
        click.echo(text, nl=False)
        return
    try:
        filename.touch(mode=0o600)
        filename.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"-f: {filename} cannot be written: {error.strerror}") from error
    click.echo(f"{len(archive['items'])} objects written to {filename}")
