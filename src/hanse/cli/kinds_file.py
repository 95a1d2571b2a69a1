"""Python files that teach kinds: every `hanse.Teaching` that such a file names counts."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path

from hanse.cli.failures import Misuse
from hanse.propagation.teaching import Teaching

KINDS_VARIABLE = "HANSE_KINDS"


def read_teachings(paths: Iterable[Path]) -> tuple[Teaching, ...]:
    """Run files and return what they teach; raises Misuse where one cannot be run or teaches nothing."""
    return tuple(teaching for path in paths for teaching in _taught_in(path))


def usual_teachings() -> tuple[Teaching, ...]:
    """Return what the files teach that the environment names."""
    named = os.environ.get(KINDS_VARIABLE, "")
    return read_teachings(Path(text) for text in named.split(os.pathsep) if text)


def _taught_in(path: Path) -> list[Teaching]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise Misuse(f"--kinds: {path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise Misuse(f"--kinds: {path} cannot be run: {type(error).__name__}: {error}") from error
    found = [value for value in vars(module).values() if isinstance(value, Teaching)]
    if not found:
        raise Misuse(f"--kinds: {path} teaches no kind; give a name to a hanse.Teaching(kind=…) in it")
    return found
