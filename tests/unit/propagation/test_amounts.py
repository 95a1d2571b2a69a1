"""A server writes amounts its own way; that is no difference."""

import pytest

from hanse.kube.schemas import schema_for
from hanse.propagation.comparison import covers


def workload(amount, **more):
    container = {"name": "web", "resources": {"limits": {"memory": amount}}, **more}
    return {"spec": {"template": {"spec": {"containers": [container]}}}}


@pytest.mark.parametrize(
    ("observed", "rendered", "same"),
    [
        ("1Gi", "1024Mi", True),
        ("500m", "0.5", True),
        ("1", 1, True),
        ("1Gi", "1G", False),
        ("1Gi", "odd", False),
        (None, "1Gi", False),
    ],
)
def test_the_same_amount_is_the_same_however_it_is_written(observed, rendered, same):
    schema = schema_for("apps", "v1", "Deployment")
    assert covers(workload(observed), workload(rendered), schema) == same


def test_what_is_no_amount_is_compared_letter_by_letter():
    schema = schema_for("apps", "v1", "Deployment")
    assert not covers(workload("1", image="1000m"), workload("1", image="1"), schema)
