"""YAML that a command is given: read, or refused in one sentence that names the option and the line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hanse.cli.failures import Misuse
from hanse.kube.documents import BadDocument, read_values

_SUFFIXES = (".yaml", ".yml", ".json")


def read_yaml(path: Path, option: str) -> Any:
    """Return the one document of a file; raises Misuse."""
    documents = _documents(path, option)
    return documents[0] if documents else None


def read_manifests(paths: Iterable[Path], option: str) -> Iterator[dict[str, Any]]:
    """Yield the manifests of files and folders, Lists unpacked; `-` is what is piped in. Raises Misuse."""
    for given in paths:
        files = sorted(one for one in given.rglob("*") if one.suffix in _SUFFIXES) if given.is_dir() else [given]
        if not files:
            raise Misuse(f"{option}: there is no manifest in {given}; its files must end in {', '.join(_SUFFIXES)}")
        for path in files:
            for document in _documents(path, option):
                yield from _unpacked(document, path, option)


def _unpacked(document: Any, path: Path, option: str) -> Iterator[dict[str, Any]]:
    if document is None:
        return
    if not isinstance(document, dict) or not _is_text(document.get("apiVersion")) or not _is_text(document.get("kind")):
        raise Misuse(f"{option}: {path}: every manifest needs apiVersion and kind")
    if document["kind"] == "List":
        items = document.get("items") or ()
        if not isinstance(items, list | tuple):
            raise Misuse(f"{option}: {path}: items of a List must be a list")
        for item in items:
            yield from _unpacked(item, path, option)
        return
    yield document


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _documents(path: Path, option: str) -> list[Any]:
    try:
        written = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
        return read_values(written, f"{option}: {path}")
    except OSError as error:
        raise Misuse(f"{option}: {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Misuse(f"{option}: {path} is not valid YAML: it is not UTF-8") from error
    except BadDocument as error:
        raise Misuse(str(error)) from error
