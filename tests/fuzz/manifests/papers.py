"""Files that commands are given: `hanse plan -f`, and every other command that reads manifests."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import click

from hanse.cli.paper import federation_of, read_papers
from hanse.cli.yaml_files import read_manifests, read_yaml
from tests.fuzz.manifests.corpus import manifest_of
from tests.fuzz.requests.wording import as_json, as_yaml, bomb, garbled, strange

_FLEET = "\n---\n".join(
    f"apiVersion: clusterregistry.k8s.io/v1alpha1\nkind: Cluster\nmetadata: {{name: {name}, labels: {{at: {name}}}}}"
    for name in "abc"
)
REFUSALS = (click.ClickException,)


def written(chance: random.Random) -> bytes:
    """Return the bytes of a file."""
    luck = chance.random()
    if luck < 0.6:
        wording = as_yaml if chance.random() < 0.6 else as_json
        return b"\n---\n".join(wording(manifest_of(chance)) for _ in range(chance.choice((1, 1, 2, 3))))
    if luck < 0.8:
        return garbled(chance, as_yaml(manifest_of(chance)))
    if luck < 0.85:
        return b"kind: ConfigMap\nmetadata: {name: a}\n" + bomb(chance.choice((5, 9, 30)), chance.choice((2, 9)))
    return strange(chance)[:100_000]


def planned(folder: Path, data: bytes) -> Any:
    """Plan a file as `hanse plan -f FILE --clusters FLEET` does."""
    file, fleet = folder / "x.yaml", folder / "fleet.yaml"
    file.write_bytes(data)
    fleet.write_text(_FLEET)
    federation = federation_of(read_papers([file]), [fleet], [])
    return [(each.title, each.trouble, each.explain()) for each in federation.rehearse_all()]


def listed(folder: Path, data: bytes) -> Any:
    """Read a file as the other commands do."""
    file = folder / "y.yaml"
    file.write_bytes(data)
    return [read_yaml(file, "-f"), list(read_manifests([file], "-f"))]
