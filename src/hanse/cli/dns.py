"""`hanse dns`: the names of the federation's services, what clients are told of them, and the server that tells it."""

from __future__ import annotations

import click

from hanse.cli.lazy import LazyGroup

# Command: the module that has it and what `hanse dns --help` says of it.
_COMMANDS = {
    "records": ("hanse.cli.dns_records", "List the records of the federation's services."),
    "trace": ("hanse.cli.dns_trace", "Say what a client somewhere is told about a name, and why."),
    "serve": ("hanse.cli.dns_serve", "Answer for the federation's domain, as one of any number of servers."),
    "cluster-config": ("hanse.cli.dns_cluster_config", "Print or apply what a cluster's own DNS needs."),
}


@click.group("dns", cls=LazyGroup, modules=_COMMANDS)
def command() -> None:
    """Names of the federation's services: list them, follow one, or serve them."""
