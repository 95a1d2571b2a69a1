"""`hanse down`: stop a federation that was started with `up`."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import click

from hanse.cli.connection import data_dir_option, default_data_dir
from hanse.cli.embedded.folder import Folder
from hanse.cli.failures import Failure

_PATIENCE_SECONDS = 30.0


@click.command("down")
@data_dir_option()
def command(data_dir: Path | None) -> None:
    """Stop a federation that was started with `up`; its data stays."""
    folder = Folder(data_dir or default_data_dir())
    pid = folder.holder()
    if not pid:
        click.echo(f"no federation is running in {folder.path}")
        return
    record = folder.read()
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while folder.holder() == pid:
        if time.monotonic() > deadline:
            raise Failure(f"process {pid} does not stop; its log is {folder.log}")
        time.sleep(0.05)
    if record is not None and record.ephemeral:
        click.echo("the federation has stopped and leaves nothing behind")
        return
    click.echo(f"the federation in {folder.path} has stopped; `hanse up` starts it where it was")
