"""Names and values go to the wire as dnspython writes them."""

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.services.dns.names import BadName, labels, parents, to_text, to_wire
from hanse.services.dns.rdata import BadValue, to_rdata
from hanse.services.dns.types import Type

NAMES = ("example.com", "example.com.", "_client._tcp.My-Service.ns.fed.svc.example.com", ".", "a", "x" * 63 + ".y")
BAD_NAMES = ("a..b", ".a", "x" * 64, "ü.example", "a\\.b", ".".join(["abcdefgh"] * 30))
VALUES = (
    ("A", "104.197.117.10"),
    ("AAAA", "2001:db8::7"),
    ("CNAME", "web.default.fed.svc.example.com."),
    ("NS", "ns.example.com."),
    ("SRV", "0 65535 2379 c-1.web.default.fed.svc.example.com."),
    ("TXT", '"heritage=hanse" "federation=7f"'),
    ("TXT", '"say \\"hello\\" \\\\ and \\233"'),
    ("TXT", "plain"),
    ("TXT", '"' + "x" * 255 + '"'),
    ("TXT", '""'),
)
BAD_VALUES = (
    ("A", "104.197.117"),
    ("A", "2001:db8::7"),
    ("AAAA", "1.2.3.4"),
    ("CNAME", "a..b"),
    ("SRV", "0 1 2379"),
    ("SRV", "0 70000 1 a.b."),
    ("SRV", "zero 1 1 a.b."),
    ("TXT", '"open'),
    ("TXT", ""),
    ("TXT", '"\\999"'),
    ("TXT", '"' + "x" * 256 + '"'),
    ("SOA", "a. b. 1 2 3 4 5"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_written_as_it_should_be(name):
    assert to_wire(name) == dns.name.from_text(name).to_wire()


@pytest.mark.parametrize("name", BAD_NAMES)
def test_what_is_no_name_is_refused_with_a_sentence(name):
    with pytest.raises(BadName, match="is no domain name"):
        to_wire(name)


@settings(max_examples=30)
@given(st.lists(st.binary(min_size=1, max_size=20), max_size=8))
def test_any_name_of_the_wire_can_be_shown_to_people(parts):
    wire = dns.name.Name([*parts, b""]).to_wire()

    assert labels(wire) == parts
    assert dns.name.from_text(to_text(wire)).to_wire() == wire


def test_the_names_above_a_name_end_with_the_root():
    assert [to_text(name) for name in parents(to_wire("a.b.c"))] == ["a.b.c.", "b.c.", "c.", "."]


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_a_value_is_written_as_it_should_be(kind, value):
    theirs = dns.rdata.from_text(dns.rdataclass.IN, dns.rdatatype.from_text(kind), value)

    assert to_rdata(Type[kind], value) == theirs.to_wire()


@pytest.mark.parametrize(("kind", "value"), BAD_VALUES)
def test_what_is_no_value_of_its_type_is_refused_with_a_sentence(kind, value):
    with pytest.raises(BadValue, match=f"type {kind}"):
        to_rdata(Type[kind], value)
