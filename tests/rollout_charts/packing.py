"""Packs the charts of this folder as `helm package` would, byte for byte the same whenever it is done."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import yaml

from hanse.kube import Obj

FOLDER = Path(__file__).parent
SHAPES = ("nginx", "shop", "storefront", "reports", "typed")
BAD = ("two-deployments", "two-services", "constant-name", "loop", "syntax")
# Some day in 2019: what is in an archive must not depend on when it was made.
_PACKED_AT = 1_560_000_000


def folder_of(chart: str) -> Path:
    """Return the folder of a chart."""
    return FOLDER / ("bad" if chart in BAD else "") / chart


def packed(chart: str, version: str = "") -> bytes:
    """Return a chart's archive, as another version of it if one is named."""
    files = {path: (folder_of(chart) / path).read_bytes() for path in _paths(folder_of(chart))}
    if version:
        described = {**yaml.safe_load(files["Chart.yaml"]), "version": version}
        files["Chart.yaml"] = yaml.safe_dump(described, sort_keys=False).encode()
    return archive({f"{chart}/{path}": content for path, content in files.items()})


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return files as a compressed archive."""
    out = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=out, mode="wb", mtime=_PACKED_AT) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), _PACKED_AT, 0o644
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def texts(folder: str) -> dict[str, str]:
    """Return the files of a folder without subfolders by name, as a ConfigMap holds them."""
    return {path: (FOLDER / folder / path).read_text() for path in _paths(FOLDER / folder)}


def described(chart: str, version: str, content: bytes) -> Obj:
    """Return a chart's entry in the index of a repository."""
    chart_yaml = yaml.safe_load((folder_of(chart) / "Chart.yaml").read_text())
    return {
        **chart_yaml,
        "version": version,
        "digest": sha256(content).hexdigest(),
        "urls": [file_name(chart, version)],
    }


def file_name(chart: str, version: str) -> str:
    """Return what a chart's archive is called in a repository."""
    return f"{chart}-{version}.tgz"


def _paths(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
