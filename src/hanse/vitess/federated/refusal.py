"""Why a federated VitessCluster is not taken as it is: a field, and a sentence that says what to write instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Refusal:
    """One thing that is wrong."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"
