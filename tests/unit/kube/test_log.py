"""Loggers load what writes lines with the first line, and are set up with it."""

from __future__ import annotations

import subprocess
import sys

import pytest
import structlog
from structlog.testing import capture_logs

from hanse.kube.log import Log, configure_with_first_line


@pytest.fixture(autouse=True)
def untouched_settings():
    configure_with_first_line(structlog.reset_defaults)
    before = structlog.get_config()
    Log("test").debug("What another test left to be set up is set up")
    yield
    structlog.configure(**before)


def test_a_line_carries_its_sentence_and_facts() -> None:
    with capture_logs() as lines:
        Log("test").warning("A loop will try again", key="default/web")

    assert lines == [{"event": "A loop will try again", "key": "default/web", "log_level": "warning"}]


def test_an_exception_is_told_with_the_one_that_is_handled() -> None:
    with capture_logs() as lines:
        try:
            raise ValueError("broken")
        except ValueError:
            Log("test").exception("Failed on a bug")

    assert lines == [{"event": "Failed on a bug", "exc_info": True, "log_level": "error"}]


def test_lines_are_set_up_once_and_only_when_the_first_is_written() -> None:
    calls: list[str] = []
    configure_with_first_line(lambda: calls.append("configured"))
    assert calls == []

    with capture_logs():
        Log("test").info("One")
        Log("test").info("Two")

    assert calls == ["configured"]


def test_a_server_in_process_loads_neither_what_writes_logs_nor_what_listens() -> None:
    asked = "import sys, hanse.apiserver; print(sorted({'aiohttp', 'rich', 'structlog'} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert told.stdout == "[]\n"
