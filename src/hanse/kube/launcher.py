"""Becomes another program that is confined: no network, limits on memory, time, files; it dies with its parent.

Run as a script by a bare interpreter (`-I -S`), so that nothing but the standard library is there. The first argument
is a JSON object of limits, the rest is the command. Setting limits between fork and exec of the control plane itself
would run Python in a copy of a process with threads, which may hang.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys

_NEW_NETWORK = 0x40000000
_NEW_USER = 0x10000000
_DIE_WITH_PARENT = 1
_NO_NEW_PRIVILEGES = 38


def main(arguments: list[str]) -> None:
    """Take on the limits, then become the command."""
    limits, command = json.loads(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        _confine()
    if os.getppid() != limits["parent"]:
        sys.exit(1)
    for name, value in limits["resources"].items():
        which = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(which)
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (allowed, allowed))
    os.execv(command[0], command)  # noqa: S606 - that is what this program is for


def _confine() -> None:
    library = ctypes.CDLL(None)
    # Where the machine forbids both, only what the program is given and may do keeps it from the network.
    if library.unshare(_NEW_NETWORK) != 0:
        library.unshare(_NEW_USER | _NEW_NETWORK)
    # After that: a change of user takes it back.
    library.prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
