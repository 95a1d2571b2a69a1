"""How a balancer stands: clusters from what it was told, numbers from what it counts."""

import pytest

from hanse.cli.balancer import parse_ranges
from hanse.cli.failures import Misuse
from hanse.kube.manifest import Key
from hanse.services.balancing.lines import Drawn, PortRange, Target, Trouble
from hanse.services.balancing.standing import keep_drawn, kept_drawn, standings
from tests.unit.services.balancing.builders import line, target

LINE = line(target("a"), target("b", 0), target("c"), Target("d", "2001:db8::1", 80, 256))
COUNTED = [
    {"pxname": "port.8080", "svname": "FRONTEND", "addr": "", "status": "OPEN"},
    {"pxname": "shop.web.80", "addr": "192.0.2.1:80", "status": "UP", "scur": "3", "stot": "9"},
    {"pxname": "shop.web.80", "addr": "192.0.2.2:80", "status": "DRAIN", "scur": "1", "stot": "2"},
    {"pxname": "shop.web.80", "addr": "192.0.2.3:80", "status": "DOWN 1/2", "scur": "0", "stot": "0"},
    {"pxname": "shop.web.80", "addr": "[2001:db8::1]:80", "status": "no check", "scur": "0", "stot": "4"},
]


def test_what_a_balancer_was_told_stands_beside_what_it_counts(tmp_path):
    keep_drawn(tmp_path, Drawn((LINE,), (Trouble(Key("shop", "other"), "a reason"),)))
    document = kept_drawn(tmp_path)

    assert [(each.cluster, each.state, each.connections, each.total) for each in standings(document, COUNTED)] == [
        ("a", "Up", 3, 9),
        ("b", "Drained", 1, 2),
        ("c", "Down", 0, 0),
        ("d", "Up", 0, 4),
    ]
    assert {each.state for each in standings(document, None)} == {"Unknown"}
    assert document["troubles"] == [{"service": "shop/other", "why": "a reason"}]


def test_nothing_is_known_where_no_balancer_ever_ran(tmp_path):
    assert kept_drawn(tmp_path) is None


def test_ports_are_given_as_ranges():
    assert parse_ranges("80, 8000-8999") == (PortRange(80, 80), PortRange(8000, 8999))


@pytest.mark.parametrize("text", ["", "0", "9-8", "65536", "a", "80,"])
def test_what_is_no_range_of_ports_is_refused(text):
    with pytest.raises(Misuse, match="--ports"):
        parse_ranges(text)
