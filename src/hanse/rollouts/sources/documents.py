"""Manifests out of YAML and JSON text, lists of objects unpacked. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hanse.kube.documents import BadDocument, read_values
from hanse.kube.manifest import Obj
from hanse.rollouts.sources.problem import CHART_ERROR, SourceProblem


def read_documents(text: str, where: str) -> list[Obj]:
    """Return the manifests of a text, lists unpacked; `where` names it in the sentence of a SourceProblem."""
    manifests: list[Obj] = []
    for document in _documents(text, where):
        manifests += _unpacked(document, where)
    return manifests


def read_mapping(text: str, where: str) -> Obj:
    """Return the one mapping that a file such as Chart.yaml holds; raises SourceProblem."""
    documents = [document for document in _documents(text, where) if document is not None]
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise SourceProblem(CHART_ERROR, f"{where} does not hold one mapping")
    return documents[0]


def _documents(text: str, where: str) -> list[Any]:
    try:
        return read_values(text, where)
    except BadDocument as error:
        raise SourceProblem(CHART_ERROR, str(error)) from error


def _unpacked(document: Any, where: str) -> Iterator[Obj]:
    if document is None:
        return
    if not isinstance(document, dict):
        raise SourceProblem(CHART_ERROR, f"{where} holds a document that is no manifest")
    kind, api_version = document.get("kind"), document.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(api_version, str) or not kind or not api_version:
        raise SourceProblem(CHART_ERROR, f"{where}: every manifest needs apiVersion and kind")
    if kind.endswith("List") and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _unpacked(_named(item, kind, api_version), where)
        return
    yield document


def _named(item: Any, kind: str, api_version: str) -> Any:
    """Give an item of a typed list its kind, which such items may leave out."""
    if not isinstance(item, dict) or kind == "List" or item.get("kind"):
        return item
    return {"apiVersion": api_version, "kind": kind.removesuffix("List"), **item}
