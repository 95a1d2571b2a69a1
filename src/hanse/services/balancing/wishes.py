"""What a Service asks of the balancers: the annotation `hanse.dev/balancer`, read.

`tcp` and `http` alone ask for every TCP port of the Service under its own number. More is said as JSON:
`{"mode": "http", "listen": {"web": 8080}, "hosts": ["shop.example.com"], "idleSeconds": 600}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from hanse.services.presence import Port

DEFAULT_IDLE_SECONDS = 3600
_LARGEST_PORT = 65535
_LONGEST_IDLE_SECONDS = 7 * 24 * 3600
_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*")
_FIELDS = ("mode", "listen", "hosts", "idleSeconds")


class WishError(ValueError):
    """A wish that cannot be fulfilled; its text says which field, and what belongs there."""


class Mode(StrEnum):
    """How much of a connection a balancer understands."""

    TCP = "tcp"
    HTTP = "http"


@dataclass(frozen=True, slots=True)
class Wish:
    """How a Service wants to be balanced."""

    mode: Mode = Mode.TCP
    # Where to listen, by name or number of a port; where nothing is said, the ports' own numbers.
    listen: tuple[tuple[str, int], ...] = ()
    # Only requests for these hosts; other Services may have others on the same port.
    hosts: tuple[str, ...] = ()
    idle_seconds: int = DEFAULT_IDLE_SECONDS

    def entrances(self, ports: tuple[Port, ...]) -> dict[Port, int]:
        """Return where to listen for each of a Service's TCP ports; raises WishError where one is not there."""
        balanced = {name: port for port in ports if port.protocol == "TCP" for name in (port.name, str(port.number))}
        balanced.pop("", None)
        if not self.listen:
            return {port: port.number for port in ports if port.protocol == "TCP"}
        for name, _ in self.listen:
            if name not in balanced:
                raise WishError(f"listen: the Service has no TCP port {name!r}; name one by its name or number")
        return {balanced[name]: number for name, number in self.listen}


def parse_wish(text: str) -> Wish:
    """Read the annotation; raises WishError with one sentence on the first thing that is wrong."""
    word = text.strip()
    if word in tuple(Mode):
        return Wish(Mode(word))
    try:
        said = orjson.loads(word)
    except orjson.JSONDecodeError as error:
        raise WishError(f"must be tcp, http or a JSON object: {error}") from error
    if not isinstance(said, dict):
        raise WishError("must be tcp, http or a JSON object")
    unknown = sorted(said.keys() - set(_FIELDS))
    if unknown:
        raise WishError(f"{unknown[0]}: is not known; there are {', '.join(_FIELDS)}")
    mode = _mode(said.get("mode", Mode.TCP))
    return Wish(mode, _listen(said.get("listen", {})), _hosts(said.get("hosts", []), mode), _idle(said))


def _mode(value: Any) -> Mode:
    if value not in tuple(Mode):
        raise WishError(f"mode: {value!r} must be tcp or http")
    return Mode(value)


def _listen(value: Any) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, Mapping):
        raise WishError('listen: must say where to listen for each port, such as {"web": 8080}')
    for name, number in value.items():
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= _LARGEST_PORT:
            raise WishError(f"listen.{name}: {number!r} must be a port number from 1 to {_LARGEST_PORT}")
    return tuple(sorted(value.items()))


def _hosts(value: Any, mode: Mode) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(host, str) for host in value):
        raise WishError('hosts: must be a list of host names, such as ["shop.example.com"]')
    if value and mode is not Mode.HTTP:
        raise WishError("hosts: only mode http can tell hosts apart")
    for host in value:
        # What passes here stands in the balancer's configuration.
        if not _HOST.fullmatch(host.lower()):
            raise WishError(f"hosts: {host!r} must be a host name")
    return tuple(sorted({host.lower() for host in value}))


def _idle(said: Mapping[str, Any]) -> int:
    value = said.get("idleSeconds", DEFAULT_IDLE_SECONDS)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LONGEST_IDLE_SECONDS:
        raise WishError(f"idleSeconds: {value!r} must be a whole number from 1 to {_LONGEST_IDLE_SECONDS}")
    return value
