"""What admission says to an object that it does not let in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an object is not let in: the field, and a sentence that says what to do about it."""

    field: str
    why: str

    def __str__(self) -> str:
        return f"{self.field}: {self.why}"


def annotation_path(key: str) -> str:
    """Return how a sentence names an annotation."""
    return f"metadata.annotations[{key}]"
