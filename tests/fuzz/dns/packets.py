"""Questions to a DNS server, most of them with mistakes."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from functools import cache
from typing import Any

import dns.edns
import dns.message
import dns.name

from bench.dns_servers import DOMAIN, service_name

_TYPES = ("A", "AAAA", "SRV", "CNAME", "NS", "SOA", "TXT", "ANY", "AXFR", "IXFR", "OPT", "TSIG", "MX", "TYPE65535")
_OPCODES = (0, 1, 2, 4, 5, 6, 15)


@dataclass(frozen=True, slots=True)
class Packet:
    """What is sent, and whether by TCP: then with the lengths that it claims, and an end that comes or does not."""

    data: bytes
    tcp: bool = False
    closes: bool = True


@cache
def _valid() -> tuple[bytes, ...]:
    names = (
        service_name(0),
        service_name(39),
        DOMAIN,
        f"no.{DOMAIN}",
        f"_http._tcp.{service_name(1)}",
        ".",
        "other.test",
    )
    options: tuple[dict[str, Any], ...] = (
        {},
        {"use_edns": 0, "payload": 900, "want_dnssec": True},
        {"use_edns": 0, "payload": 65535, "options": [dns.edns.ECSOption("10.0.0.0", 24)]},
        {"use_edns": 0, "options": [dns.edns.GenericOption(dns.edns.OptionType.make(65001), b"eu-west")]},
        {"use_edns": 1},
    )
    return tuple(
        dns.message.make_query(name, kind, **more).to_wire()
        for name in names
        for kind in _TYPES[:11]
        for more in options
    )


def packet_of(seed: int) -> Packet:
    """Return the packet of a seed."""
    chance = random.Random(seed)
    data = chance.choice((_bent, _bent, _bent, _built, _built, _random))(chance)
    if chance.random() < 0.9:
        return Packet(data)
    claimed = len(data) if chance.random() < 0.6 else chance.choice((0, 1, 11, 12, len(data) + 5, 65535))
    framed = struct.pack("!H", claimed % 65536) + data
    return Packet(framed * chance.choice((1, 1, 3, 20)), tcp=True, closes=chance.random() < 0.95)


def _bent(chance: random.Random) -> bytes:
    data = bytearray(chance.choice(_valid()))
    for _ in range(chance.choice((0, 1, 1, 2, 4, 12))):
        place = chance.randrange(len(data) + 1)
        what = chance.random()
        if what < 0.5 and place < len(data):
            data[place] = chance.choice((0, 1, 0x3F, 0x40, 0xC0, 0xFF, chance.randrange(256)))
        elif what < 0.65:
            data[place:place] = chance.choice((b"\xc0\x0c", b"\0", b"\x3f" + b"a" * 63, b"\xff" * 8))
        elif what < 0.85:
            del data[place : place + chance.choice((1, 2, 9))]
        else:
            data += data[12:] * chance.choice((1, 5))
        if not data:
            return b""
    return bytes(data[:8000])


def _built(chance: random.Random) -> bytes:
    flags = chance.choice(_OPCODES) << 11 | chance.choice((0, 0x100, 0x8000, 0x7FF, chance.randrange(65536)))
    counts = [chance.choice((0, 1, 1, 2, 65535)) for _ in range(4)]
    if chance.random() < 0.7:
        counts[0] = 1
    body = b"".join(_name(chance) + chance.randbytes(4) for _ in range(min(counts[0], 2)))
    for _ in range(chance.choice((0, 1, 3))):
        size = chance.choice((0, 4, 40))
        body += (
            _name(chance)
            + struct.pack("!HHIH", chance.choice((41, 6, 250, 1)), 1, 0, chance.choice((size, 65535)))
            + chance.randbytes(size)
        )
    return struct.pack("!HHHHHH", chance.randrange(65536), flags, *counts) + body


def _name(chance: random.Random) -> bytes:
    labels = chance.choice((0, 1, 4, 130))
    name = b"".join(
        bytes([size]) + chance.randbytes(size) for size in (chance.choice((1, 3, 63)) for _ in range(labels))
    )
    return name + chance.choice((b"\0", b"\0", b"", b"\xc0\x0c", b"\xc0\xff", b"\x80"))


def _random(chance: random.Random) -> bytes:
    return chance.randbytes(chance.choice((0, 1, 11, 12, 13, chance.randrange(600), 4096)))
