"""How a soak shares its time among suites, and what it makes of a seed that breaks a promise."""

from collections import Counter

import pytest

from tests.soak.counts import Count, Counts
from tests.soak.guards import GUARDS, PROMISES
from tests.soak.running import next_seed
from tests.soak.suites import SUITES, Played, Suite, Told, played


def test_suites_take_turns_by_their_shares():
    begun = dict.fromkeys(("engine", "services", "pods"), 0)
    for _ in range(60):
        begun[next_seed(begun, None)] += 1

    assert begun == {"engine": 40, "services": 10, "pods": 10}


def test_a_suite_that_has_its_seeds_leaves_its_time_to_the_others():
    assert next_seed({"engine": 8, "pods": 1}, most=2) == "pods"
    assert next_seed({"engine": 7, "pods": 2}, most=2) == "engine"
    assert next_seed({"engine": 8, "pods": 2}, most=2) is None


def test_a_world_that_itself_breaks_is_a_failure_with_its_command():
    def breaks(_seed):
        raise ValueError("no such thing")

    done = played(Suite("pods", "", breaks), 17)

    assert "no such thing" in done.told.found[0]
    assert done.command == "python -m tests.soak --suites pods --from 17 --seeds 1"


def test_counts_are_gone_on_with(tmp_path):
    kept = tmp_path / "counts.json"
    counts = Counts(5, {"pods": Count()})
    counts.suites["pods"].add(Played("pods", 5, Told(("a promise",)), Counter(death=2), 1.5))
    counts.write(kept)

    again = Counts.read(kept, 99, ["pods", "engine"])

    assert (again.begins, again.seeds, again.faults) == (5, 1, 2)
    assert again.failures == ["python -m tests.soak --suites pods --from 5 --seeds 1"]
    assert again.suites["engine"].seeds == 0


@pytest.mark.parametrize("promise", PROMISES)
def test_every_promise_has_a_guard_that_is_taken_away(promise):
    guards = [guard for guard in GUARDS if guard.promise == promise]

    assert guards
    assert all(guard.suite in SUITES for guard in guards)
