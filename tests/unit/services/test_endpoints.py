import pytest

from hanse.services.endpoints import ready_in

SLICES = {
    "no endpoints": ({}, 0),
    "null": ({"endpoints": None}, 0),
    "one that says nothing counts": ({"endpoints": [{"addresses": ["10.0.0.1"]}]}, 1),
    "one that does not know counts": ({"endpoints": [{"conditions": {}}, {"conditions": {"ready": None}}]}, 2),
    "one that is not ready does not": ({"endpoints": [{"conditions": {"ready": False, "serving": True}}]}, 0),
    "some": ({"endpoints": [{"conditions": {"ready": True}}, {"conditions": {"ready": False}}]}, 1),
}


@pytest.mark.parametrize(("endpoint_slice", "expected"), SLICES.values(), ids=SLICES)
def test_how_many_endpoints_are_ready(endpoint_slice, expected):
    assert ready_in(endpoint_slice) == expected
