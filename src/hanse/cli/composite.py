"""`hanse composite`: lambda controllers from their first line to a running cluster."""

from __future__ import annotations

import click

from hanse.cli.lazy import LazyGroup

# Command: the module that has it and what `hanse composite --help` says of it.
_COMMANDS = {
    "init": ("hanse.cli.composite_init", "Write a controller that works: kind, hook, parent and test."),
    "test": ("hanse.cli.composite_trying", "Call a hook on files, and show the diff that it would make."),
    "run": ("hanse.cli.composite_run", "Run a controller out of files against a cluster, until Ctrl-C."),
    "serve": ("hanse.cli.composite_serve", "Run the controllers that a cluster has, as Metacontroller does."),
    "get": ("hanse.cli.composite_get", "Show controllers in all clusters, and why one does not run."),
}


@click.group("composite", cls=LazyGroup, modules=_COMMANDS)
def command() -> None:
    """Write, try and run lambda controllers: functions from a parent to the children that shall exist."""
