"""How a command ends when it cannot do what was asked: one sentence, and an exit code that says of what sort.

1  what was asked for was not done (refused, not found, not reachable)
2  the command line or a file on it is wrong; nothing was changed
130  interrupted
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from hanse.kube.errors import ApiError
from hanse.kube.kubeconfig import KubeconfigError
from hanse.kube.transport import Unreachable


class Failure(click.ClickException):
    """Something that was asked for could not be done."""

    exit_code = 1

    def show(self, file: object = None) -> None:
        """Print the sentence."""
        click.echo(f"error: {self.format_message()}", err=True)


class Misuse(Failure):
    """The command line, or a file that it names, is wrong."""

    exit_code = 2


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn what can go wrong with an API server into one sentence for a person."""
    try:
        yield
    except KubeconfigError as error:
        raise Misuse(str(error)) from error
    except (ApiError, Unreachable) as error:
        raise Failure(str(error)) from error
