"""What an operator sets about the sources of manifests, and how much of everything they may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one chart, one download or one rendering may cost."""

    request_seconds: float = 10.0
    connect_seconds: float = 3.0
    index_seconds: float = 10.0
    index_bytes: int = 32 * MEGABYTE
    archive_bytes: int = 20 * MEGABYTE
    unpacked_bytes: int = 50 * MEGABYTE
    unpacked_files: int = 10_000
    # Above what an API server stores in one object, so that it is the first to refuse.
    values_bytes: int = 3 * MEGABYTE
    render_seconds: float = 30.0
    render_memory_bytes: int = 512 * MEGABYTE
    output_bytes: int = 8 * MEGABYTE
    parallel_renders: int = 2
    cache_bytes: int = 512 * MEGABYTE


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Where things are: the cache, the programs, and the folder that `file:///` addresses are relative to.

    Without a cache folder, charts are kept in a temporary one as long as the process lives. Without paths of programs,
    `helm` and `kubectl` are what HANSE_HELM and HANSE_KUBECTL name, else what is on PATH. Without a folder, `file:///`
    is refused.
    """

    cache_dir: Path | None = None
    helm: str = ""
    kubectl: str = ""
    folder: Path | None = None
    # Addresses that are looked up at other ones; None for those that HANSE_CHART_MIRRORS names.
    mirrors: Mapping[str, str] | None = None
    # What charts see as `.Capabilities.KubeVersion`.
    kube_version: str = "1.34.0"
    limits: Limits = field(default_factory=Limits)
