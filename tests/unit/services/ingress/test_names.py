"""Names of load balancers and of what they are made of."""

import pytest

from hanse.services.ingress.names import name_problem, resource_name


@pytest.mark.parametrize(
    ("kind", "balancer", "port", "name"),
    [
        ("hc", "zone-printer", 30061, "mci1-hc-30061--zone-printer"),
        ("um", "zone-printer", None, "mci1-um--zone-printer"),
        ("um", "x" * 53, None, f"mci1-um--{'x' * 53}"),
        ("um", "x" * 54, None, f"mci1-um--{'x' * 53}0"),
        ("be", "x" * 60, 30061, f"mci1-be-30061--{'x' * 47}0"),
    ],
)
def test_resources_are_named_as_kubemci_named_them_and_cut_where_they_are_too_long(kind, balancer, port, name):
    assert resource_name(kind, balancer, port) == name


@pytest.mark.parametrize("name", ["zone-printer", "a", "lb2", "x" * 62])
def test_a_name_that_the_cloud_takes_is_taken(name):
    assert name_problem(name) == ""


@pytest.mark.parametrize("name", ["myLb", "my_lb", "2lb", "lb-", "", "x" * 63, "lb.example"])
def test_a_name_that_the_cloud_would_refuse_is_refused_before_anything_is_done(name):
    """Line 109 of docs/reference/federation-v1.md."""
    assert repr(name) in name_problem(name)
