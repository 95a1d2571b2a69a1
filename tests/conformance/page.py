"""docs/reference/conformance.md: the table of both clusters, which is also the record that partial runs continue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.conformance.causes import cause_of
from tests.conformance.choice import Choice
from tests.conformance.reports import Verdict
from tests.kubernetes.real.components import CHECKOUT

PAGE = CHECKOUT / "docs" / "reference" / "conformance.md"
COMMAND = "make conformance"
BAR = 0.9

_ROW = re.compile(r"^\| (\[sig-.*?) \| (\w+|–) \| (\w+|–) \|$")
_GROUP = re.compile(r"\[(sig-[a-z-]+)\] (.*)")
_NONE = "–"


@dataclass(frozen=True, slots=True)
class Record:
    """How every test ended the last time, by cluster."""

    real: dict[str, str] = field(default_factory=dict)
    embedded: dict[str, str] = field(default_factory=dict)

    def with_verdicts(self, cluster: str, verdicts: Mapping[str, str]) -> Record:
        """Return the record with how tests ended on a cluster now."""
        if cluster == "real":
            return Record({**self.real, **verdicts}, self.embedded)
        return Record(self.real, {**self.embedded, **verdicts})

    def only(self, names: Iterable[str]) -> Record:
        """Return what is recorded of these tests, in their order."""
        kept = list(names)
        return Record(
            {name: self.real[name] for name in kept if name in self.real},
            {name: self.embedded[name] for name in kept if name in self.embedded},
        )

    def verdict(self, cluster: str, name: str) -> str:
        """Return how a test ended on a cluster, "" where it was never played."""
        return (self.real if cluster == "real" else self.embedded).get(name, "")

    def is_open(self, name: str) -> bool:
        """Tell whether a test has not passed on both clusters."""
        return not self.real.get(name) == self.embedded.get(name) == Verdict.PASSED

    @property
    def bar(self) -> list[str]:
        """The tests that the real control plane passes."""
        return [name for name, verdict in self.real.items() if verdict == Verdict.PASSED]

    @property
    def reached(self) -> list[str]:
        """Those of them that the embedded one passes."""
        return [name for name in self.bar if self.embedded.get(name) == Verdict.PASSED]

    @property
    def rest(self) -> list[str]:
        """Those of them that it does not."""
        return [name for name in self.bar if name in self.embedded and name not in self.reached]

    @property
    def unplayed(self) -> list[str]:
        """Those of them that were never played on it."""
        return [name for name in self.bar if name not in self.embedded]

    @property
    def share(self) -> float:
        """How much of what was played on both, and the real control plane passes, the embedded one passes."""
        played = len(self.reached) + len(self.rest)
        return len(self.reached) / played if played else 0.0

    def problems(self) -> list[str]:
        """Say what is not as it should be: too few passed, or one that fails without a cause."""
        found = []
        if self.share < BAR:
            found.append(f"{len(self.reached)} of {len(self.reached) + len(self.rest)} are less than {BAR:.0%}")
        if self.unplayed:
            found.append(
                f"{len(self.unplayed)} that the real control plane passes were not played on the simulated cluster"
            )
        unexplained = [name for name in self.rest if not cause_of(name)]
        found += [f"nobody has said in tests/conformance/causes.py what it lacks for: {name}" for name in unexplained]
        return found


def read_page(text: str) -> Record:
    """Return what a page records."""
    record = Record()
    for line in text.splitlines():
        if row := _ROW.match(line):
            for verdicts, verdict in ((record.real, row[2]), (record.embedded, row[3])):
                if verdict != _NONE:
                    verdicts[row[1]] = verdict
    return record


def write_page(record: Record, choice: Choice, *, date: str) -> str:
    """Return the page."""
    parts = [
        _introduction(record, choice, date),
        _sums(record, choice),
        _rest(record),
        _skips(choice),
        _table(record, choice),
    ]
    return "\n\n".join(parts) + "\n"


def _introduction(record: Record, choice: Choice, date: str) -> str:
    chosen, bar, reached, played = len(choice.chosen), len(record.bar), len(record.reached), len(record.bar)
    played -= len(record.unplayed)
    return f"""# The upstream conformance tests

Kubernetes 1.36 comes with tests that every conformant cluster passes. `{COMMAND}` plays {chosen} of them against
two clusters: a real control plane (etcd, kube-apiserver, kube-controller-manager, kube-scheduler) with Hanse's
simulated nodes, and a simulated cluster on the embedded API server, as `hanse up` makes them. No container runs in
either, so what the real control plane passes is the bar.

**The real control plane passes {bar}. Of these, {played} were played on the simulated cluster, which passes {reached}:
{record.share:.1%}.**

Written by `{COMMAND}`, last on {date}; do not edit. `python -m tests.conformance --help` says how to play a part of it:
what is played again changes only its own lines."""


def _sums(record: Record, choice: Choice) -> str:
    lines = [
        "| group | chosen | real passes | of these, simulated passes | fails | not played |",
        "|---|---|---|---|---|---|",
    ]
    columns = (choice.chosen, record.bar, record.reached, record.rest, record.unplayed)
    for group in dict.fromkeys(_group(name) for name in choice.chosen):
        counts = [sum(_group(name) == group for name in names) for names in columns]
        lines.append(f"| {group} | {' | '.join(map(str, counts))} |")
    lines.append(f"| all | {' | '.join(str(len(names)) for names in columns)} |")
    return "\n".join(lines)


def _rest(record: Record) -> str:
    lines = ["## What the simulated cluster lacks"]
    by_cause: dict[str, list[str]] = {}
    for name in record.rest:
        by_cause.setdefault(cause_of(name) or "Not looked into yet", []).append(name)
    for cause, names in by_cause.items():
        lines += ["", f"{cause}:", "", *(f"- {name}" for name in names)]
    return (
        "\n".join(lines)
        if by_cause
        else "\n\n".join([*lines, "Nothing, of what the real control plane passes and was played."])
    )


def _skips(choice: Choice) -> str:
    lines = ["## Tests that are not played", "", "| why | how many |", "|---|---|"]
    lines += [f"| {reason} | {len(names)} |" for reason, names in choice.left_out.items() if names]
    for reason, names in choice.left_out.items():
        if names:
            lines += ["", f"{reason}:", "", *(f"- {name}" for name in names)]
    return "\n".join(lines)


def _table(record: Record, choice: Choice) -> str:
    lines = ["## Every test", "", "| test | real | simulated |", "|---|---|---|"]
    lines += [
        f"| {name} | {record.real.get(name, _NONE)} | {record.embedded.get(name, _NONE)} |" for name in choice.chosen
    ]
    return "\n".join(lines)


def _group(name: str) -> str:
    match = _GROUP.match(name)
    return match[1] if match else ""
