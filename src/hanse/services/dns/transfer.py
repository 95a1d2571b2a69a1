"""A whole zone, message by message, for those who keep a copy of it (AXFR, RFC 5936). Pure."""

from __future__ import annotations

from collections.abc import Iterator

from hanse.services.dns.query import Query
from hanse.services.dns.replies import QUESTION_NAME, Sections, reply
from hanse.services.dns.types import Rcode
from hanse.services.dns.zone import Zone

# Large enough that headers cost nothing, small enough to be on its way soon.
_MESSAGE_BYTES = 16_000


def transfer(query: Query, zone: Zone, opt: bytes) -> Iterator[bytes]:
    """Yield the messages of a transfer: the SOA, every record as of now in an order of its own, the SOA again.

    The question of each message is the zone's own name, so that every other name in it ends where that one stands.
    """
    soa = QUESTION_NAME + zone.soa
    body, count = bytearray(soa), 1
    for record in _records(zone):
        if len(body) + len(record) > _MESSAGE_BYTES:
            yield _message(query, body, count, opt)
            body, count = bytearray(), 0
        body += record
        count += 1
    body += soa
    yield _message(query, body, count + 1, opt)


def serial_only(query: Query, zone: Zone, opt: bytes, limit: int) -> bytes:
    """Answer by the SOA alone: to one who has this version already, or who must come over TCP for the rest."""
    sections = Sections(QUESTION_NAME + zone.soa, 1)
    return reply(query, Rcode.NOERROR, sections, authoritative=True, opt=opt, limit=limit)[0]


def is_current(zone: Zone, serial: int) -> bool:
    """Tell whether a copy with this serial is as new as the zone (RFC 1982)."""
    return (serial - zone.serial) % 2**32 < 2**31


def _records(zone: Zone) -> Iterator[bytes]:
    soa = zone.soa
    for name, node in zone.nodes():
        owner = name[: len(name) - len(zone.apex)] + QUESTION_NAME
        for kind in sorted(node):
            for entry in node[kind].entries:
                if entry.tail != soa:
                    yield owner + entry.tail


def _message(query: Query, body: bytearray, count: int, opt: bytes) -> bytes:
    sections = Sections(body, count)
    return reply(query, Rcode.NOERROR, sections, authoritative=True, opt=opt, limit=2**16)[0]
