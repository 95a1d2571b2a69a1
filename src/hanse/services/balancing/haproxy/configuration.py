"""The configuration of HAProxy, written from lines by a pure function.

It says all that the running process should do, weights and drained servers included: a process that starts from it
needs nobody to tell it more. What cannot be changed by commands to the process is the structure; a digest of it stands
in the configuration, so that the process itself can say which one it has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from hanse.services.balancing.haproxy.slots import Seated, Slot
from hanse.services.balancing.lines import Line
from hanse.services.balancing.wishes import Mode

_NOBODY = "0.0.0.0:1"


@dataclass(frozen=True, slots=True)
class Terms:
    """Where a balancer listens, and how patient it is."""

    # The addresses of the balancer.
    addresses: tuple[str, ...] = ("127.0.0.1",)
    connect_seconds: float = 2.0
    check_seconds: float = 1.0
    fall: int = 3
    rise: int = 2
    # For how long a process that was replaced may go on with the connections that it has.
    finish_seconds: int = 24 * 3600


def render(seated: Sequence[Seated], terms: Terms, socket: Path) -> str:
    """Return the whole configuration; `socket` is where the process takes commands."""
    return _written(seated, terms, socket, f"  description {structure(seated, terms)}\n")


def structure(seated: Sequence[Seated], terms: Terms) -> str:
    """Return a digest of what only a new process can change: entrances, modes, and how many places there are."""
    bare = [replace(each, slots=(Slot(),) * len(each.slots)) for each in seated]
    return hashlib.sha256(_written(bare, terms, Path(), "").encode()).hexdigest()[:16]


def slot_name(index: int) -> str:
    """Return what a place is called in its backend."""
    return f"s{index + 1}"


def entrance_name(listen: int) -> str:
    """Return what the frontend of a port is called."""
    return f"port.{listen}"


def _written(seated: Sequence[Seated], terms: Terms, socket: Path, description: str) -> str:
    parts = [_preamble(terms, socket, description)]
    entrance = [each.line for each in sorted(seated, key=lambda each: (each.line.listen, each.line.name))]
    for listen, lines in groupby(entrance, key=lambda line: line.listen):
        parts.append(_frontend(listen, list(lines), terms))
    parts += (_backend(each, terms) for each in seated)
    return "\n".join(parts)


def _preamble(terms: Terms, socket: Path, description: str) -> str:
    # Without noreuseport a port that another process of the same user has would be shared with it, unseen.
    return f"""# Written by hanse; changes are overwritten.
global
{description}  stats socket {socket} mode 600 level admin expose-fd listeners
  stats timeout 1m
  hard-stop-after {terms.finish_seconds}s
  noreuseport

defaults
  timeout connect {_milliseconds(terms.connect_seconds)}
  timeout http-request 30s
  retries 3
  option redispatch 1
"""


def _frontend(listen: int, lines: list[Line], terms: Terms) -> str:
    mode = lines[0].mode
    binds = "".join(f"  bind {_joined(address, listen)}\n" for address in terms.addresses)
    idle = max(line.idle_seconds for line in lines)
    text = f"frontend {entrance_name(listen)}\n  mode {mode}\n{binds}  timeout client {idle}s\n"
    if mode is Mode.HTTP:
        # A process that is replaced lets each waiting client have one more answer, and tells it then to connect anew.
        text += "  option idle-close-on-response\n  option forwardfor\n"
    for line in lines:
        if line.hosts:
            hosts = " ".join(line.hosts)
            text += f"  use_backend {line.name} if {{ req.hdr(host),field(1,:),lower -m str {hosts} }}\n"
        else:
            text += f"  default_backend {line.name}\n"
    return text


def _backend(seated: Seated, terms: Terms) -> str:
    line = seated.line
    text = f"backend {line.name}\n  mode {line.mode}\n  timeout server {line.idle_seconds}s\n"
    text += "  balance source\n  hash-type consistent\n" if line.sticky else "  balance roundrobin\n"
    if line.mode is Mode.HTTP:
        # A request that may have been carried out is not sent again, unless it only reads.
        text += "  retry-on conn-failure empty-response\n  http-request disable-l7-retry unless METH_GET\n"
    # An idle connection to a machine that is gone ends within half a minute, one with data under way in as long.
    text += "  option srvtcpka\n  srvtcpka-idle 10s\n  srvtcpka-intvl 5s\n  srvtcpka-cnt 3\n"
    inter = _milliseconds(terms.check_seconds)
    text += f"  default-server check inter {inter} fall {terms.fall} rise {terms.rise} tcp-ut 25s\n"
    return text + "".join(_servers(seated.slots))


def _servers(slots: Sequence[Slot]) -> Iterable[str]:
    for index, slot in enumerate(slots):
        where = _joined(slot.address, slot.port) if slot.address else _NOBODY
        closed = "" if slot.open else " disabled"
        yield f"  server {slot_name(index)} {where} weight {slot.weight}{closed}\n"


def _joined(address: str, port: int) -> str:
    # HAProxy takes the last colon for the port's, also after an IPv6 address.
    return f"{address}:{port}"


def _milliseconds(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"
