"""Control planes without one of their guards: random worlds notice each of them (`make soak`)."""

import pytest

from tests.simulation.seeds import play_quietly
from tests.soak.broken_control_planes import VARIANTS

pytestmark = pytest.mark.timeout(1800)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_control_plane_without_a_guard_is_caught(variant, monkeypatch):
    variant.remove_guard(monkeypatch)

    # It may break other promises as well, and before.
    outcomes = (play_quietly(seed, themes=variant.themes) for seed in range(variant.seeds))
    caught = (sentence for outcome in outcomes for sentence in outcome.found if sentence.startswith(variant.promise))

    assert next(caught, "")
