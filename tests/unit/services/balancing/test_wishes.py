"""What a Service may ask of the balancers, and what it is told when it asks for something else."""

import pytest

from hanse.services.balancing.wishes import Mode, Wish, WishError, parse_wish
from hanse.services.presence import Port


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("tcp", Wish(Mode.TCP)),
        (" http\n", Wish(Mode.HTTP)),
        ("{}", Wish()),
        ('{"mode": "http", "listen": {"web": 8080}}', Wish(Mode.HTTP, (("web", 8080),))),
        ('{"mode": "http", "hosts": ["B.example", "a.example"]}', Wish(Mode.HTTP, (), ("a.example", "b.example"))),
        ('{"idleSeconds": 30}', Wish(idle_seconds=30)),
    ],
)
def test_a_wish_is_a_word_or_an_object(text, wish):
    assert parse_wish(text) == wish


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must be tcp, http or a JSON object"),
        ("udp", "must be tcp, http or a JSON object"),
        ("[1]", "must be tcp, http or a JSON object"),
        ('{"mode": "udp"}', "mode: 'udp' must be tcp or http"),
        ('{"mode": ["tcp"]}', "mode: ['tcp'] must be tcp or http"),
        ('{"port": 1}', "port: is not known; there are mode, listen, hosts, idleSeconds"),
        ('{"listen": 80}', "listen: must say where to listen for each port"),
        ('{"listen": {"web": 0}}', "listen.web: 0 must be a port number from 1 to 65535"),
        ('{"listen": {"web": true}}', "listen.web: True must be a port number from 1 to 65535"),
        ('{"mode": "http", "hosts": "a"}', "hosts: must be a list of host names"),
        ('{"hosts": ["a.example"]}', "hosts: only mode http can tell hosts apart"),
        ('{"idleSeconds": 0}', "idleSeconds: 0 must be a whole number"),
        ('{"idleSeconds": 1.5}', "idleSeconds: 1.5 must be a whole number"),
    ],
)
def test_a_wrong_wish_is_answered_with_the_field_and_what_belongs_there(text, why):
    with pytest.raises(WishError) as raised:
        parse_wish(text)

    assert str(raised.value).startswith(why)


@pytest.mark.parametrize("host", ["a.example }\\n  bind :22", "a b", "-a.example", "", "a..b", "ä.example", "x" * 254])
def test_nothing_but_a_host_name_reaches_the_configuration_as_a_host(host):
    with pytest.raises(WishError, match="must be a host name"):
        parse_wish('{"mode": "http", "hosts": ["' + host + '"]}')


PORTS = (Port("web", "TCP", 80), Port("", "TCP", 81), Port("dns", "UDP", 53))


@pytest.mark.parametrize(
    ("listen", "entrances"),
    [
        ((), {PORTS[0]: 80, PORTS[1]: 81}),
        ((("web", 8080),), {PORTS[0]: 8080}),
        ((("81", 8081), ("web", 8080)), {PORTS[0]: 8080, PORTS[1]: 8081}),
    ],
)
def test_ports_are_named_by_name_or_number_and_all_of_tcp_are_meant_where_none_is(listen, entrances):
    assert Wish(listen=listen).entrances(PORTS) == entrances


@pytest.mark.parametrize("name", ["dns", "53", "nowhere", ""])
def test_a_port_that_is_not_there_or_not_of_tcp_is_refused(name):
    with pytest.raises(WishError, match="has no TCP port"):
        Wish(listen=((name, 8080),)).entrances(PORTS)
