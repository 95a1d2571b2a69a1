"""A network of its own for a process of the tests: loopback and nothing else.

The load balancers of simulated clusters listen on the same addresses in every federation; each in a network of its own,
whole federations run side by side.
"""

import ctypes
import fcntl
import os
import socket
import struct

_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS = 0x8914
_UP_AND_RUNNING = 0x1 | 0x40


def enter_own_network() -> None:
    """Leave the machine's network for a new one; needs root, raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        problem = ctypes.get_errno()
        raise OSError(problem, f"a network of its own is not to be had: {os.strerror(problem)}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _UP_AND_RUNNING))
