"""Plays hostile cases from seeds and ends with 1 on a fault: python -m tests.fuzz requests|manifests|dns --seed N."""

from __future__ import annotations

import argparse
import sys
import time


def main() -> int:
    """Run one target and say what it saw."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=("requests", "manifests", "dns"))
    parser.add_argument(
        "--seed", type=int, default=1, help="the seed of the first case; each next case has the next one"
    )
    parser.add_argument("--count", type=int, default=1, help="how many cases")
    parser.add_argument("--record", action="store_true", help="append the numbers to bench/RESULTS.md")
    asked = parser.parse_args()
    started = time.monotonic()
    tally = _run(asked.target, asked.seed, asked.count)
    seconds = time.monotonic() - started
    for fault in tally.faults:
        print(fault)
    print(f"{asked.target}: {tally.cases} cases in {seconds:.0f} s, faults: {len(tally.faults)}")
    if asked.record:
        from tests.fuzz.recording import record

        record(asked.target, asked.seed, tally, seconds)
    return 1 if tally.faults else 0


def _run(target, seed, count):
    if target == "requests":
        from tests.fuzz.requests.run import run
    elif target == "manifests":
        from tests.fuzz.manifests.run import run
    else:
        from tests.fuzz.dns.run import run
    return run(seed, count)


if __name__ == "__main__":
    sys.exit(main())
