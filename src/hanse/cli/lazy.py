"""Groups of commands of which each is imported when it is called: most of them need what the others do not."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from hanse.cli.loading import undisturbed


class LazyGroup(click.Group):
    """A group that knows of its commands only their names, their modules and a line of help each."""

    def __init__(self, *args: Any, modules: Mapping[str, tuple[str, str]], **options: Any) -> None:
        """`modules` has for each command the module whose `command` it is, and what `--help` says of it."""
        super().__init__(*args, **options)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._modules:
            return None
        with undisturbed():
            module = importlib.import_module(self._modules[cmd_name][0])
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._modules.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in self._modules and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}; `{ctx.command_path} --help` lists them")
        return super().resolve_command(ctx, args)
