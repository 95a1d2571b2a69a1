"""The address in use is the one that is meant for this client."""

import pytest

from hanse.api.clusters import Address
from hanse.clusters.addresses import usable_addresses

WIDE = Address("https://wide", "10.0.0.0/8")
NARROW = Address("https://narrow", "10.1.0.0/16")
ANYONE = Address("https://anyone", "0.0.0.0/0")
UNSAID = Address("https://unsaid")
SIX = Address("https://six", "2001:db8::/32")


@pytest.mark.parametrize(
    ("client", "addresses", "tried"),
    [
        ("10.1.2.3", [WIDE, NARROW, ANYONE], ["https://narrow", "https://wide", "https://anyone"]),
        ("10.2.2.3", [WIDE, NARROW, ANYONE], ["https://wide", "https://anyone"]),
        ("192.168.0.1", [WIDE, NARROW], []),
        ("192.168.0.1", [UNSAID, ANYONE], ["https://unsaid", "https://anyone"]),
        ("2001:db8::7", [WIDE, SIX, ANYONE], ["https://six", "https://anyone"]),
        ("10.1.2.3", [Address("https://bad", "10.0.0.0/99"), ANYONE], ["https://anyone"]),
        ("", [WIDE, NARROW, WIDE], ["https://wide", "https://narrow"]),
    ],
    ids=["longest first", "only what fits", "nothing fits", "unsaid means all", "six", "a bad entry", "unknown client"],
)
def test_addresses_are_tried_in_order_of_fit(client, addresses, tried):
    assert usable_addresses(addresses, client) == tried
