"""A server's mind without a network, asked by dnspython."""

import dns.edns
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype

from hanse.kube.runtime import SeededRuntime
from hanse.services.dns.authority import Authority
from hanse.services.dns.zone import Nameserver, Zone
from hanse.services.dns.zones import Zones
from hanse.services.geography.atlas import Atlas
from hanse.services.presence import Place
from hanse.services.records import Datum, RecordSet

CLIENT = "192.0.2.7"
PLACES = {
    "c-us": Place("c-us", "us", ("us-a",)),
    "c-eu": Place("c-eu", "eu", ("eu-a",)),
}


def records(name, kind, *values, ttl=180):
    """A set of records of nobody in particular, in example.com."""
    data = tuple(value if isinstance(value, Datum) else Datum(value) for value in values)
    return RecordSet(f"{name}.example.com" if name else "example.com", kind, ttl, data)


def zone_of(*sets, now=1000.0):
    zone = Zone("example.com", [Nameserver("ns.example.com", ("192.0.2.53", "2001:db8::53"))], now=now)
    assert zone.replace("test", sets) == []
    zone.commit(now)
    return zone


def authority_of(*sets, atlas=None, **options):
    return Authority(Zones(zone_of(*sets), atlas=atlas or Atlas(PLACES)), SeededRuntime(1), **options)


def question(name, kind="A", **options):
    """The bytes of a question."""
    return dns.message.make_query(name, kind, **options)


def ask(authority, name, kind="A", *, source=CLIENT, over_tcp=False, **options):
    """Ask as dnspython does, and read the answer as it does."""
    sent = question(name, kind, **options)
    told = next(authority.answers(sent.to_wire(), source)) if over_tcp else authority.answer(sent.to_wire(), source)
    answer = dns.message.from_wire(told, raise_on_truncation=False)
    assert answer.id == sent.id
    assert answer.flags & dns.flags.QR
    return answer


def texts(section):
    """The records of a section in their order: NAME TTL TYPE VALUE."""
    return [
        f"{each.name} {each.ttl} {dns.rdatatype.to_text(each.rdtype)} {value}" for each in section for value in each
    ]


def values(answer):
    return [value.to_text() for each in answer.answer for value in each]


def rcode(answer):
    return dns.rcode.to_text(answer.rcode())
