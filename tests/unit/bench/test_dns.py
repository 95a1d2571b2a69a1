"""The DNS bench's zone and its line of results."""

import dns.zone

from bench.dns import Measured, result_line
from bench.dns_servers import DOMAIN, service_name, zone_file


def test_the_other_servers_get_the_same_zone() -> None:
    zone = dns.zone.from_text(zone_file(3), origin=DOMAIN, relativize=False)

    assert sorted(value.to_text() for value in zone.find_rdataset(f"{service_name(2)}.", "A")) == [
        "10.1.0.2",
        "10.2.0.2",
        "10.3.0.2",
    ]


def test_a_line_has_the_ratios_and_a_dash_for_what_was_not_there() -> None:
    ours, knot = Measured(20_000, 0, 0.2, 0.9, 30, 60), Measured(80_000, 0, 0.1, 0.4, 5, 12)

    assert result_line({"built-in": ours, "CoreDNS": None, "Knot": knot}, date="D", commit="C", command="X") == (
        "| D | C | `X` | 20,000 | – | 80,000 (0.25) | 0.20 / 0.90 | – | 0.10 / 0.40 | 30.0 / – / 5.0 | 60 / – / 12 |"
    )
