"""The numbers of the protocol: types, classes, opcodes and answer codes, as registered with IANA."""

from __future__ import annotations

from enum import IntEnum


class Type(IntEnum):
    """Types of records and of questions."""

    A = 1
    NS = 2
    CNAME = 5
    SOA = 6
    HINFO = 13
    TXT = 16
    AAAA = 28
    SRV = 33
    OPT = 41
    TKEY = 249
    TSIG = 250
    IXFR = 251
    AXFR = 252
    MAILB = 253
    MAILA = 254
    ANY = 255


class Opcode(IntEnum):
    """What a message asks for."""

    QUERY = 0
    NOTIFY = 4
    UPDATE = 5


class Rcode(IntEnum):
    """What became of a question."""

    NOERROR = 0
    FORMERR = 1
    SERVFAIL = 2
    NXDOMAIN = 3
    NOTIMP = 4
    REFUSED = 5
    NOTAUTH = 9
    BADVERS = 16


IN = 1

# Bits of a header's second word.
QR, AA, TC, RD, CD = 0x8000, 0x0400, 0x0200, 0x0100, 0x0010
OPCODE_MASK, OPCODE_SHIFT = 0x7800, 11

# Options of EDNS: a client's subnet (RFC 7871), and, of those for local use, where the asker's resolver says to be.
CLIENT_SUBNET = 8
VANTAGE = 65001
DNSSEC_OK = 0x8000
