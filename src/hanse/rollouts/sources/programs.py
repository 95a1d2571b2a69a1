"""Where the programs are that render manifests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def find_program(name: str, given: str, variable: str) -> str | None:
    """Return the path of a program: as given, else as an environment variable says, else from PATH, else as built here.

    What is given or named must be there: nothing else is taken in its place.
    """
    named = given or os.environ.get(variable, "")
    if named:
        return _absolute(shutil.which(named))
    return _absolute(shutil.which(name)) or _built(name)


def _built(name: str) -> str | None:
    """Return the newest that was built into the cache of a checkout (`make helm`, `make kubernetes`)."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path(os.environ.get("HOME") or "/") / ".cache")
    cache = Path(os.environ.get("HANSE_CACHE") or Path(home, "hanse"))
    found = [path for path in sorted(cache.glob(f"components/*/{name}")) if os.access(path, os.X_OK)]
    return str(found[-1]) if found else None


def _absolute(path: str | None) -> str | None:
    return str(Path(path).absolute()) if path else None
