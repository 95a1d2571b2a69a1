"""Where the built command-line tools are, and a served instance for them to talk to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[3]


def built(module: str, binary: str) -> str:
    """Return the path at which `components/build` puts a module's binary, built or not."""
    asked = subprocess.run(
        [ROOT / "components" / "build", "--path", module], capture_output=True, text=True, check=True
    )
    return f"{asked.stdout.strip()}/{binary}"


def is_there(binary: str) -> bool:
    """Tell whether a binary can be run."""
    return bool(binary) and os.access(binary, os.X_OK)


@contextmanager
def served(folder: Path) -> Iterator[Path]:
    """Serve an embedded server in its own process for the length of a block; the folder holds its kubeconfig."""
    command = [sys.executable, "-m", "tests.component.apiserver.served", str(folder), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("https://")
        try:
            yield folder
        finally:
            process.kill()
