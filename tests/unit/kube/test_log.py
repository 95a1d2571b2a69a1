"""Loggers load what writes lines with the first line, and are set up with it."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from typing import Any

from hanse.cli.running import log_to
from hanse.kube.log import Log, configure_with_first_line


def test_a_line_carries_its_sentence_and_facts(log_lines: list[Any]) -> None:
    Log("test").warning("A loop will try again", key="default/web")

    assert log_lines == [{"event": "A loop will try again", "key": "default/web", "log_level": "warning"}]


def test_an_exception_is_told_with_the_one_that_is_handled(log_lines: list[Any]) -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        Log("test").exception("Failed on a bug")

    assert log_lines == [{"event": "Failed on a bug", "exc_info": True, "log_level": "error"}]


def test_new_settings_reach_a_logger_that_has_written_already(log_lines: list[Any]) -> None:
    log, silent, loud = Log("test"), io.StringIO(), io.StringIO()
    for stream, level in ((silent, logging.ERROR), (loud, logging.INFO)):
        log_to(stream, level=level)
        log.info("Told or not")

    assert (silent.getvalue(), "Told or not" in loud.getvalue()) == ("", True)


def test_lines_are_set_up_once_and_only_when_the_first_is_written(log_lines: list[Any]) -> None:
    calls: list[str] = []
    configure_with_first_line(lambda: calls.append("configured"))
    assert calls == []

    Log("test").info("One")
    Log("test").info("Two")

    assert calls == ["configured"]


def test_a_server_in_process_loads_neither_what_writes_logs_nor_what_listens() -> None:
    asked = "import sys, hanse.apiserver; print(sorted({'aiohttp', 'rich', 'structlog'} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert told.stdout == "[]\n"
