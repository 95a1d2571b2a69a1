"""Measures placement: decisions a second on one core, and what the loss of one cluster costs a whole federation.

Nothing but functions is called: no API server, no process. Time is the processor's, so that other work on the machine
counts less.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench.results import RESULTS
from hanse.placement import (
    Aggregated,
    ByFreeCapacity,
    Candidate,
    Decision,
    Division,
    Equally,
    Fleet,
    Placement,
    Preference,
    Preferences,
    Spread,
    State,
    Weighted,
    WeightRule,
    decide,
)
from hanse.placement.ask import ClusterTerm
from hanse.placement.cluster_selector import where

_REQUESTS = {"cpu": 100, "memory": 256 * 1024**2 * 1000}
_DIVISIONS: dict[str, Division] = {
    "equal": Equally(),
    "planner": Preferences({"*": Preference(1)}, rebalance=True),
    "weighted": Weighted((WeightRule(ClusterTerm(), 1), WeightRule(ClusterTerm(where("tier=gold")), 3))),
    "free capacity": ByFreeCapacity(),
    "aggregated": Aggregated(),
}
_REPLICAS = (1, 100, 10_000)
_COLUMNS = ("date", "commit", "command", "clusters", *_DIVISIONS, "told", "lost s")
_LAST = "# Propagation"
_HEADING = f"""# Placement: decisions a second on one core

Pure functions, processor time of one process. A decision: a selector that excludes a few clusters, a spread over at
most 5 of 8 regions, a division of 1 / 100 / 10,000 replicas; every decision is for another workload (targets: 2,000 a
second with 100 clusters, 200 with 1,000). told: the same with the sentence for every cluster. lost: seconds to decide
10,000 workloads of 10 replicas anew when one of 100 clusters is lost, what each held known (target: 10).

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Decisions a second by division and replicas, with every sentence told, and the seconds after a loss."""

    clusters: int
    rates: dict[str, list[float]]
    told: float
    lost: float | None


def fleet_of(count: int) -> Fleet:
    """Return a fleet of clusters in eight regions, each with labels, zones and room."""
    return Fleet(
        Candidate(
            f"cluster-{index:04}",
            {"env": "prod" if index % 10 else "test", "tier": "gold" if index % 3 else "iron", "gen": str(index % 5)},
            provider=("aws", "gcp", "own")[index % 3],
            region=f"region-{index % 8}",
            zones=(f"region-{index % 8}-a",),
            capacity={"cpu": 200_000, "memory": 800 * 1024**3 * 1000},
            free={"cpu": 50_000 + 977 * index % 40_000, "memory": 400 * 1024**3 * 1000},
        )
        for index in range(count)
    )


def measure(count: int, seconds: float, intents: int) -> Measured:
    """Measure everything with so many clusters."""
    fleet = fleet_of(count)
    rates = {
        name: [_rate(fleet, _placement(division), replicas, seconds) for replicas in _REPLICAS]
        for name, division in _DIVISIONS.items()
    }
    told = _rate(fleet, _placement(Equally()), 100, seconds, lambda decision: len(list(decision.verdicts)))
    return Measured(count, rates, told, _after_a_loss(fleet, intents) if intents else None)


def _placement(division: Division) -> Placement:
    looks = isinstance(division, ByFreeCapacity | Aggregated)
    return Placement(
        ClusterTerm(where("env!=test")),
        spread=(Spread("region", 2, 5),),
        division=division,
        requests=_REQUESTS if looks else None,
    )


def _keys() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"team-{number % 97}/workload-{number}"


def _rate(
    fleet: Fleet, placement: Placement, replicas: int, seconds: float, read: Callable[[Decision], object] = id
) -> float:
    keys, done = _keys(), 0
    started = time.process_time()
    taken = 0.0
    while taken <= seconds:
        for _ in range(10):
            read(decide(fleet, placement, replicas=replicas, key=next(keys)))
        done += 10
        taken = time.process_time() - started
    return done / taken


def _after_a_loss(fleet: Fleet, intents: int) -> float:
    keys = _keys()
    placement = _placement(Equally())
    named = [next(keys) for _ in range(intents)]
    held = [decide(fleet, placement, replicas=10, key=key).replicas for key in named]
    lost = fleet[len(fleet) // 2]
    started = time.process_time()
    fleet.put(replace(lost, refusal="it is offline"))
    for key, current in zip(named, held, strict=True):
        decide(fleet, placement, replicas=10, state=State(current), key=key)
    return time.process_time() - started


def table(results: list[Measured]) -> str:
    """Return what was measured, for a person."""
    lines = [f"{'clusters':>8}  {'division':<14}" + "".join(f"{count:>10,}" for count in _REPLICAS) + "  replicas"]
    for found in results:
        for name, rates in found.rates.items():
            lines.append(
                f"{found.clusters:>8}  {name:<14}" + "".join(f"{rate:>10,.0f}" for rate in rates) + "  decisions/s"
            )
        lines.append(f"{found.clusters:>8}  every sentence told: {found.told:,.0f} decisions/s")
        if found.lost is not None:
            lines.append(f"{found.clusters:>8}  one cluster lost: all workloads decided anew in {found.lost:.1f} s")
    return "\n".join(lines)


def result_line(found: Measured, *, commit: str, command: str) -> str:
    """Return the line for RESULTS.md."""
    rates = [" / ".join(f"{rate:,.0f}" for rate in each) for each in found.rates.values()]
    lost = "–" if found.lost is None else f"{found.lost:.1f}"
    cells = [time.strftime("%Y-%m-%d"), commit, f"`{command}`", str(found.clusters), *rates, f"{found.told:,.0f}", lost]
    return f"| {' | '.join(cells)} |"


def add_result(results: Path, line: str) -> None:
    """Add a line under this bench's own heading, which stands before that of the propagation bench."""
    text = results.read_text() if results.exists() else ""
    title = _HEADING.splitlines()[0]
    if title not in text.splitlines():
        above, found, below = text.partition(f"{_LAST}:")
        text = f"{above}{_HEADING}\n{found}{below}"
    before, _, rest = text.partition(title)
    own, separator, after = rest.partition("\n\n# ")
    results.write_text(f"{before}{title}{own.rstrip()}\n{line}\n{separator[1:]}{after}")


def main() -> int:
    """Run the bench, print its table and keep its result."""
    parser = argparse.ArgumentParser(prog="python -m bench.placement", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, to see that the bench works")
    args = parser.parse_args()
    seconds, intents = (0.1, 1_000) if args.quick else (1.0, 10_000)
    results = [measure(100, seconds, intents), measure(1_000, seconds, 0)]
    print(table(results))
    command = shlex.join(["python", "-m", "bench.placement", *sys.argv[1:]])
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    for found in results:
        line = result_line(found, commit=asked.stdout.strip() or "–", command=command)
        add_result(RESULTS, line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
