"""Publishes by dynamic update (RFC 2136) into a zone of BIND, Knot or any other server that takes them.

The zone is listed by transfer (AXFR) and changed by UPDATE messages, both signed with TSIG where a key is given. Every
message demands that the record sets it changes are as they were listed, value by value: a change that somebody else
made meanwhile, or a second writer, turns the whole message down. The serial of the SOA is left out of it on purpose: a
server that signs its zone moves it on its own.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Sequence

import dns.asyncquery
import dns.exception
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdataset
import dns.rdatatype
import dns.tsig
import dns.update
import dns.xfr
import dns.zone

from hanse.api.dns_zones import Rfc2136Settings
from hanse.services.providers.interface import Change, ProviderError, Refused, Stale, additions, plain, removals
from hanse.services.providers.texts import canonical_value, dotted, undotted
from hanse.services.records import CNAME, Datum, RecordSet

# An UPDATE fits into one message of 64 KB; a value takes about 100 bytes, twice where it is also demanded.
_LARGEST_BATCH = 200
_STALE = (dns.rcode.NXRRSET, dns.rcode.YXRRSET, dns.rcode.NXDOMAIN, dns.rcode.YXDOMAIN)
_CONTENT = (dns.rcode.REFUSED, dns.rcode.NOTZONE, dns.rcode.FORMERR)
# What a server that signs its zone puts beside every name on its own.
_SIGNING = (dns.rdatatype.RRSIG, dns.rdatatype.NSEC, dns.rdatatype.NSEC3)
_HINTS = {
    dns.rcode.REFUSED: "allow updates and transfers of the zone for this key there",
    dns.rcode.NOTAUTH: "the key is not known there or its secret differs, or the server has no such zone",
    dns.rcode.NOTZONE: "a name is not in the zone",
    dns.rcode.SERVFAIL: "its log says why",
}


class DynamicUpdates:
    """A zone of a name server that takes dynamic updates."""

    largest_batch = _LARGEST_BATCH

    def __init__(self, zone: str, settings: Rfc2136Settings, secret: str = "") -> None:
        """`secret` is that of the TSIG key, in base64; without a key name messages are not signed."""
        self._zone = zone
        self._origin = dns.name.from_text(dotted(zone))
        self._settings = settings
        self._key = _key(settings, secret)

    def stored(self, wanted: RecordSet) -> RecordSet:
        return plain(wanted)

    async def records(self) -> list[RecordSet]:
        zone = dns.zone.Zone(self._origin, relativize=False)
        query, _ = dns.xfr.make_query(zone, keyring=self._key, use_edns=False)
        settings = self._settings
        try:
            await dns.asyncquery.inbound_xfr(
                await self._address(),
                zone,
                query,
                port=settings.port,
                timeout=settings.timeout_seconds,
                lifetime=settings.timeout_seconds * 6,
            )
        except dns.xfr.TransferError as error:
            raise self._refused(error.rcode, "to transfer it") from error
        except (dns.exception.DNSException, OSError, EOFError) as error:
            raise self._failed(error, "be transferred") from error
        return sorted(
            _record(name.to_text(), rdataset)
            for name, node in zone.nodes.items()
            for rdataset in node.rdatasets
            if rdataset.rdtype not in _SIGNING
        )

    async def apply(self, changes: Sequence[Change]) -> None:
        await self._send(self._update(changes))
        turned = _turned_into_aliases(changes)
        if turned:
            # A server that signs its zone may take the signatures of what went for records beside which no CNAME may
            # be, and ignore the CNAME without a word, as it should with other records (RFC 2136, 3.4.2.2). Once more
            # they are gone; for everybody else it is there already, and nothing changes.
            await self._send(self._update([Change(None, alias) for alias in turned], again=True))

    async def _send(self, update: dns.update.UpdateMessage) -> None:
        settings = self._settings
        try:
            answer = await dns.asyncquery.tcp(
                update, await self._address(), timeout=settings.timeout_seconds, port=settings.port
            )
        except (dns.exception.DNSException, OSError, EOFError) as error:
            raise self._failed(error, "be updated") from error
        if answer.rcode() in _STALE:
            raise Stale(f"the zone {self._zone} has changed since it was read")
        if answer.rcode() != dns.rcode.NOERROR:
            # A policy may forbid some names only; what the server could not do it may do later.
            sort = Refused if answer.rcode() in _CONTENT else ProviderError
            raise self._refused(answer.rcode(), "to update it", sort)

    async def close(self) -> None:
        """Nothing stays open between messages."""

    def _update(self, changes: Sequence[Change], *, again: bool = False) -> dns.update.UpdateMessage:
        """Return the message that makes changes; what is said `again` may be there already."""
        update = dns.update.UpdateMessage(self._origin, keyring=self._key)
        for change in () if again else changes:
            if change.before is not None:
                update.present(dotted(change.before.name), change.before.type, *change.before.values)
            elif change.after is not None:
                update.absent(dotted(change.after.name), change.after.type)
        for record in removals(changes):
            update.delete(dotted(record.name), record.type)
        for record in additions(changes):
            update.add(dotted(record.name), record.ttl, record.type, *record.values)
        return update

    async def _address(self) -> str:
        """Return an address of the server, asked anew each time: a name may lead to another one by now."""
        settings = self._settings
        try:
            found = await asyncio.get_running_loop().getaddrinfo(settings.host, settings.port)
        except OSError as error:
            raise ProviderError(f"the name server {settings.host} has no address: {error.strerror}") from error
        return str(found[0][4][0])

    def _refused(self, rcode: dns.rcode.Rcode, what: str, sort: type[ProviderError] = ProviderError) -> ProviderError:
        hint = _HINTS.get(rcode)
        told = f"the name server {self._server} of {self._zone} refuses {what} ({dns.rcode.to_text(rcode)})"
        return sort(f"{told}; {hint}" if hint else told)

    def _failed(self, error: Exception, what: str) -> ProviderError:
        told = f"the zone {self._zone} at {self._server} cannot {what}"
        if isinstance(error, dns.tsig.PeerBadKey | dns.tsig.PeerBadSignature | dns.tsig.BadSignature):
            return ProviderError(f"{told}: the TSIG key {self._settings.key_name!r} is not the one that the server has")
        if isinstance(error, dns.tsig.PeerBadTime | dns.tsig.BadTime):
            return ProviderError(f"{told}: the clocks of the server and of this machine differ too much")
        if isinstance(error, dns.exception.Timeout | TimeoutError):
            return ProviderError(f"{told}: no answer within {self._settings.timeout_seconds:g} s")
        return ProviderError(f"{told}: {str(error) or type(error).__name__}")

    @property
    def _server(self) -> str:
        return f"{self._settings.host}:{self._settings.port}"


def _turned_into_aliases(changes: Sequence[Change]) -> list[RecordSet]:
    """Return the CNAMEs that take the place of other records."""
    gone = {record.name for record in removals(changes) if record.type != CNAME}
    return [record for record in additions(changes) if record.type == CNAME and record.name in gone]


def _key(settings: Rfc2136Settings, secret: str) -> dns.tsig.Key | None:
    if not settings.key_name:
        return None
    try:
        content = base64.b64decode(secret.strip(), validate=True)
    except binascii.Error as error:
        raise ProviderError("tsig-secret of the Secret must be the key's secret in base64") from error
    if not content:
        raise ProviderError(f"the Secret must have tsig-secret, the secret of the TSIG key {settings.key_name!r}")
    return dns.tsig.Key(dns.name.from_text(dotted(settings.key_name)), content, dns.name.from_text(settings.algorithm))


def _record(name: str, rdataset: dns.rdataset.Rdataset) -> RecordSet:
    kind = dns.rdatatype.to_text(rdataset.rdtype)
    values = sorted(canonical_value(kind, rdata.to_text()) for rdata in rdataset)
    return RecordSet(undotted(name), kind, rdataset.ttl, tuple(map(Datum, values)))
