"""From services and their wishes to lines: who gets which entrance, and which cluster how much."""

import pytest

from hanse.services.balancing.lines import PortRange, Target, draw_lines
from hanse.services.balancing.wishes import Mode
from hanse.services.presence import Port
from tests.unit.services.balancing.builders import WEB, asking, presence


def weights(*presences):
    drawn = draw_lines([asking("tcp", *presences)])
    return {(target.cluster, target.address): target.weight for target in drawn.lines[0].targets}


def test_a_line_leads_from_one_port_to_the_service_in_every_cluster():
    drawn = draw_lines([asking('{"mode": "http", "listen": {"web": 8080}}', presence("a"), presence("b"), sticky=True)])

    (line,) = drawn.lines
    assert not drawn.troubles
    assert (line.name, line.listen, line.mode, line.sticky) == ("shop.web.80", 8080, Mode.HTTP, True)
    assert line.targets == (Target("a", "192.0.2.1", 80, 256), Target("b", "192.0.2.2", 80, 256))


@pytest.mark.parametrize(
    ("presences", "expected"),
    [
        # As weights say, the largest in full.
        ([presence("a", weight=3), presence("b", weight=1)], [256, 85]),
        # A cluster with little is not one with nothing.
        ([presence("a", weight=100_000), presence("b", weight=1)], [256, 1]),
        # Who does not serve is drained, and so is who should get nothing.
        ([presence("a", serving=False), presence("b")], [0, 256]),
        ([presence("a", weight=0), presence("b")], [0, 256]),
        # An address that is dead leaves its cluster's part to the others of the cluster.
        ([presence("a", "192.0.2.1", "192.0.2.9", dead=("192.0.2.9",)), presence("b")], [256, 0, 256]),
        # Nobody serves: everybody is drained.
        ([presence("a", serving=False), presence("b", serving=False)], [0, 0]),
        # Two addresses of one cluster share its part.
        ([presence("a", "192.0.2.1", "2001:db8::1"), presence("b")], [128, 128, 256]),
    ],
)
def test_each_cluster_gets_its_share(presences, expected):
    assert list(weights(*presences).values()) == expected


def test_a_cluster_without_an_address_is_no_target():
    drawn = draw_lines([asking("tcp", presence("a"), presence("b").__class__("b"))])

    assert [target.cluster for target in drawn.lines[0].targets] == ["a"]


OTHER = "listen: port 80 belongs to Service shop/old; choose another"


@pytest.mark.parametrize(
    ("older", "younger", "why"),
    [
        ("tcp", "tcp", OTHER),
        ("http", "tcp", OTHER),
        ("tcp", '{"mode": "http", "hosts": ["a.example"]}', OTHER),
        ("http", "http", f"{OTHER} port or other hosts"),
        (
            '{"mode": "http", "hosts": ["a.example"]}',
            '{"mode": "http", "hosts": ["a.example", "b.example"]}',
            "listen: host a.example of port 80 belongs to Service shop/old; choose another port or other hosts",
        ),
    ],
)
def test_an_entrance_belongs_to_the_older_of_two_services(older, younger, why):
    askings = [asking(younger, name="new", since="2026-02"), asking(older, name="old", since="2026-01")]
    drawn = draw_lines(askings)

    assert [line.service.name for line in drawn.lines] == ["old"]
    assert [(trouble.service.name, trouble.why) for trouble in drawn.troubles] == [
        ("new", f"hanse.dev/balancer: {why}")
    ]


def test_services_of_http_share_a_port_by_their_hosts_and_one_has_all_others():
    wishes = ['{"mode": "http", "hosts": ["a.example"]}', "http", '{"mode": "http", "hosts": ["b.example"]}']
    drawn = draw_lines([asking(text, name=f"s{index}") for index, text in enumerate(wishes)])

    assert not drawn.troubles
    assert [line.hosts for line in drawn.lines] == [("a.example",), (), ("b.example",)]


def test_what_cannot_be_drawn_is_told_and_does_not_hold_up_the_rest():
    askings = [
        asking("nonsense", name="bad"),
        asking("tcp", ports=[WEB, Port("dns", "UDP", 53)]),
        asking("tcp", name="z"),
    ]
    drawn = draw_lines(askings)

    assert [line.name for line in drawn.lines] == ["shop.web.80"]
    assert [str(trouble.service) for trouble in drawn.troubles] == ["shop/bad", "shop/web", "shop/z"]
    assert drawn.troubles[1].why == "hanse.dev/balancer: port dns is UDP, which is not balanced; DNS leads its clients"


def test_only_ports_that_the_balancer_may_open_are_opened():
    ports = [Port("ssh", "TCP", 22), Port("web", "TCP", 80)]
    drawn = draw_lines([asking("tcp", ports=ports)], (PortRange(80, 80), PortRange(8000, 8999)))

    assert [line.listen for line in drawn.lines] == [80]
    assert "port 22 is not one that this balancer may open" in drawn.troubles[0].why
