"""Answering questions about the zones of a server: from the bytes of one message to the bytes of another.

Nothing here waits or touches the network. A name is compressed where it owns a record: there it always is the
question's name, a part of it, or the target of a record before. An answer that is longer than the asker takes goes
without its records, to be asked for again over TCP. Nothing is signed here, and nothing is claimed to be: who asks for
DNSSEC gets the same records, and the bit back.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hanse.kube.runtime import Runtime
from hanse.services.dns.arranging import arranged
from hanse.services.dns.limits import Limits, Network, within
from hanse.services.dns.lookup import look_up
from hanse.services.dns.query import Malformed, Query, parse_query
from hanse.services.dns.replies import (
    HEADER_BYTES,
    LARGEST_MESSAGE,
    NO_RECORDS,
    Sections,
    bare_reply,
    opt_record,
    reply,
)
from hanse.services.dns.statistics import Statistics
from hanse.services.dns.transfer import is_current, serial_only, transfer
from hanse.services.dns.types import IN, Opcode, Rcode, Type
from hanse.services.dns.zones import Zones

# What every asker can take.
_LEAST_BYTES = 512
_OTHER_OPCODES: dict[int, Rcode] = {Opcode.NOTIFY: Rcode.NOTAUTH, Opcode.UPDATE: Rcode.REFUSED}
# Types that no record has: of a transfer the question alone, over UDP, is no question.
_NO_TYPES: dict[int, Rcode] = {
    0: Rcode.FORMERR,
    Type.OPT: Rcode.FORMERR,
    Type.AXFR: Rcode.FORMERR,
    Type.TKEY: Rcode.NOTIMP,
    Type.TSIG: Rcode.NOTIMP,
    Type.MAILA: Rcode.NOTIMP,
    Type.MAILB: Rcode.NOTIMP,
}

_IXFR = int(Type.IXFR)


class Authority:
    """Answers for zones; `transfers` are the networks whose clients may have a whole zone."""

    def __init__(
        self, zones: Zones, runtime: Runtime, limits: Limits | None = None, *, transfers: tuple[Network, ...] = ()
    ) -> None:
        self.zones = zones
        self.statistics = Statistics()
        self._uniform = runtime.uniform
        self._limits = limits or Limits()
        self._transfers = transfers

    def answer(self, packet: bytes, source: str) -> bytes | None:
        """Answer a message that came over UDP; None where there is nothing to say."""
        query = self._read(packet)
        if not isinstance(query, Query):
            return query
        edns = query.edns
        limit = min(max(edns.size, _LEAST_BYTES), self._limits.udp_bytes) if edns else _LEAST_BYTES
        return self._answer(query, source, limit)

    def answers(self, packet: bytes, source: str) -> Iterator[bytes]:
        """Yield the answers to a message that came over TCP; a transfer has several."""
        query = self._read(packet)
        if not isinstance(query, Query):
            if query is not None:
                yield query
        elif query.type in (Type.AXFR, Type.IXFR) and query.cls == IN:
            yield from self._transfer(query, source)
        else:
            yield self._answer(query, source, LARGEST_MESSAGE)

    def answer_emptily(self, packet: bytes) -> bytes | None:
        """Answer a message as if its answer were too long for UDP."""
        query = self._read(packet)
        if not isinstance(query, Query):
            return None
        return reply(query, Rcode.NOERROR, authoritative=True, opt=self._opt(query), limit=0)[0]

    def _read(self, packet: bytes) -> Query | bytes | None:
        # An answer is never answered: two servers would do so for ever.
        if len(packet) < HEADER_BYTES or packet[2] & 0x80:
            return None
        self.statistics.questions += 1
        if opcode := packet[2] >> 3 & 0xF:
            return self._bare(packet, _OTHER_OPCODES.get(opcode, Rcode.NOTIMP))
        try:
            return parse_query(packet)
        except Malformed:
            return self._bare(packet, Rcode.FORMERR)

    def _bare(self, packet: bytes, rcode: Rcode) -> bytes:
        self.statistics.answers[rcode] += 1
        return bare_reply(packet, rcode)

    def _answer(self, query: Query, source: str, limit: int) -> bytes:
        edns, found = query.edns, self.zones.of(query.name)
        rcode = self._refusal(query)
        if rcode is not None or found is None:
            return self._finish(query, rcode or self._unknown(), limit=limit)
        zone, apex_at = found
        if query.type == _IXFR:
            return serial_only(query, zone, self._opt(query), limit)
        atlas = self.zones.atlas
        declared, subnet = (edns.vantage, edns.subnet) if edns else ("", None)
        vantage, scope = atlas.locate(declared, subnet, source)
        opt = self._opt(query, scope=scope)
        arrange = partial(arranged, atlas.view(vantage), self._uniform)
        rcode, sections = look_up(query, zone, apex_at, arrange, limit=limit - len(opt))
        return self._finish(query, rcode, sections, limit=limit, opt=opt, authoritative=True)

    def _refusal(self, query: Query) -> Rcode | None:
        if query.edns is not None and query.edns.version:
            return Rcode.BADVERS
        if query.cls != IN:
            return Rcode.REFUSED
        return _NO_TYPES.get(query.type)

    def _unknown(self) -> Rcode:
        # Who has not seen all there is must not send askers away for good.
        return Rcode.REFUSED if self.zones.complete else Rcode.SERVFAIL

    def _finish(
        self,
        query: Query,
        rcode: Rcode,
        sections: Sections = NO_RECORDS,
        *,
        limit: int,
        opt: bytes | None = None,
        authoritative: bool = False,
    ) -> bytes:
        told = self._opt(query, rcode) if opt is None else opt
        written, truncated = reply(query, rcode, sections, authoritative=authoritative, opt=told, limit=limit)
        self.statistics.answers[rcode] += 1
        self.statistics.truncated += truncated
        return written

    def _opt(self, query: Query, rcode: Rcode = Rcode.NOERROR, scope: int = 0) -> bytes:
        return opt_record(query.edns, rcode, scope, self._limits.udp_bytes)

    def _transfer(self, query: Query, source: str) -> Iterator[bytes]:
        found = self.zones.of(query.name)
        if found is None or found[1] or not within(source, self._transfers):
            # Not the name of a zone here, or none of those who may have it.
            rcode = Rcode.NOTAUTH if found is None or found[1] else Rcode.REFUSED
            yield self._finish(query, rcode, limit=LARGEST_MESSAGE)
            return
        zone, opt = found[0], self._opt(query)
        self.statistics.transfers += 1
        if query.type == Type.IXFR and query.serial is not None and is_current(zone, query.serial):
            yield serial_only(query, zone, opt, LARGEST_MESSAGE)
        else:
            yield from transfer(query, zone, opt)
