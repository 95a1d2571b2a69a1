"""Questions that commands ask while they are connected."""

import asyncio
import io
import signal

import click
import pytest

from hanse.cli.asking import confirmed


class PressedCtrlC(io.StringIO):
    """Somebody who presses Ctrl-C before they answer."""

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        signal.raise_signal(signal.SIGINT)
        return "y\n"


async def ask() -> bool:
    return confirmed("close the door?")


def test_ctrl_c_at_a_question_within_a_loop_ends_the_command(monkeypatch):
    monkeypatch.setattr("sys.stdin", PressedCtrlC())

    with pytest.raises(click.Abort):
        asyncio.run(ask())


@pytest.mark.parametrize(("answer", "agreed"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_an_answer_is_what_was_typed_and_no_is_the_default(monkeypatch, answer, agreed):
    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))

    assert asyncio.run(ask()) is agreed
    assert signal.getsignal(signal.SIGINT) is handler
