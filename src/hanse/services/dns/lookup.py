"""Finding what a zone has to say to one question: records, a chain of aliases, or that there is nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hanse.services.dns.arranging import Arrange
from hanse.services.dns.query import Query
from hanse.services.dns.replies import FARTHEST_POINTER, HEADER_BYTES, NO_RECORDS, QUESTION_NAME, Sections, pointer
from hanse.services.dns.types import IN, Rcode, Type
from hanse.services.dns.zone import NEGATIVE_TTL, Entry, Node, Records, Zone

_LONGEST_CHAIN = 8
# Read once: each question would look them up several times.
_SRV, _CNAME, _ANY = int(Type.SRV), int(Type.CNAME), int(Type.ANY)
_NOERROR = Rcode.NOERROR
# How far into a record, counted from behind its name, the target of a CNAME and that of an SRV stand.
_CNAME_TARGET, _SRV_TARGET = 10, 16
# Every owner is a pointer.
_OWNER_BYTES = len(QUESTION_NAME)
_HINFO = b"\x07RFC8482\x00"
# RFC 8482: to ask for everything that a name has is mostly done by those who forge addresses.
_INSTEAD_OF_ANY = Records(
    Type.HINFO,
    (Entry(Type.HINFO.to_bytes(2) + IN.to_bytes(2) + NEGATIVE_TTL.to_bytes(4) + len(_HINFO).to_bytes(2) + _HINFO),),
)


def look_up(query: Query, zone: Zone, apex_at: int, arrange: Arrange, *, limit: int) -> tuple[Rcode, Sections]:
    """Return the code and the records of an answer; `apex_at` is where in the question's name the zone's own begins.

    `arrange` brings the records of one name into the order for the asker. What is merely helpful is added as far as the
    message stays within `limit`.
    """
    start = HEADER_BYTES + len(query.question)
    body = bytearray()
    owner, name = QUESTION_NAME, query.name
    for aliases in range(_LONGEST_CHAIN):
        node = zone.find(name)
        if node is None:
            return Rcode.NXDOMAIN, _negative(body, aliases, zone, apex_at)
        found = node.get(query.type) if query.type != _ANY else _instead_of_all(node)
        if found is not None:
            tails = arrange(found)
            body += owner + owner.join(tails)
            more = 0
            if found.type == _SRV:
                more = _add_targets(body, start, tails, zone, arrange, limit)
            return _NOERROR, Sections(body, aliases + len(tails), 0, more)
        alias = node.get(_CNAME)
        if alias is None:
            return _NOERROR, _negative(body, aliases, zone, apex_at)
        target_at = start + len(body) + _OWNER_BYTES + _CNAME_TARGET
        body += owner + alias.entries[0].tail
        name = alias.target
        if not zone.covers(name):
            return _NOERROR, Sections(body, aliases + 1)
        owner = pointer(target_at)
    return Rcode.SERVFAIL, NO_RECORDS


def _instead_of_all(node: Node) -> Records | None:
    return node.get(_CNAME, _INSTEAD_OF_ANY) if node else None


def _negative(body: bytearray, answers: int, zone: Zone, apex_at: int) -> Sections:
    """Return the records of an answer that says no, with the SOA by which it may be remembered (RFC 2308)."""
    body += pointer(HEADER_BYTES + apex_at) + zone.soa
    return Sections(body, answers, 1)


def _add_targets(body: bytearray, start: int, tails: Sequence[bytes], zone: Zone, arrange: Arrange, limit: int) -> int:
    """Add the addresses of SRV records' targets while there is room; return how many were added.

    The records are the last of the body, which itself begins at `start`.
    """
    added = 0
    at = start + len(body) - sum(_OWNER_BYTES + len(tail) for tail in tails)
    for tail in tails:
        target_at = at + _OWNER_BYTES + _SRV_TARGET
        at += _OWNER_BYTES + len(tail)
        if target_at > FARTHEST_POINTER:
            break
        owner = pointer(target_at)
        node = zone.find(tail[_SRV_TARGET:].lower()) or {}
        for record in _addresses(node, arrange):
            if start + len(body) + len(owner) + len(record) > limit:
                return added
            body += owner + record
            added += 1
    return added


def _addresses(node: Node, arrange: Arrange) -> Iterable[bytes]:
    for kind in (Type.A, Type.AAAA):
        if (found := node.get(kind)) is not None:
            yield from arrange(found)
