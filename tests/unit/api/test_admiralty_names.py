"""Names derived from targets are Admiralty's own, to the character."""

from __future__ import annotations

import pytest

from hanse.api.admiralty.names import TargetName, child_name, target_named


@pytest.mark.parametrize(
    ("target", "node", "finalizer"),
    [
        (TargetName("default", "c2"), "admiralty-default-c2", "default-c2"),
        (
            TargetName("default", "eu-west-3-1"),
            "admiralty-default-eu-west-3-1-8984c76b96",
            "default-eu-west-3-1-707ea16b4a",
        ),
        (TargetName("", "eu"), "admiralty-eu", "eu"),
        (TargetName("", "eu-west"), "admiralty-eu-west-799e4a5d3a", "eu-west-17481299ed"),
    ],
)
def test_nodes_and_finalizers_are_named_as_in_admiralty(target: TargetName, node: str, finalizer: str) -> None:
    assert (target.node, target.finalizer) == (node, f"multicluster.admiralty.io/{finalizer}")


def test_a_long_name_is_cut_and_stays_its_own() -> None:
    first, second = TargetName("n" * 40, "a" * 40), TargetName("n" * 40, "a" * 39 + "b")
    short = first.finalizer.removeprefix("multicluster.admiralty.io/")
    assert len(short) == 63
    assert first.finalizer != second.finalizer


def test_a_target_is_read_as_it_is_written() -> None:
    for target in (TargetName("", "eu"), TargetName("default", "c2")):
        assert target_named(str(target)) == target


def test_a_child_keeps_its_parents_name_and_gets_five_characters() -> None:
    name = child_name("c1", "default", "web-1")
    assert name.startswith("web-1-")
    assert len(name) == len("web-1-") + 5
    assert name == child_name("c1", "default", "web-1")
    assert name != child_name("c2", "default", "web-1")
    assert len(child_name("c1", "default", "w" * 253)) == 63
