"""What is answered to which question."""

import dns.edns
import dns.flags
import dns.message
import dns.opcode
import pytest

from hanse.kube.runtime import SeededRuntime
from hanse.services.dns.authority import Authority
from hanse.services.dns.zone import Zone
from hanse.services.dns.zones import Zones
from tests.unit.services.dns.asking import CLIENT, ask, authority_of, question, rcode, records, texts, values

SOA = "example.com. 30 SOA ns.example.com. hostmaster.example.com. 1001 300 60 1209600 30"
ZONE = (
    records("web", "A", "192.0.2.1"),
    records("web", "AAAA", "2001:db8::1"),
    records("deep.in.the", "A", "192.0.2.2", ttl=7),
    records("to-web", "CNAME", "to-web-too.example.com."),
    records("to-web-too", "CNAME", "web.example.com."),
    records("to-nothing", "CNAME", "gone.example.com."),
    records("to-deep", "CNAME", "in.the.example.com."),
    records("away", "CNAME", "www.example.org."),
    records("round", "CNAME", "about.example.com."),
    records("about", "CNAME", "round.example.com."),
    records("_http._tcp.web", "SRV", "0 1 80 web.example.com."),
    records("said", "TXT", '"hello" "world"'),
)
# Question, code, answers, and whether the SOA says for how long there is nothing.
ANSWERS = {
    "an address": ("web.example.com A", "NOERROR", ["web.example.com. 180 A 192.0.2.1"], False),
    "an address of IPv6": ("web.example.com AAAA", "NOERROR", ["web.example.com. 180 AAAA 2001:db8::1"], False),
    "letters as they were asked": ("wEb.ExamPle.COM A", "NOERROR", ["wEb.ExamPle.COM. 180 A 192.0.2.1"], False),
    "a text": ("said.example.com TXT", "NOERROR", ['said.example.com. 180 TXT "hello" "world"'], False),
    "nothing of that type": ("web.example.com TXT", "NOERROR", [], True),
    "a type that nobody knows": ("web.example.com TYPE65280", "NOERROR", [], True),
    "no such name": ("gone.example.com A", "NXDOMAIN", [], True),
    "a name above names": ("in.the.example.com A", "NOERROR", [], True),
    "a name below a name": ("below.web.example.com A", "NXDOMAIN", [], True),
    "aliases are followed": (
        "to-web.example.com A",
        "NOERROR",
        [
            "to-web.example.com. 180 CNAME to-web-too.example.com.",
            "to-web-too.example.com. 180 CNAME web.example.com.",
            "web.example.com. 180 A 192.0.2.1",
        ],
        False,
    ),
    "an alias that is asked for": (
        "to-web.example.com CNAME",
        "NOERROR",
        ["to-web.example.com. 180 CNAME to-web-too.example.com."],
        False,
    ),
    "an alias to nothing": (
        "to-nothing.example.com A",
        "NXDOMAIN",
        ["to-nothing.example.com. 180 CNAME gone.example.com."],
        True,
    ),
    "an alias to a name above names": (
        "to-deep.example.com A",
        "NOERROR",
        ["to-deep.example.com. 180 CNAME in.the.example.com."],
        True,
    ),
    "an alias to elsewhere": ("away.example.com A", "NOERROR", ["away.example.com. 180 CNAME www.example.org."], False),
    "an alias asked for everything": (
        "away.example.com ANY",
        "NOERROR",
        ["away.example.com. 180 CNAME www.example.org."],
        False,
    ),
    "aliases in a circle": ("round.example.com A", "SERVFAIL", [], False),
    "everything of a name": ("web.example.com ANY", "NOERROR", ['web.example.com. 30 HINFO "RFC8482" ""'], False),
    "everything of a name above names": ("the.example.com ANY", "NOERROR", [], True),
    "everything of nothing": ("gone.example.com ANY", "NXDOMAIN", [], True),
    "the zone's servers": ("example.com NS", "NOERROR", ["example.com. 3600 NS ns.example.com."], False),
    "a server's address": ("ns.example.com A", "NOERROR", ["ns.example.com. 3600 A 192.0.2.53"], False),
    "the zone's version": ("example.com SOA", "NOERROR", [SOA], False),
    "the zone's address": ("example.com A", "NOERROR", [], True),
    "keys of a zone that is not signed": ("example.com DNSKEY", "NOERROR", [], True),
}
# Questions that are not answered, with their code.
REFUSALS = {
    "another domain": (question("www.example.org"), "REFUSED"),
    "the root": (question(".", "NS"), "REFUSED"),
    "a domain above": (question("com", "NS"), "REFUSED"),
    "a domain that ends alike": (question("notexample.com"), "REFUSED"),
    "the server's version": (question("version.bind", "TXT", rdclass="CH"), "REFUSED"),
    "another class of our domain": (question("web.example.com", rdclass="CH"), "REFUSED"),
    "a transfer by UDP": (question("example.com", "AXFR"), "FORMERR"),
    "a type of mail that never was": (question("example.com", "MAILB"), "NOTIMP"),
    "a key exchange": (question("example.com", "TKEY"), "NOTIMP"),
    "EDNS of another version": (question("web.example.com", use_edns=1), "BADVERS"),
}
OPCODES = {"IQUERY": "NOTIMP", "STATUS": "NOTIMP", "NOTIFY": "NOTAUTH", "UPDATE": "REFUSED", "6": "NOTIMP"}


@pytest.mark.parametrize(("asked", "code", "answers", "negative"), ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("over_tcp", [False, True], ids=["udp", "tcp"])
def test_a_question_has_its_answer(asked, code, answers, negative, over_tcp):
    answer = ask(authority_of(*ZONE), *asked.split(), over_tcp=over_tcp)

    assert rcode(answer) == code
    assert texts(answer.answer) == answers
    assert texts(answer.authority) == ([SOA] if negative else [])
    assert answer.flags & dns.flags.AA
    assert answer.flags & dns.flags.RD
    assert not answer.flags & (dns.flags.RA | dns.flags.AD | dns.flags.TC)


@pytest.mark.parametrize(("asked", "code"), REFUSALS.values(), ids=REFUSALS.keys())
def test_what_is_not_ours_to_answer_is_refused(asked, code):
    authority = authority_of(*ZONE)

    answer = dns.message.from_wire(authority.answer(asked.to_wire(), CLIENT))

    assert rcode(answer) == code
    assert not answer.answer
    assert not answer.authority
    assert not answer.flags & dns.flags.AA
    assert answer.question == asked.question


@pytest.mark.parametrize(("opcode", "code"), OPCODES.items())
def test_other_requests_than_questions_are_turned_down(opcode, code):
    sent = bytearray(question("example.com", "SOA").to_wire())
    sent[2] = (int(opcode) if opcode.isdigit() else dns.opcode.from_text(opcode)) << 3

    told = authority_of(*ZONE).answer(bytes(sent), CLIENT)

    assert told[:2] == sent[:2]
    assert told[2] == 0x80 | sent[2]
    assert dns.rcode.to_text(told[3] & 0xF) == code
    assert len(told) == 12


def test_an_answer_is_never_answered():
    authority = authority_of(*ZONE)
    told = authority.answer(question("web.example.com").to_wire(), CLIENT)

    assert authority.answer(told, CLIENT) is None
    assert authority.answer(b"", CLIENT) is None
    assert list(authority.answers(told, CLIENT)) == []


def test_a_service_is_told_with_the_addresses_of_its_targets():
    answer = ask(authority_of(*ZONE), "_http._tcp.web.example.com", "SRV")

    assert texts(answer.answer) == ["_http._tcp.web.example.com. 180 SRV 0 1 80 web.example.com."]
    assert sorted(texts(answer.additional)) == [
        "web.example.com. 180 A 192.0.2.1",
        "web.example.com. 180 AAAA 2001:db8::1",
    ]


def test_who_asks_for_dnssec_gets_the_same_answer_and_nothing_is_claimed():
    authority = authority_of(*ZONE)
    answer = ask(authority, "web.example.com", want_dnssec=True, flags=dns.flags.RD | dns.flags.AD | dns.flags.CD)

    assert values(answer) == ["192.0.2.1"]
    assert answer.ednsflags & dns.flags.DO
    assert answer.flags & dns.flags.CD
    assert not answer.flags & dns.flags.AD
    assert not ask(authority, "web.example.com", use_edns=0).ednsflags & dns.flags.DO
    assert ask(authority, "web.example.com", use_edns=False).edns == -1


def test_nobody_is_sent_away_by_a_server_that_has_not_seen_all():
    authority = Authority(Zones(complete=False), SeededRuntime(1))

    assert rcode(ask(authority, "web.example.com")) == "SERVFAIL"


def test_of_two_zones_the_longer_answers_for_its_names():
    inner = Zone("in.example.com")
    inner.replace("x", [records("a.in", "A", "192.0.2.9")])
    authority = authority_of(records("a.in", "A", "192.0.2.1"), records("b.in", "A", "192.0.2.1"))
    authority.zones.put(inner)

    assert values(ask(authority, "a.in.example.com")) == ["192.0.2.9"]
    assert rcode(ask(authority, "b.in.example.com")) == "NXDOMAIN"


def test_what_was_answered_is_counted():
    authority = authority_of(*ZONE)
    ask(authority, "web.example.com")
    ask(authority, "gone.example.com")
    authority.answer(b"\0" * 12, CLIENT)

    counts = authority.statistics
    assert counts.questions == 3
    assert {code.name: count for code, count in counts.answers.items() if count} == {
        "NOERROR": 1,
        "NXDOMAIN": 1,
        "FORMERR": 1,
    }
