# ruff: noqa: INP001 - a script, not a package
"""Make the schema tables of the built-in kinds from the OpenAPI documents that Kubernetes publishes.

Run as `python tools/schemas/definitions.py`. The documents are part of the Go module k8s.io/kubernetes, whose
version components/kubernetes/go.mod pins, so that tables and test components are of one release. Two files come
out of it, beside the code that reads them:

- openapi.json.xz: every definition, as served, for `kubectl explain`;
- structure.json.xz: the same without prose, small enough to be read at start-up.
"""

from __future__ import annotations

import json
import lzma
import subprocess
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
TARGET = REPOSITORY / "src/hanse/kube/schemas"
GVK = "x-kubernetes-group-version-kind"


def module_folder(module: str) -> Path:
    """Return where the Go toolchain keeps a module of the pinned release, downloading it if need be."""
    pinned = REPOSITORY / "components/kubernetes"
    subprocess.run(["go", "-C", str(pinned), "mod", "download", module], check=True)
    command = ["go", "-C", str(pinned), "list", "-m", "-f", "{{.Dir}}", module]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def read_definitions(folder: Path) -> dict[str, Any]:
    """Return every schema of every document; kinds registered under several groups name all of them."""
    definitions: dict[str, Any] = {}
    for document in sorted(folder.glob("*.json")):
        schemas = json.loads(document.read_text()).get("components", {}).get("schemas", {})
        for name, schema in schemas.items():
            known = definitions.setdefault(name, schema)
            for kind in schema.get(GVK, ()):
                if kind not in known[GVK]:
                    known[GVK].append(kind)
    return definitions


def without_prose(schema: Any) -> Any:
    """Return a schema without its descriptions; a property that is called description stays."""
    if isinstance(schema, list):
        return [without_prose(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    bare = {key: without_prose(value) for key, value in schema.items() if key not in ("description", "properties")}
    if "properties" in schema:
        bare["properties"] = {name: without_prose(inner) for name, inner in schema["properties"].items()}
    return bare


def write(path: Path, value: Any) -> None:
    """Write compact JSON, compressed; equal input gives equal bytes."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{path.relative_to(REPOSITORY)}: {path.stat().st_size} bytes")


def main() -> None:
    """Write both tables."""
    definitions = read_definitions(module_folder("k8s.io/kubernetes") / "api/openapi-spec/v3")
    write(TARGET / "openapi.json.xz", definitions)
    write(TARGET / "structure.json.xz", {name: without_prose(schema) for name, schema in definitions.items()})


if __name__ == "__main__":
    main()
