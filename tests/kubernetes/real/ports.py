"""Free ports on loopback for servers that cannot pick their own."""

from __future__ import annotations

import os
import secrets
import socket
import threading

# Below the range from which the kernel serves outgoing connections, so that a port is still free
# when its server starts, and again when a killed server is healed.
_LOWEST, _HIGHEST = 20_000, 32_000
# Test workers that run side by side hand out different ports, so that none takes one that another is about to use.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_handed_out: set[int] = set()
_lock = threading.Lock()


def free_port() -> int:
    """Return a loopback port that nobody listens on and that no worker of this test run has handed out before."""
    with _lock:
        for _ in range(1_000):
            port = _LOWEST + secrets.randbelow((_HIGHEST - _LOWEST) // _WORKERS) * _WORKERS + _WORKER
            if port not in _handed_out and _is_free(port):
                _handed_out.add(port)
                return port
    raise OSError(f"no free port between {_LOWEST} and {_HIGHEST}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
