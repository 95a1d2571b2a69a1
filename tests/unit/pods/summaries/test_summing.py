"""Sums over nodes, and the labels on which they agree."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.kube.manifest import Obj
from hanse.pods.summaries.summing import agreed_labels, summary_of, total


def node(labels: dict[str, str] | None = None, **capacity: Any) -> Obj:
    return {
        "metadata": {"name": "n", "labels": labels or {}},
        "status": {"capacity": capacity, "allocatable": capacity},
    }


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([], {}),
        ([None, {}], {}),
        ([{"cpu": "4"}, {"cpu": "8"}], {"cpu": "12"}),
        ([{"cpu": "3920m"}, {"cpu": "80m"}], {"cpu": "4"}),
        ([{"memory": "16Gi"}, {"memory": "16393216Ki"}], {"memory": "32393Mi"}),
        ([{"pods": "110"}, {"pods": 110}], {"pods": "220"}),
        (
            [{"hugepages-2Mi": "0"}, {"hugepages-2Mi": "4Mi"}, {"hugepages-1Gi": "2Gi"}],
            {"hugepages-1Gi": "2Gi", "hugepages-2Mi": "4Mi"},
        ),
        ([{"example.com/gpu": "2"}, {"cpu": "nonsense"}], {"example.com/gpu": "2"}),
    ],
)
def test_amounts_are_added_up(lists: list[Any], expected: dict[str, str]) -> None:
    assert total(lists) == expected


def test_a_label_counts_if_all_nodes_that_have_it_agree() -> None:
    """Line 61."""
    nodes = [node({"region": "eu", "zone": "a", "gpu": "yes"}), node({"region": "eu", "zone": "b"})]
    assert agreed_labels(nodes) == {"region": "eu", "gpu": "yes"}


def test_nodes_that_stand_for_other_clusters_do_not_count() -> None:
    """Line 60."""
    virtual = node({"virtual-kubelet.io/provider": "admiralty", "region": "us"}, cpu="1000")
    summary = summary_of([node({"region": "eu"}, cpu="4"), virtual])
    assert (summary["capacity"], summary["allocatable"]) == ({"cpu": "4"}, {"cpu": "4"})
    assert summary["metadata"] == {"name": "singleton", "labels": {"region": "eu"}}
