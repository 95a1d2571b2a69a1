"""Whatever is sent, the server neither falls nor says more than it was asked, nor more than the asker takes."""

import dns.message
import dns.rcode
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.services.dns.query import Malformed, parse_query
from tests.unit.services.dns.asking import CLIENT, authority_of, question, records

AUTHORITY = authority_of(
    records("web", "A", "192.0.2.1", "192.0.2.2"),
    records("alias", "CNAME", "web.example.com."),
    records("many", "A", *(f"10.0.0.{index}" for index in range(1, 100))),
    records("_x._tcp.web", "SRV", "0 1 80 web.example.com."),
)
NAMES = ("web.example.com", "alias.example.com", "many.example.com", "_x._tcp.web.example.com", "no.example.com", ".")
VALID = [
    question(name, kind, **options).to_wire()
    for name in NAMES
    for kind in ("A", "SRV", "ANY")
    for options in ({}, {"use_edns": 0, "payload": 900, "want_dnssec": True})
]

# Bytes that are no question, each of its own kind.
MALFORMED = {
    "no question": b"\x12\x34\x01\x00" + b"\0" * 8,
    "two questions": b"\x12\x34\x01\x00\0\2\0\0\0\0\0\0" + b"\0\0\1\0\1" * 2,
    "name without an end": b"\x12\x34\x01\x00\0\1\0\0\0\0\0\0" + b"\3www",
    "name without type": b"\x12\x34\x01\x00\0\1\0\0\0\0\0\0" + b"\3www\0\0\1",
    "compressed question": b"\x12\x34\x01\x00\0\1\0\0\0\0\0\0" + b"\xc0\x0c\0\1\0\1",
    "label of a kind that never was": b"\x12\x34\x01\x00\0\1\0\0\0\0\0\0" + b"\x41www\0\0\1\0\1" + b"x" * 80,
    "name that is too long": b"\x12\x34\x01\x00\0\1\0\0\0\0\0\0" + (b"\x3f" + b"a" * 63) * 4 + b"\0\0\1\0\1",
    "more records than bytes": question("a.b").to_wire()[:11] + b"\1" + question("a.b").to_wire()[12:],
    "a thousand records": question("a.b").to_wire()[:10] + b"\3\xe8" + question("a.b").to_wire()[12:] + b"\0" * 11000,
    "two options records": b"\x12\x34\x01\x00\0\1\0\0\0\0\0\2" + b"\0\0\1\0\1" + b"\0\0\x29\4\xd0\0\0\0\0\0\0" * 2,
    "options of a name": b"\x12\x34\x01\x00\0\1\0\0\0\0\0\1" + b"\0\0\1\0\1" + b"\1a\0\0\x29\4\xd0\0\0\0\0\0\0",
    "options among answers": b"\x12\x34\x01\x00\0\1\0\1\0\0\0\0" + b"\0\0\1\0\1" + b"\0\0\x29\4\xd0\0\0\0\0\0\0",
    "an option that is cut short": b"\x12\x34\x01\x00\0\1\0\0\0\0\0\1\0\0\1\0\1\0\0\x29\4\xd0\0\0\0\0\0\2\0\x0a",
    "an option longer than all": b"\x12\x34\x01\x00\0\1\0\0\0\0\0\1\0\0\1\0\1\0\0\x29\4\xd0\0\0\0\0\0\4\0\x0a\0\x09",
}

# `make test` has little time; HYPOTHESIS_PROFILE=explore looks further.
EXAMPLES = 60 if settings().derandomize else settings().max_examples


def check(sent):
    """Ask by both ways; return the answer by UDP."""
    told = AUTHORITY.answer(sent, CLIENT)
    for each in (told, *AUTHORITY.answers(sent, CLIENT)):
        if each is not None:
            assert each[:2] == sent[:2]
            assert each[2] & 0x80
    if told is None:
        assert len(sent) < 12 or sent[2] & 0x80
        return None
    assert len(told) <= 1232
    read = dns.message.from_wire(told, raise_on_truncation=False)
    try:
        edns = parse_query(sent).edns if not sent[2] >> 3 & 0xF else None
    except Malformed:
        edns = None
    assert len(told) <= max(512, edns.size if edns else 512)
    return read


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED.keys())
def test_what_is_no_question_is_called_malformed_by_a_header_alone(sent):
    told = AUTHORITY.answer(sent, CLIENT)

    assert check(sent).rcode() == dns.rcode.FORMERR
    assert len(told) == 12


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=300))
def test_any_bytes_are_survived(sent):
    check(sent)


@settings(max_examples=EXAMPLES)
@given(st.sampled_from(VALID), st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=6), st.data())
def test_a_damaged_question_is_survived(sent, damage, data):
    broken = bytearray(sent)
    for place, byte in damage:
        broken[place % len(broken)] = byte
    cut = data.draw(st.integers(0, len(broken)))
    check(bytes(broken[: cut or len(broken)]))


@settings(max_examples=EXAMPLES)
@given(st.lists(st.binary(min_size=1, max_size=63), max_size=5), st.integers(0, 65535), st.integers(0, 65535))
def test_any_name_and_type_is_answered_with_the_same_question(labels, kind, cls):
    name = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    if len(name) > 255:
        name = b"\0"
    asked = name + kind.to_bytes(2) + cls.to_bytes(2)
    sent = b"\x12\x34\x01\x00\0\1\0\0\0\0\0\0" + asked

    check(sent)
    assert AUTHORITY.answer(sent, CLIENT)[12 : 12 + len(asked)] == asked
