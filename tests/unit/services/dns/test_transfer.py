"""A whole zone goes to those who may have it, and to nobody else."""

from ipaddress import ip_network

import dns.message
import dns.rdatatype
import dns.update
import dns.xfr
import dns.zone
import pytest

from hanse.services.dns.notifier import acknowledges, notification
from hanse.services.records import Datum
from tests.unit.services.dns.asking import CLIENT, authority_of, question, records, zone_of

SETS = (
    records("web", "A", Datum("1.1.1.1", "c-us", inside="10.0.0.1"), Datum("2.2.2.2", "c-eu")),
    records("alias", "CNAME", "web.example.com."),
    records("_x._tcp.web", "SRV", "0 1 80 web.example.com."),
    records("said", "TXT", '"hello"'),
)
MANY = tuple(records(f"name-{index:05}", "A", f"10.{index >> 8}.{index & 255}.1") for index in range(1200))
FRIENDS = (ip_network("192.0.2.0/24"),)


def transferred(authority, asked, source=CLIENT):
    return [dns.message.from_wire(told, xfr=True) for told in authority.answers(asked.to_wire(), source)]


def received(messages):
    """The zone as dnspython's own secondary makes it."""
    zone = dns.zone.Zone("example.com", relativize=False)
    query, _ = dns.xfr.make_query(zone)
    with dns.xfr.Inbound(zone, query.question[0].rdtype) as inbound:
        ended = [inbound.process_message(message) for message in messages]
    assert ended == [*([False] * (len(messages) - 1)), True]
    return {
        f"{name} {dns.rdatatype.to_text(data.rdtype)} {value}"
        for name, data in zone.iterate_rdatasets()
        for value in data
    }


def test_a_secondary_gets_every_record_as_everybody_is_told_it():
    found = received(transferred(authority_of(*SETS, transfers=FRIENDS), question("example.com", "AXFR")))

    assert found == {
        "example.com. SOA ns.example.com. hostmaster.example.com. 1001 300 60 1209600 30",
        "example.com. NS ns.example.com.",
        "ns.example.com. A 192.0.2.53",
        "ns.example.com. AAAA 2001:db8::53",
        "web.example.com. A 1.1.1.1",
        "web.example.com. A 2.2.2.2",
        "alias.example.com. CNAME web.example.com.",
        "_x._tcp.web.example.com. SRV 0 1 80 web.example.com.",
        'said.example.com. TXT "hello"',
    }


def test_a_large_zone_comes_in_several_messages_of_moderate_size():
    authority = authority_of(*MANY, transfers=FRIENDS)
    messages = list(authority.answers(question("example.com", "AXFR").to_wire(), CLIENT))

    assert len(messages) > 1
    assert max(map(len, messages)) < 17_000
    assert len(received([dns.message.from_wire(each, xfr=True) for each in messages])) == 1204


def test_the_order_of_a_transfer_depends_on_the_zone_alone():
    asked = question("example.com", "AXFR").to_wire()
    one = list(authority_of(*MANY, transfers=FRIENDS).answers(asked, CLIENT))
    other = list(authority_of(*reversed(MANY), transfers=FRIENDS).answers(asked, CLIENT))

    assert one == other


def test_a_transfer_is_of_one_version_whatever_changes_meanwhile():
    authority = authority_of(*MANY, transfers=FRIENDS)
    messages = authority.answers(question("example.com", "AXFR").to_wire(), CLIENT)
    first = next(messages)
    zone = authority.zones.get("example.com")
    zone.replace("test", [])
    zone.commit(9000.0)

    found = received([dns.message.from_wire(each, xfr=True) for each in (first, *messages)])
    assert len(found) == 1204
    assert "name-01199.example.com. A 10.4.175.1" in found


@pytest.mark.parametrize(
    ("name", "source", "code"),
    [
        ("example.com", "198.51.100.1", "REFUSED"),
        ("web.example.com", CLIENT, "NOTAUTH"),
        ("other.org", CLIENT, "NOTAUTH"),
    ],
    ids=["a stranger", "not a zone's name", "not our zone"],
)
def test_others_are_refused(name, source, code):
    [answer] = transferred(authority_of(*SETS, transfers=FRIENDS), question(name, "AXFR"), source)

    assert dns.rcode.to_text(answer.rcode()) == code
    assert not answer.answer


# The serial that a secondary has, and whether it needs the zone.
@pytest.mark.parametrize(("serial", "needs"), [(1000, True), (1001, False), (1002, False), (2**31 + 5000, True)])
def test_who_asks_for_the_difference_gets_all_or_learns_that_there_is_none(serial, needs):
    zone = dns.zone.from_text(
        f"@ 1 IN SOA ns. h. {serial} 1 1 1 1\n@ 1 IN NS ns.", origin="example.com", relativize=False
    )
    asked, sent = dns.xfr.make_query(zone, serial=serial)
    assert sent == serial

    [answer] = transferred(authority_of(*SETS, transfers=FRIENDS), asked)

    assert sum(map(len, answer.answer)) == (10 if needs else 1)


def test_the_difference_by_udp_is_the_serial_alone():
    asked, _ = dns.xfr.make_query(dns.zone.Zone("example.com"), serial=5)
    told = dns.message.from_wire(authority_of(*SETS, transfers=FRIENDS).answer(asked.to_wire(), CLIENT))

    assert [each.rdtype for each in told.answer] == [dns.rdatatype.SOA]


def test_secondaries_are_told_of_the_serial_and_believed_when_they_say_so():
    sent = notification(7, zone_of(*SETS))
    read = dns.message.from_wire(sent)
    reply = dns.message.make_response(read).to_wire()

    assert (dns.opcode.to_text(read.opcode()), read.id) == ("NOTIFY", 7)
    assert read.answer[0][0].serial == 1001
    assert acknowledges(reply, sent)
    assert not acknowledges(sent, sent)
    assert not acknowledges(b"\0\x08" + reply[2:], sent)
    assert not acknowledges(reply[:5], sent)
