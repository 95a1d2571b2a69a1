# ruff: noqa: INP001 - a script, not a package
"""Make the table of Go types' fields that `hanse.kube.schemas.go_shape` and `hanse.apiserver.protobuf` read.

Run as `python tools/schemas/protobuf.py`. The facts are the struct tags of the API types of the release that
components/kubernetes/go.mod pins; a small Go program prints them and this script packs them.
"""

from __future__ import annotations

import json
import lzma
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TARGET = REPOSITORY / "src/hanse/kube/schemas/go_types.json.xz"


def main() -> None:
    """Write the table."""
    program = REPOSITORY / "tools/schemas/protobuf/main.go"
    command = ["go", "-C", str(REPOSITORY / "components/kubernetes"), "run", str(program)]
    table = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    text = json.dumps(table, separators=(",", ":"), sort_keys=True)
    TARGET.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{TARGET.relative_to(REPOSITORY)}: {TARGET.stat().st_size} bytes, {len(table['messages'])} messages")


if __name__ == "__main__":
    main()
