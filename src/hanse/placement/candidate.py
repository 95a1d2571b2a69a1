"""What placement knows of a cluster: plain values, read from the registry or from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Effect: TypeAlias = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]

# Resources as whole thousandths: 1.5 CPUs are 1500, a GiB of memory 1073741824000.
Amounts: TypeAlias = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Taint:
    """What keeps work away from a cluster unless the work tolerates it; `since` is in seconds of the epoch."""

    key: str
    value: str = ""
    effect: Effect = "NoSchedule"
    since: float | None = None

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """What work puts up with; `seconds` limits for how long it stays where a NoExecute taint appeared."""

    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: str = ""
    seconds: float | None = None

    def covers(self, taint: Taint) -> bool:
        """Tell whether the taint is put up with."""
        if self.effect and self.effect != taint.effect:
            return False
        if not self.key:
            return self.operator == "Exists"
        return self.key == taint.key and (self.operator == "Exists" or self.value == taint.value)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One cluster as placement sees it.

    `refusal` says why no work may go there now, "" where it may, and `refused_since` since when; `returned` is when it
    came back from having been lost. `capacity` is what
    its nodes can hold in all, `free` what is left of it; None where the cluster did not tell.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""
    refused_since: float | None = None
    returned: float | None = None
    cordoned: bool = False
    taints: tuple[Taint, ...] = ()
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    capacity: Amounts | None = None
    free: Amounts | None = None
