"""The folder of one balancer: held by one Hanse at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hanse.services.balancing.balancer import BalancerFailure


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder, made for its owner alone; raises BalancerFailure when another process does.

    A killed process holds nothing, and HAProxy itself never does.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = (folder / "lock").open("a")
    except OSError as error:
        raise BalancerFailure(f"the folder {folder} cannot be used: {error.strerror}; choose another") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BalancerFailure(f"another `hanse balancer run` has the folder {folder}; choose another") from error
        yield
