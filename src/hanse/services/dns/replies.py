"""Writing answers to the wire. Pure."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from hanse.services.dns.query import HEADER, Edns, Query
from hanse.services.dns.types import (
    AA,
    CD,
    CLIENT_SUBNET,
    DNSSEC_OK,
    OPCODE_MASK,
    QR,
    RD,
    TC,
    Rcode,
    Type,
)

# The name of the question, where every message has it.
QUESTION_NAME = b"\xc0\x0c"
_POINTER = 0xC000
# What is further into a message cannot be pointed to.
FARTHEST_POINTER = 0x3FFF
_OPT = Struct("!BHHIH")
_OPTION = Struct("!HH")
_SCOPE = 3
LARGEST_MESSAGE = 65535
HEADER_BYTES = HEADER.size


class Sections(NamedTuple):
    """The records of an answer in one piece, and how many of them are in each section."""

    body: bytes | bytearray = b""
    answers: int = 0
    authorities: int = 0
    additionals: int = 0


NO_RECORDS = Sections()


def pointer(offset: int) -> bytes:
    """Return a compressed name: the one that stands at an offset of the message."""
    return (_POINTER | offset).to_bytes(2)


def bare_reply(packet: bytes, rcode: Rcode) -> bytes:
    """Answer a message that was not understood, or not wanted, by its header alone."""
    number, flags = HEADER.unpack_from(packet)[:2]
    return HEADER.pack(number, QR | (flags & (OPCODE_MASK | RD)) | (rcode & 0xF), 0, 0, 0, 0)


def reply(
    query: Query, rcode: Rcode, sections: Sections = NO_RECORDS, *, authoritative: bool, opt: bytes, limit: int
) -> tuple[bytes, bool]:
    """Write an answer, and say whether its records were left out since it would have been longer than `limit`."""
    flags = QR | (query.flags & (RD | CD)) | (rcode & 0xF)
    if authoritative:
        flags |= AA
    body, answers, authorities, additionals = sections
    truncated = HEADER_BYTES + len(query.question) + len(body) + len(opt) > limit
    if truncated:
        flags |= TC
        body, answers, authorities, additionals = NO_RECORDS
    header = HEADER.pack(query.id, flags, 1, answers, authorities, additionals + bool(opt))
    return b"".join((header, query.question, body, opt)), truncated


def opt_record(edns: Edns | None, rcode: Rcode, scope: int, size: int) -> bytes:
    """Write the OPT record of an answer; none to a question without one."""
    if edns is None:
        return b""
    options = b""
    if sent := edns.subnet_option:
        told = sent[:_SCOPE] + bytes([scope]) + sent[_SCOPE + 1 :]
        options = _OPTION.pack(CLIENT_SUBNET, len(told)) + told
    flags = (rcode >> 4) << 24 | (DNSSEC_OK if edns.dnssec_ok else 0)
    return _OPT.pack(0, Type.OPT, size, flags, len(options)) + options
