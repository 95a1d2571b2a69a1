"""A folder as a ConfigMap that `configmap://` sources read: a packed chart, or files as they are."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from hanse.api.names import FEDERATE_ANNOTATION
from hanse.cli.failures import Misuse
from hanse.kube.manifest import Obj
from hanse.kube.names import name_problems

# An API server takes no ConfigMap with more than this in it, counted before it is encoded.
LIMIT_BYTES = 1024 * 1024
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")


@dataclass(frozen=True, slots=True)
class Packed:
    """A ConfigMap, what it is of, and the `chart` or `source` of a template that names it."""

    manifest: Obj
    kind: str
    reference: Obj


def pack(folder: Path, name: str, namespace: str = "") -> Packed:
    """Make the ConfigMap of a folder; raises Misuse where that cannot be."""
    if name_problems(name, "subdomain"):
        raise Misuse(f"--name: {name!r} is no name for a ConfigMap; write lower case letters, digits, '-' and '.' only")
    files = _files(folder)
    if "Chart.yaml" in files:
        return _chart(files, folder, name, namespace)
    kind = "kustomization" if any(each in files for each in _KUSTOMIZATIONS) else "manifests"
    reference = {"source": {kind: {"location": f"configmap://{name}"}}}
    texts = _as_texts(files)
    if texts is None:
        return Packed(_config_map(name, namespace, _archive("files.tgz", archived(files), folder)), kind, reference)
    _require_small(sum(map(len, files.values())), folder)
    return Packed(_config_map(name, namespace, {"data": texts}), kind, reference)


def _chart(files: Mapping[str, bytes], folder: Path, name: str, namespace: str) -> Packed:
    try:
        chart = yaml.safe_load(files["Chart.yaml"])
        called, version = str(chart["name"]), str(chart["version"])
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise Misuse(f"{folder / 'Chart.yaml'}: it must be YAML with a name and a version") from error
    content = _archive("chart.tgz", archived({f"{called}/{path}": files[path] for path in files}), folder)
    reference = {"chart": {"name": called, "version": version, "repoUrl": f"configmap://{name}"}}
    return Packed(_config_map(name, namespace, content), "chart", reference)


def _config_map(name: str, namespace: str, content: Obj) -> Obj:
    # It is for the control plane, and no cluster has any use for it.
    metadata: Obj = {"name": name, "annotations": {FEDERATE_ANNOTATION: "false"}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}


def _archive(key: str, archive: bytes, folder: Path) -> Obj:
    _require_small(len(archive), folder)
    return {"binaryData": {key: b64encode(archive).decode()}}


def _require_small(size: int, folder: Path) -> None:
    if size > LIMIT_BYTES:
        raise Misuse(
            f"{folder} has {size // 1024} KB when packed, and a ConfigMap takes {LIMIT_BYTES // 1024} KB (1 MB): "
            "leave files out, or serve it from a repository"
        )


def _files(folder: Path) -> dict[str, bytes]:
    """Read a folder, hidden files left out; raises Misuse."""
    if not folder.is_dir():
        raise Misuse(f"there is no folder {folder}")
    found: dict[str, bytes] = {}
    size = 0
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if any(part.startswith(".") and part != ".helmignore" for part in relative.parts):
            continue
        if path.is_symlink():
            raise Misuse(f"{path} is a link; put the file itself there, since links are not packed")
        if path.is_file():
            found[relative.as_posix()] = path.read_bytes()
            size += len(found[relative.as_posix()])
        if size > 64 * LIMIT_BYTES:
            raise Misuse(f"{folder} has more than 64 MB; name the folder of one chart or kustomization")
    if not found:
        raise Misuse(f"there is no file in {folder}")
    return found


def _as_texts(files: Mapping[str, bytes]) -> dict[str, str] | None:
    """Return files as texts under their own names, None where a ConfigMap's keys cannot say where they are."""
    try:
        texts = {path: content.decode() for path, content in files.items()}
    except UnicodeDecodeError:
        return None
    return texts if all(_KEY.fullmatch(path) for path in texts) else None


def archived(files: Mapping[str, bytes]) -> bytes:
    """Return a tar.gz of files; the same files give the same bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(files):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(files[path]), 0o644
            archive.addfile(entry, io.BytesIO(files[path]))
    return gzip.compress(raw.getvalue(), compresslevel=9, mtime=0)
