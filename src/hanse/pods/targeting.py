"""What the rooms of pods ask of a source's targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hanse.api.admiralty.names import TargetName
from hanse.clusters.roster import Roster


class Targets(Protocol):
    """The targets of a source."""

    def targets(self) -> Sequence[TargetName]:
        """Return every target there is, whether it can be used now or not."""

    def is_self(self, name: str) -> bool:
        """Tell whether a target is the source itself."""

    def is_leaving(self, name: str) -> bool:
        """Tell whether a target is being removed, and stays for as long as it takes to drain it."""


class SourceRoster(Roster, Targets, Protocol):
    """The targets of a source as an engine and its placeholders depend on them."""
