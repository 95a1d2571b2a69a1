"""What tells the entries of a keyed list apart."""

import pytest

from hanse.kube.schemas import schema_for
from hanse.propagation.comparison import covers

PORTS = schema_for("", "v1", "Service")
for field in ("spec", "ports"):
    PORTS = PORTS and PORTS.child(field)
assert PORTS is not None


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ({"port": 80}, ("80", "TCP")),
        ({"port": 80, "protocol": None}, ("80", "TCP")),
        ({"port": 80, "protocol": "UDP"}, ("80", "UDP")),
        ("odd", ("odd",)),
    ],
)
def test_a_key_that_an_entry_leaves_out_has_its_default(entry, key):
    assert PORTS.entry_key(entry) == key


def test_a_rendered_port_without_a_protocol_is_the_one_that_the_cluster_has():
    have = [{"port": 80, "protocol": "TCP", "nodePort": 30080}]
    assert covers(have, [{"port": 80}], PORTS)
    assert not covers(have, [{"port": 80, "protocol": "UDP"}], PORTS)
