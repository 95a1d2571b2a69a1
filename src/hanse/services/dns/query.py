"""Reading a question off the wire, whatever was sent. Pure."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from hanse.services.dns.types import CLIENT_SUBNET, DNSSEC_OK, VANTAGE, Type
from hanse.services.geography.atlas import ClientSubnet

HEADER = Struct("!HHHHHH")
_QUESTION_END = Struct("!HH")
_RECORD = Struct("!HHIH")
_OPTION = Struct("!HH")
_SUBNET = Struct("!HBB")
_SOA_SERIAL_BACK = 20
_POINTER = 0xC0
_LONGEST_NAME = 255
_LONGEST_LABEL = 63
# A question carries an OPT, at most a signature and, for a transfer, one SOA beside it.
_MOST_RECORDS = 8
_VERSIONS = {1: 4, 2: 6}
_BITS = {1: 32, 2: 128}


class Malformed(ValueError):
    """Bytes that are no question."""


class Edns(NamedTuple):
    """What a question says by EDNS (RFC 6891)."""

    size: int
    version: int = 0
    dnssec_ok: bool = False
    subnet: ClientSubnet | None = None
    # The option as it was sent, but for its scope: it is sent back.
    subnet_option: bytes = b""
    vantage: str = ""


class Query(NamedTuple):
    """One question."""

    id: int
    flags: int
    # As it was sent, with the letters' case: it is sent back.
    question: bytes
    # The name in lower case.
    name: bytes
    type: int
    cls: int
    edns: Edns | None = None
    # The serial of the zone that the asker of an incremental transfer has.
    serial: int | None = None


def parse_query(packet: bytes) -> Query:
    """Read a message that holds one question; raises Malformed."""
    number, flags, questions, answers, authorities, additionals = HEADER.unpack_from(packet)
    if questions != 1:
        raise Malformed("a message must hold one question")
    end = _name_end(packet, 12)
    if end + 4 > len(packet):
        raise Malformed("the question is cut short")
    kind, cls = _QUESTION_END.unpack_from(packet, end)
    question = packet[12 : end + 4]
    name = packet[12:end].lower()
    if not answers and not authorities and not additionals:
        return Query(number, flags, question, name, kind, cls)
    edns, serial = _read_records(packet, end + 4, answers + authorities, additionals)
    return Query(number, flags, question, name, kind, cls, edns, serial)


def _name_end(packet: bytes, at: int) -> int:
    """Return where a name ends that is not compressed: the first of a message has nothing to point to."""
    start, limit = at, len(packet)
    while at < limit:
        length = packet[at]
        at += 1
        if not length:
            if at - start > _LONGEST_NAME:
                break
            return at
        if length > _LONGEST_LABEL:
            break
        at += length
    raise Malformed("the question's name is no name")


def _skip_name(packet: bytes, at: int) -> int:
    limit = len(packet)
    while at < limit:
        length = packet[at]
        if not length:
            return at + 1
        if length >= _POINTER:
            return at + 2
        if length > _LONGEST_LABEL:
            break
        at += 1 + length
    raise Malformed("a record's name is no name")


def _read_records(packet: bytes, at: int, before: int, additionals: int) -> tuple[Edns | None, int | None]:
    if before + additionals > _MOST_RECORDS:
        raise Malformed("a question has no use for so many records")
    edns: Edns | None = None
    serial: int | None = None
    for index in range(before + additionals):
        owner = at
        at = _skip_name(packet, at)
        if at + _RECORD.size > len(packet):
            raise Malformed("a record is cut short")
        kind, cls, ttl, length = _RECORD.unpack_from(packet, at)
        at += _RECORD.size
        data = packet[at : at + length]
        at += length
        if len(data) != length:
            raise Malformed("a record's data is cut short")
        if kind == Type.OPT:
            if edns is not None or index < before or packet[owner]:
                raise Malformed("a message has one OPT, of the root, in its last section")
            edns = _read_edns(cls, ttl, data)
        elif kind == Type.SOA and index < before and length > _SOA_SERIAL_BACK:
            serial = int.from_bytes(data[-_SOA_SERIAL_BACK : -_SOA_SERIAL_BACK + 4])
    return edns, serial


def _read_edns(size: int, flags: int, options: bytes) -> Edns:
    subnet: ClientSubnet | None = None
    subnet_option, vantage = b"", ""
    at = 0
    while at < len(options):
        if at + _OPTION.size > len(options):
            raise Malformed("an option is cut short")
        code, length = _OPTION.unpack_from(options, at)
        at += _OPTION.size
        data = options[at : at + length]
        at += length
        if len(data) != length:
            raise Malformed("an option's data is cut short")
        if code == CLIENT_SUBNET:
            subnet, subnet_option = _read_subnet(data)
        elif code == VANTAGE:
            vantage = data.decode("ascii", "replace")
    version = flags >> 16 & 0xFF
    return Edns(size, version, bool(flags & DNSSEC_OK), subnet, subnet_option, vantage)


def _read_subnet(data: bytes) -> tuple[ClientSubnet | None, bytes]:
    if len(data) < _SUBNET.size:
        raise Malformed("the client's subnet is cut short")
    family, length, scope = _SUBNET.unpack_from(data)
    address = data[_SUBNET.size :]
    if family == 0 and not length and not address:
        return None, data
    if family not in _VERSIONS:
        # Of another family nothing is known, and nothing is promised by sending it back.
        return None, b""
    bits = _BITS[family]
    if scope or length > bits or len(address) != (length + 7) // 8:
        raise Malformed("the client's subnet contradicts itself")
    number = int.from_bytes(address.ljust(bits // 8, b"\0"))
    if number & ((1 << (bits - length)) - 1):
        raise Malformed("the client's subnet has bits beyond its length")
    return ClientSubnet(_VERSIONS[family], number, length), data
