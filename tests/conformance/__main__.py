"""`python -m tests.conformance`: has the upstream tests judge both clusters and keeps docs/reference/conformance.md.

Without options everything is played; a part of it changes only its own lines of the page.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.conformance.choice import Choice, choose, names_of
from tests.conformance.clusters import CLUSTERS
from tests.conformance.page import PAGE, Record, read_page, write_page
from tests.conformance.reports import Outcome, Verdict
from tests.conformance.suite import Suite, listing


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    asked = _parser().parse_args(arguments)
    choice = choose(names_of(listing()))
    names = [name for name in choice.chosen if _is_asked(name, asked)]
    if asked.failed:
        last = _recorded()
        names = [name for name in names if last.is_open(name)]
    if asked.list:
        print("\n".join(names))
        return 0
    clusters = list(CLUSTERS) if asked.against == "both" else [asked.against]
    if asked.check:
        return _check(clusters, names, asked)
    for cluster in clusters:
        _judge(cluster, names, choice, asked)
    problems = _recorded().problems()
    print(
        "\n".join(problems) or "at least 90 % of what a real control plane passes is passed, and the rest is explained"
    )
    return 1 if problems else 0


def _check(clusters: Sequence[str], names: Sequence[str], asked: argparse.Namespace) -> int:
    """Play tests that have passed before, and leave the page as it is; returns 1 if any passes no more."""
    worse = []
    for cluster in clusters:
        passed = [name for name in names if _recorded().verdict(cluster, name) == Verdict.PASSED]

        def tell(name: str, outcome: Outcome, cluster: str = cluster) -> None:
            print(_line(cluster, name, outcome), flush=True)
            if outcome.verdict != Verdict.PASSED:
                worse.append(name)

        _play(cluster, passed, asked, tell)
    print("\n".join(f"passes no more: {name}" for name in worse) or "everything passes that did before")
    return 1 if worse else 0


def _recorded() -> Record:
    return read_page(PAGE.read_text() if PAGE.exists() else "")


def _judge(cluster: str, names: Sequence[str], choice: Choice, asked: argparse.Namespace) -> None:
    def tell(name: str, outcome: Outcome) -> None:
        # At once, so that a run that is stopped has not been for nothing.
        record = _recorded().with_verdicts(cluster, {name: outcome.verdict}).only(choice.chosen)
        PAGE.write_text(write_page(record, choice, date=f"{datetime.now(UTC):%Y-%m-%d}"))
        print(_line(cluster, name, outcome), flush=True)

    _play(cluster, names, asked, tell)


def _line(cluster: str, name: str, outcome: Outcome) -> str:
    first = (outcome.message.splitlines() or [""])[0][:200]
    return f"{cluster}: {outcome.verdict} in {outcome.seconds:.0f} s: {name}{first and f': {first}'}"


def _play(cluster: str, names: Sequence[str], asked: argparse.Namespace, tell: Callable[[str, Outcome], None]) -> None:
    logs = Path(asked.logs or tempfile.mkdtemp(prefix="hanse-conformance-")) / cluster
    print(f"{cluster}: {len(names)} tests, logs in {logs}", flush=True)
    with CLUSTERS[cluster]() as kubeconfig:
        Suite(kubeconfig, logs, seconds=asked.timeout, side_by_side=asked.side_by_side).run(names, tell)


def _is_asked(name: str, asked: argparse.Namespace) -> bool:
    return bool(re.search(asked.focus, name)) and not (asked.skip and re.search(asked.skip, name))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--against", choices=("both", *CLUSTERS), default="both", help="which cluster (default: both)")
    parser.add_argument("--focus", default="", metavar="REGEX", help="only tests whose name matches")
    parser.add_argument("--skip", default="", metavar="REGEX", help="no tests whose name matches")
    parser.add_argument("--failed", action="store_true", help="only tests that did not pass on both the last time")
    parser.add_argument("--timeout", type=float, default=150.0, metavar="S", help="seconds for one test (default: 150)")
    parser.add_argument("--side-by-side", type=int, default=4, metavar="N", help="tests at a time (default: 4)")
    parser.add_argument(
        "--logs", default="", metavar="DIR", help="where the tests' output goes (default: a new folder)"
    )
    parser.add_argument(
        "--check", action="store_true", help="only see that what the page says passes does so; the page stays as it is"
    )
    parser.add_argument("--list", action="store_true", help="only print the names of the tests")
    return parser


if __name__ == "__main__":
    sys.exit(main())
