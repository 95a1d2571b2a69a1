"""Control planes without one of their guards: random worlds notice each of them (`make soak`)."""

import pytest

from tests.simulation.seeds import play_quietly
from tests.soak.broken_control_planes import VARIANTS

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_control_plane_without_a_guard_is_caught(variant, monkeypatch):
    variant.remove_guard(monkeypatch)

    outcomes = (play_quietly(seed, themes=variant.themes) for seed in range(variant.seeds))
    found = next((outcome.found for outcome in outcomes if outcome.found), ())

    assert any(sentence.startswith(variant.promise) for sentence in found), found
