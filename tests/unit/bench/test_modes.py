"""Modes of the propagation bench are found by name or by file."""

from pathlib import Path

import pytest

from bench.harness.modes import RAW, load_mode, no_policies


def test_raw_writes_straight_into_the_members() -> None:
    assert load_mode("raw") is RAW
    assert RAW.direct


def test_hanse_needs_nothing_beside_the_deployment() -> None:
    mode = load_mode("hanse")

    assert not mode.direct
    assert mode.shared.__name__ == no_policies.__name__


def test_a_mode_may_live_in_any_file(tmp_path: Path) -> None:
    plugin = tmp_path / "elsewhere.py"
    plugin.write_text("from bench.harness.modes import Mode\nOURS = Mode(direct=True)\n")

    assert load_mode(f"{plugin}:OURS").direct


@pytest.mark.parametrize("name", ["nonesuch", "missing.py:MODE"])
def test_an_unknown_mode_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(SystemExit, match=f"unknown mode '{name}': use raw, hanse, karmada or FILE:NAME"):
        load_mode(name)
