"""`hanse vitess`: a Vitess over many clusters, and what a person does about it."""

from __future__ import annotations

import click

from hanse.cli.lazy import LazyGroup

# Command: the module that has it and what `hanse vitess --help` says of it.
_COMMANDS = {
    "status": ("hanse.cli.vitess_status", "Show cells and shards in one picture, with their primaries."),
    "plan": ("hanse.cli.vitess_plan", "Show how a VitessCluster would be split, or what is wrong with it."),
    "drain": ("hanse.cli.vitess_drain", "Have a tablet drained, or let it be."),
    "evacuate": ("hanse.cli.vitess_evacuate", "Empty a cluster: primaries first, then its tablets."),
    "reparent": ("hanse.cli.vitess_reparent", "Make another tablet the primary of a shard, in any cluster."),
}


@click.group("vitess", cls=LazyGroup, modules=_COMMANDS)
def command() -> None:
    """Look after a VitessCluster whose cells are in many clusters.

    Whatever these commands write can be written with kubectl as well: annotations of the VitessCluster, and of tablets.
    """
