"""The YAML that KubeFed and Hanse are both given: one file a case, and what happens to it afterwards.

`NAME.yaml` is what a user writes. Where there are more files of that name, `NAME.before.yaml` is in cluster1 and
cluster2 before it, `NAME.members.yaml` is what somebody changes there once it has arrived, and `NAME.then.yaml` is what
the user writes next.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CLUSTERS = ("cluster1", "cluster2", "cluster3")
# Which labels the examples expect on clusters.
LABELS = {"cluster2": {"tier": "gold"}}
_FOLDER = Path(__file__).parent / "examples"

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Example:
    """One case: what is written, and what happens before and after, each "" where nothing does."""

    name: str
    written: str
    before: str = ""
    members: str = ""
    then: str = ""

    @property
    def federated(self) -> list[Obj]:
        """The federated objects that it writes, as they are in the end."""
        last = {(obj["kind"], named(obj)): obj for obj in (*manifests(self.written), *manifests(self.then))}
        return [obj for obj in last.values() if obj["apiVersion"].startswith("types.kubefed.io/")]

    @property
    def preferences(self) -> list[Obj]:
        """The preferences that it writes."""
        written = (*manifests(self.written), *manifests(self.then))
        return [obj for obj in written if obj["kind"] == "ReplicaSchedulingPreference"]


def read_examples() -> list[Example]:
    """Return every example in order of its name."""
    return [_read(file.stem) for file in sorted(_FOLDER.glob("*.yaml")) if "." not in file.stem]


def manifests(text: str) -> list[Obj]:
    """Return the objects of a YAML text."""
    return [obj for obj in yaml.safe_load_all(text) if obj]


def named(obj: Obj) -> str:
    """Return an object's namespace and name, as people write them."""
    namespace = obj["metadata"].get("namespace")
    return f"{namespace}/{obj['metadata']['name']}" if namespace else str(obj["metadata"]["name"])


def _read(name: str) -> Example:
    parts = {part: _FOLDER / f"{name}.{part}.yaml" for part in ("before", "members", "then")}
    return Example(
        name,
        (_FOLDER / f"{name}.yaml").read_text(),
        **{part: file.read_text() for part, file in parts.items() if file.exists()},
    )
