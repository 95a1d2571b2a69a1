# ruff: noqa: INP001 - a script, not a package
"""Writes examples/vitess/first/vitess-operator.yaml: the kinds and controllers of the first Vitess operator."""

from __future__ import annotations

from pathlib import Path

import yaml

from hanse.api.vitess.definitions import VITESS_CRDS
from hanse.vitess.first.controllers import in_jsonnet, vitess_controllers

FILE = Path(__file__).parents[1] / "examples" / "vitess" / "first" / "vitess-operator.yaml"
_HEAD = """\
# The first Vitess operator: its kinds, and a lambda controller for each layer of a VitessCluster.
# Written by `python tools/vitess_operator.py`. The hooks are the files of the folder `hooks`, in a ConfigMap.
"""


def operator_yaml() -> str:
    """Return the file."""
    documents = [*VITESS_CRDS, *vitess_controllers(in_jsonnet)]
    return _HEAD + yaml.safe_dump_all(documents, sort_keys=False, width=120, explicit_start=True, allow_unicode=True)


if __name__ == "__main__":
    FILE.write_text(operator_yaml())
