"""The door of lambda controllers on the command line: what was asked for, and what is told of it."""

from __future__ import annotations

import json
from collections.abc import Callable

import click

from hanse.cli.composite_door import CompositeWish, close_composites, open_composites
from hanse.cli.composite_rights import RIGHTS_LABEL, RIGHTS_VALUE, NamedKind, parse_kind
from hanse.cli.door_members import SignIn
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.output import show_documents
from hanse.cli.running import run
from hanse.kube.kubeconfig import Endpoint


def parse_kinds(said: str) -> tuple[NamedKind, ...]:
    """Read a list of kinds; raises Misuse."""
    try:
        return tuple(dict.fromkeys(parse_kind(word.strip()) for word in said.split(",") if word.strip()))
    except ValueError as error:
        raise Misuse(f"--kinds: {error}") from error


def enable_composites(find: Callable[[], Endpoint], wish: CompositeWish, rehearsed_as: str) -> None:
    """Open the door of a cluster and say so; `rehearsed_as` yaml or json, only print what would be written there."""
    with one_sentence():
        endpoint = find()
        opening = run(lambda: open_composites(endpoint, wish, writes=not rehearsed_as))
    if rehearsed_as == "json":
        click.echo(json.dumps({f"in the cluster {wish.cluster}": list(opening.manifests)}, indent=2))
        return
    if rehearsed_as:
        show_documents(opening.manifests)
        for note in opening.notes:
            click.echo(f"# {note}")
        return
    written = ", ".join(map(str, wish.kinds))
    click.echo(
        f"the lambda controllers of cluster {wish.cluster} are run" + (f"; they may write {written}" if written else "")
    )
    for note in opening.notes:
        click.echo(f"note: {note}")
    click.echo(f"to let them do more, label a ClusterRole there with {RIGHTS_LABEL}={RIGHTS_VALUE}")


def disable_composites(
    endpoint: Endpoint, cluster: str, sign_in: SignIn, patience: float, agreed: Callable[[str], bool]
) -> None:
    """Close the door of a cluster and say what is so then; raises Failure."""
    lines = run(lambda: close_composites(endpoint, cluster, sign_in, patience, agreed))
    if lines is None:
        raise Failure("nothing was changed")
    for line in lines:
        click.echo(line)
