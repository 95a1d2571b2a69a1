"""Answers to a network that asks too much are thinned out."""

from ipaddress import ip_network

import dns.flags
import dns.message
import pytest

from hanse.services.dns.limits import AnswerLimiter, Limits, Ruling, client_network, within
from tests.unit.services.dns.asking import CLIENT, authority_of, question, records

SEND, TRUNCATE, DROP = Ruling.SEND, Ruling.TRUNCATE, Ruling.DROP


def test_a_network_has_so_many_answers_a_second_and_every_other_beyond_is_sent_to_tcp():
    limiter = AnswerLimiter(Limits(answers_per_second=3))

    assert [limiter.rule("192.0.2.1", 0.0) for _ in range(7)] == [SEND] * 3 + [DROP, TRUNCATE, DROP, TRUNCATE]
    assert [limiter.rule("192.0.2.200", 0.4) for _ in range(2)] == [SEND, DROP]
    assert limiter.rule("192.0.3.1", 0.4) is SEND
    assert [limiter.rule("192.0.2.1", 60.0) for _ in range(4)] == [SEND] * 3 + [TRUNCATE]


def test_without_slip_all_beyond_is_dropped_and_without_a_rate_nothing():
    strict, loose = AnswerLimiter(Limits(answers_per_second=1, slip=0)), AnswerLimiter(Limits(answers_per_second=0))

    assert [strict.rule("192.0.2.1", 0.0) for _ in range(4)] == [SEND, DROP, DROP, DROP]
    assert {loose.rule("192.0.2.1", 0.0) for _ in range(100)} == {SEND}


@pytest.mark.parametrize(
    ("address", "exempt"), [("127.0.0.1", True), ("::1", True), ("10.9.1.1", True), ("10.8.1.1", False)]
)
def test_who_is_exempt_is_never_limited(address, exempt):
    limiter = AnswerLimiter(Limits(answers_per_second=1, exempt=(*Limits().exempt, ip_network("10.9.0.0/16"))))

    assert ({limiter.rule(address, 0.0) for _ in range(5)} == {SEND}) is exempt


def test_networks_that_somebody_invents_are_not_remembered_without_end():
    limiter = AnswerLimiter(Limits(), remembered=100)
    for number in range(300):
        limiter.rule(f"{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}.1", 0.0)

    assert len(limiter._accounts) <= 100
    assert len(limiter._exempt) <= 100


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.255", True),
        ("192.0.2.1", "192.0.3.1", False),
        ("::ffff:192.0.2.1", "192.0.2.9", True),
        ("2001:db8:0:1::1", "2001:db8:0:ff::1", True),
        ("2001:db8:0:100::1", "2001:db8:0:200::1", False),
        ("fe80::1%eth0", "fe80::2", True),
    ],
)
def test_clients_of_one_network_share_an_account(one, other, same):
    assert (client_network(one) == client_network(other)) is same


def test_an_address_is_within_networks_of_its_family_alone():
    networks = (ip_network("192.0.2.0/24"), ip_network("2001:db8::/32"))

    assert within("192.0.2.1", networks)
    assert within("2001:db8::1", networks)
    assert not within("2001:db9::1", networks)
    assert not within("nobody", networks)


def test_a_client_that_is_sent_to_tcp_is_told_so_in_no_more_bytes_than_it_sent():
    authority = authority_of(records("web", "A", *(f"10.0.0.{index}" for index in range(1, 20))))
    sent = question("web.example.com", use_edns=0).to_wire()
    told = authority.answer_emptily(sent)
    answer = dns.message.from_wire(told, raise_on_truncation=False)

    assert answer.flags & dns.flags.TC
    assert not answer.answer
    assert len(told) <= len(sent)
    assert answer.edns == 0
    assert authority.answer_emptily(b"\0" * 12) is None
    assert authority.answer(sent, CLIENT) is not None
