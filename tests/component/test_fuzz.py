"""A sample of `make fuzz`, the same in every run: hostile input is refused, and everything serves on."""

import pytest

from tests.fuzz.dns import run as dns
from tests.fuzz.manifests import run as manifests
from tests.fuzz.requests import run as requests


@pytest.mark.parametrize(
    ("target", "count"), [(requests, 200), (manifests, 200), (dns, 500)], ids=["requests", "manifests", "dns"]
)
def test_hostile_input_breaks_nothing(target, count):
    tally = target.run(1, count)
    assert (tally.cases, tally.faults) == (count, [])
