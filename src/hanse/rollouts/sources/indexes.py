"""Which versions of which charts a repository has: read out of its index.yaml, and kept as little JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from hanse.kube.documents import YAML_ERRORS
from hanse.rollouts.sources.skimming import Skimming


class IndexProblem(Exception):
    """Why a text is no index; a part of a sentence."""


class Entry(msgspec.Struct, frozen=True):
    """One version of a chart: where its archive may be had, and its digest where the index says it."""

    version: str
    urls: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """The charts of a repository by name."""

    charts: Mapping[str, tuple[Entry, ...]]

    def entry(self, name: str, version: str) -> Entry | None:
        """Return one version of a chart, as it is written; None where there is none."""
        return next((each for each in self.charts.get(name, ()) if each.version == version), None)


_decoder = msgspec.json.Decoder(dict[str, tuple[Entry, ...]])


def parse_index(text: bytes) -> Index:
    """Read an index.yaml, which may be JSON; raises IndexProblem."""
    if text.lstrip()[:1] == b"{":
        try:
            return _index(orjson.loads(text))
        except orjson.JSONDecodeError:
            pass  # YAML may begin so too
    try:
        return _index(Skimming(text).document())
    except YAML_ERRORS as error:
        raise IndexProblem("it is not valid YAML") from error


def pack_index(index: Index) -> bytes:
    """Return what is kept of an index."""
    return msgspec.json.encode(dict(index.charts))


def unpack_index(kept: bytes) -> Index | None:
    """Return what was kept; None for what is not whole."""
    try:
        return Index(_decoder.decode(kept))
    except msgspec.MsgspecError:
        return None


def _index(document: Any) -> Index:
    if not isinstance(document, dict) or not document.get("apiVersion"):
        raise IndexProblem("it has no apiVersion, so it is no index of charts")
    charts = document.get("entries") or {}
    if not isinstance(charts, dict):
        raise IndexProblem("its entries are not a mapping")
    return Index({str(name): _entries(each) for name, each in charts.items() if isinstance(each, list)})


def _entries(listed: list[Any]) -> tuple[Entry, ...]:
    entries = []
    for each in listed:
        if not isinstance(each, dict) or not isinstance(each.get("version"), str):
            continue
        urls = each.get("urls")
        digest = str(each.get("digest") or "").removeprefix("sha256:").lower()
        links = tuple(str(url) for url in urls) if isinstance(urls, list) else ()
        entries.append(Entry(each["version"], links, digest))
    return tuple(entries)
