"""`hanse rollout`: applications on their way through the clusters, and everything that a person does about them."""

from __future__ import annotations

import click

from hanse.cli.lazy import LazyGroup

# Command: the module that has it and what `hanse rollout --help` says of it.
_COMMANDS = {
    "get": ("hanse.cli.rollout_get", "Show applications, or one down to its pods and what it waits for."),
    "status": ("hanse.cli.rollout_status", "Wait until a step is achieved, or the rollout complete."),
    "promote": ("hanse.cli.rollout_promote", "Go on to the next step, to a certain one, or to the last."),
    "pause": ("hanse.cli.rollout_pause", "Freeze a rollout where it is."),
    "resume": ("hanse.cli.rollout_resume", "Let a paused rollout go on."),
    "abort": ("hanse.cli.rollout_abort", "Give a rollout up and go back to the release before."),
    "undo": ("hanse.cli.rollout_undo", "Roll out again what an earlier release was made of."),
    "retry": ("hanse.cli.rollout_retry", "Try again what a check, a deadline or a source stopped."),
    "history": ("hanse.cli.rollout_history", "List the releases of an application."),
    "diff": ("hanse.cli.rollout_diff", "Show in what two releases differ."),
    "blocks": ("hanse.cli.rollout_blocks", "List, make, delete and override what blocks rollouts."),
    "render": ("hanse.cli.rollout_render", "Print the manifests that would be installed."),
    "pack": ("hanse.cli.rollout_pack", "Make a ConfigMap of a folder, for configmap:// sources."),
    "backup": ("hanse.cli.rollout_backup", "Write all applications with their releases to a file."),
    "restore": ("hanse.cli.rollout_restore", "Make applications and releases again from such a file."),
}


@click.group("rollout", cls=LazyGroup, modules=_COMMANDS)
def command() -> None:
    """Roll applications out over many clusters, one careful step at a time.

    Whatever these commands write can be written with kubectl as well: a Release's spec.targetStep, annotations, and an
    Application's template.
    """
