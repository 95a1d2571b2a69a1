"""The conversation of `hanse migrate`, whatever is taken over: show what would be done, ask, do it, tell."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import click

from hanse.api.names import HOST_ANNOTATION, SYSTEM_NAMESPACE
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.running import run
from hanse.kube.client import Client
from hanse.kube.resources import NAMESPACES

# Somebody may change an object while it is looked at; nobody does so for ever.
ROUNDS = 5


class Migration(Protocol):
    """What there is to take over."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to take over."""

    @property
    def unanswered(self) -> list[str]:
        """What could not be looked at."""


M = TypeVar("M", bound=Migration)


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody asked for on the command line."""

    dry_run: bool
    yes: bool
    force: bool
    output: str

    def __post_init__(self) -> None:
        if self.asks and self.output not in ("table", "wide"):
            raise Misuse("-o: give --yes or --dry-run with it, since nobody can answer a question in a document")

    @property
    def asks(self) -> bool:
        """Whether a person decides once they have seen what would be done."""
        return not self.dry_run and not self.yes


@dataclass(frozen=True, slots=True)
class Ways(Generic[M]):
    """How one system is taken over; `require_stopped` raises Failure while it still runs."""

    require_stopped: Callable[[], Coroutine[Any, Any, None]]
    rehearse: Callable[[], Coroutine[Any, Any, M]]
    migrate: Callable[[], Coroutine[Any, Any, M]]
    show: Callable[[str, M, bool], None]
    summary: Callable[[M], str]


def converse(asked: Asked, ways: Ways[M]) -> None:
    """Take a system over as far as somebody wants it."""
    with one_sentence():
        if not asked.dry_run and not asked.force:
            run(ways.require_stopped)
        if asked.asks or asked.dry_run:
            planned = run(ways.rehearse)
            ways.show(asked.output, planned, False)
        if asked.dry_run:
            return
        if asked.asks and not planned.is_done:
            click.confirm("Take this over?", abort=True)
        done = run(ways.migrate)
    if asked.asks:
        click.echo(ways.summary(done))
    else:
        ways.show(asked.output, done, True)
    if done.unanswered:
        raise Failure(f"{', '.join(done.unanswered)} could not be looked at; run the command again when that is mended")
    if not done.is_done:
        raise Failure("objects were changed all the time while they were taken over; run the command again")


async def keep_plain_objects(host: Client) -> None:
    """Say on the host that it is a cluster of its own: what runs there was never meant for the others."""
    said = {"metadata": {"annotations": {HOST_ANNOTATION: "existing"}}}
    await host.patch(NAMESPACES, SYSTEM_NAMESPACE, said)
