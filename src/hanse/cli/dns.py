"""`hanse dns`: the names of the federation's services, what clients are told of them, and the server that tells it."""

from __future__ import annotations

import importlib
from typing import Any

import click

# Command: the module that has it and what `hanse dns --help` says of it.
_COMMANDS = {
    "records": ("hanse.cli.dns_records", "List the records of the federation's services."),
    "trace": ("hanse.cli.dns_trace", "Say what a client somewhere is told about a name, and why."),
    "serve": ("hanse.cli.dns_serve", "Answer for the federation's domain, as one of any number of servers."),
    "cluster-config": ("hanse.cli.dns_cluster_config", "Print or apply what a cluster's own DNS needs."),
}


class _Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(_COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}; `hanse dns --help` lists them")
        return super().resolve_command(ctx, args)


@click.group("dns", cls=_Group)
def command() -> None:
    """Names of the federation's services: list them, follow one, or serve them."""
