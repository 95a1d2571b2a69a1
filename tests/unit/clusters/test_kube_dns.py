"""The federation's name in a member's DNS; numbers are lines of the federation-v1 checklist."""

import pytest

from hanse.clusters.kube_dns import (
    DnsNotice,
    announced,
    check_entry,
    check_server,
    noticed,
    with_entry,
    with_stub,
    withdrawn,
    without_entry,
    without_stub,
)

OURS = "myfed=example.com"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("other=x.org", "other=x.org,myfed=example.com", id="102 beside another"),
        pytest.param("other=x.org,myfed=example.com", "other=x.org,myfed=example.com", id="102 again"),
        pytest.param("", OURS, id="the first"),
        pytest.param(" other=x.org , ", "other=x.org,myfed=example.com", id="blanks"),
        pytest.param("myfed=example.org", "myfed=example.org,myfed=example.com", id="another domain"),
    ],
)
def test_an_entry_is_added_once(before, after):
    assert with_entry(before, OURS) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("other=x.org,myfed=example.com", "other=x.org", id="103 beside another"),
        pytest.param(OURS, "", id="103 the last"),
        pytest.param("myfed=example.org", "myfed=example.org", id="103 only this one"),
        pytest.param("", "", id="none"),
    ],
)
def test_only_that_entry_is_removed(before, after):
    assert without_entry(before, OURS) == after


@pytest.mark.parametrize("text", ["", "myfed", "a.b=example.com", "x=", "=x", "X=example.com", "x=example.com."])
def test_an_entry_that_no_dns_would_take_is_refused(text):
    with pytest.raises(ValueError, match="must be NAME=DOMAIN"):
        check_entry(text)


def test_a_good_entry_is_taken_as_it_is():
    assert check_entry(OURS) == OURS


SERVERS = ("10.0.0.53", "10.0.1.53:5353")
STUB = '{"example.com": ["10.0.0.53", "10.0.1.53:5353"]}'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", STUB, id="the first"),
        pytest.param(STUB, STUB, id="again"),
        pytest.param('{"a.org": ["1.1.1.1"]}', '{"a.org": ["1.1.1.1"], ' + STUB[1:], id="beside another"),
        pytest.param('{"example.com": ["9.9.9.9"]}', STUB, id="with other servers"),
    ],
)
def test_a_domain_is_led_to_the_federations_servers(before, after):
    assert with_stub(before, "example.com", SERVERS) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(STUB, "", id="the last"),
        pytest.param('{"a.org": ["1.1.1.1"], ' + STUB[1:], '{"a.org": ["1.1.1.1"]}', id="beside another"),
        pytest.param('{"example.com": ["9.9.9.9"]}', '{"example.com": ["9.9.9.9"]}', id="led elsewhere by somebody"),
        pytest.param("", "", id="none"),
    ],
)
def test_only_our_own_leading_is_taken_back(before, after):
    assert without_stub(before, "example.com", SERVERS) == after


@pytest.mark.parametrize("stubs", ["[]", "{", "example.com"])
def test_stub_domains_that_cannot_be_read_are_not_overwritten(stubs):
    with pytest.raises(ValueError, match="mend it first"):
        with_stub(stubs, "example.com", SERVERS)


def test_what_was_told_is_taken_back_and_nothing_else():
    before = {"federations": "other=x.org", "upstreamNameservers": '["8.8.8.8"]'}
    notice = DnsNotice(OURS, SERVERS)

    told = announced(before, notice)

    assert told == {**before, "federations": f"other=x.org,{OURS}", "stubDomains": STUB}
    assert withdrawn(told, notice) == before
    assert noticed({"metadata": {"annotations": notice.annotations()}}) == notice


@pytest.mark.parametrize("text", ["10.0.0.53", "10.0.0.53:5353", "fd00::53", "[fd00::53]:5353"])
def test_a_server_is_an_address_with_or_without_a_port(text):
    assert check_server(text) == text


@pytest.mark.parametrize("text", ["", "dns.example.com", "10.0.0.53:", "10.0.0.53:0", "10.0.0.53:70000", "[fd00::53]"])
def test_a_server_that_pods_could_not_reach_is_refused(text):
    with pytest.raises(ValueError, match="must"):
        check_server(text)
