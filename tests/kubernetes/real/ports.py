"""Free ports on loopback for servers that cannot pick their own."""

from __future__ import annotations

import secrets
import socket
import threading

# Below the range from which the kernel serves outgoing connections, so that a port is still free
# when its server starts, and again when a killed server is healed.
_LOWEST, _HIGHEST = 20_000, 32_000
_handed_out: set[int] = set()
_lock = threading.Lock()


def free_port() -> int:
    """Return a loopback port that nobody listens on and that this process has not handed out before."""
    with _lock:
        for _ in range(1_000):
            port = _LOWEST + secrets.randbelow(_HIGHEST - _LOWEST)
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
