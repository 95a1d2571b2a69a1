"""What a soak has counted so far, suite by suite; it may be kept in a file and gone on with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from tests.soak.suites import Played


@dataclass(slots=True)
class Count:
    """One suite's seeds, faults and failures."""

    seeds: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, played: Played) -> None:
        """Count one more seed."""
        self.seeds += 1
        self.seconds += played.seconds
        self.faults += played.faults
        if played.told.found:
            self.failures.append(played.command)


@dataclass(slots=True)
class Counts:
    """A soak: the seed that it began with, and what was counted of each suite."""

    begins: int
    suites: dict[str, Count]

    @property
    def seeds(self) -> int:
        """How many were played."""
        return sum(count.seeds for count in self.suites.values())

    @property
    def faults(self) -> int:
        """How many faults there were."""
        return sum(count.faults.total() for count in self.suites.values())

    @property
    def failures(self) -> list[str]:
        """The commands that play failing seeds again."""
        return [command for count in self.suites.values() for command in count.failures]

    @classmethod
    def read(cls, path: Path, begins: int, suites: list[str]) -> Counts:
        """Read what was kept, or begin."""
        kept: dict[str, Any] = orjson.loads(path.read_bytes()) if path.exists() else {"begins": begins, "suites": {}}
        counts = {
            name: Count(each["seeds"], each["seconds"], Counter(each["faults"]), each["failures"])
            for name, each in kept["suites"].items()
        }
        return cls(kept["begins"], counts | {name: Count() for name in suites if name not in counts})

    def write(self, path: Path) -> None:
        """Keep it; a write that is cut short leaves what was there before."""
        suites = {
            name: {
                "seeds": each.seeds,
                "seconds": each.seconds,
                "faults": dict(each.faults),
                "failures": each.failures,
            }
            for name, each in self.suites.items()
        }
        draft = path.with_suffix(".new")
        draft.write_bytes(orjson.dumps({"begins": self.begins, "suites": suites}, option=orjson.OPT_INDENT_2))
        draft.replace(path)
