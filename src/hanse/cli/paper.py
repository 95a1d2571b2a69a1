"""Federations on paper: clusters, policies and objects from files, for `hanse plan` and `hanse explain`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from hanse.api.clusters import CLUSTERS
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.cli.failures import Misuse
from hanse.cli.misfits import misfit_of
from hanse.cli.rehearsal import Federation, PolicyFunction, fleet
from hanse.kube.documents import BadDocument, read_values
from hanse.kube.manifest import Obj
from hanse.placement.policy import read_policy

F = TypeVar("F", bound=Callable[..., Any])

_POLICY_KINDS = (PLACEMENT_POLICIES.kind, CLUSTER_PLACEMENT_POLICIES.kind)
_SUFFIXES = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True)
class Papers:
    """What was found in files: clusters, policies, and everything else."""

    clusters: list[Obj]
    policies: list[Obj]
    objects: list[Obj]


def file_options(command: F) -> F:
    """Add the options that name files of objects, clusters and policies."""
    command = click.option(
        "--lose",
        "lost",
        multiple=True,
        metavar="CLUSTER",
        help="Decide as if this cluster were lost; may be given several times.",
    )(command)
    command = click.option(
        "--policy",
        metavar="FILE.py:FUNCTION",
        help="A Python function from a manifest to a hanse.Placement that counts before every other policy.",
    )(command)
    command = click.option(
        "--clusters",
        "fleet_files",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Files or folders of Cluster objects (and policies); those without a status are taken as ready.",
    )(command)
    return click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Files or folders of objects and policies; - is the standard input.",
    )(command)


def read_papers(files: Sequence[Path]) -> Papers:
    """Read every document of the files; raises Misuse."""
    papers = Papers([], [], [])
    for path in files:
        for where, obj in _documents(path):
            if not isinstance(obj, dict) or not isinstance(obj.get("kind"), str) or not _name(obj):
                raise Misuse(f"{where} is no Kubernetes object: it needs kind and metadata.name")
            if misfit := misfit_of(obj):
                raise Misuse(f"{where}: {misfit}")
            if obj["kind"] == CLUSTERS.kind:
                papers.clusters.append(obj)
            elif obj["kind"] in _POLICY_KINDS:
                if obj.get("apiVersion") != PLACEMENT_POLICIES.api_version:
                    raise Misuse(f"{where}: apiVersion of a {obj['kind']} must be {PLACEMENT_POLICIES.api_version}")
                papers.policies.append(_in_namespace(obj) if obj["kind"] == PLACEMENT_POLICIES.kind else obj)
            else:
                papers.objects.append(_in_namespace(obj) if obj["kind"] != "Namespace" else obj)
    return papers


def federation_of(papers: Papers, fleet_files: Sequence[Path], lost: Sequence[str]) -> Federation:
    """Put a federation together from files; raises Misuse."""
    named = read_papers(fleet_files)
    if named.objects:
        raise Misuse(f"--clusters has a {named.objects[0]['kind']}; only Cluster and policy objects belong there")
    policies = [*named.policies, *papers.policies]
    for policy in policies:
        if problem := read_policy(policy).problem:
            raise Misuse(f"{policy['kind']} {_name(policy)}: {problem}")
    clusters = fleet([*named.clusters, *papers.clusters])
    known = {cluster.name for cluster in clusters}
    if unknown := sorted(set(lost) - known):
        raise Misuse(f"--lose {unknown[0]}: there is no such cluster; there are {', '.join(sorted(known)) or 'none'}")
    federation = Federation(clusters, policies).beside(papers.objects)
    return federation.without(*lost) if lost else federation


def load_policy(reference: str) -> PolicyFunction:
    """Load a function from a Python file: `policies.py:spread_out`; raises Misuse."""
    path, _, name = reference.rpartition(":")
    if not path or not Path(path).is_file():
        raise Misuse(f"--policy {reference}: name a file and a function in it, as policies.py:spread_out")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise Misuse(f"--policy {reference}: {path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    policy: PolicyFunction | None = getattr(module, name, None)
    if policy is None:
        raise Misuse(f"--policy {reference}: {path} has no function {name}")
    return policy


def _documents(path: Path) -> Iterator[tuple[str, Any]]:
    if str(path) == "-":
        yield from _parsed(sys.stdin.read(), "the standard input")
        return
    if not path.exists():
        raise Misuse(f"there is no file {path}")
    files = sorted(each for each in path.rglob("*") if each.suffix in _SUFFIXES) if path.is_dir() else [path]
    for each in files:
        yield from _parsed(_text(each), str(each))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Misuse(f"{path} is not YAML: it is not UTF-8") from error
    except OSError as error:
        raise Misuse(f"{path} cannot be read: {error.strerror}") from error


def _parsed(text: str, where: str) -> Iterator[tuple[str, Any]]:
    try:
        documents = read_values(text, where)
    except BadDocument as error:
        raise Misuse(str(error)) from error
    for place, document in enumerate(documents, start=1):
        if document is None:
            continue
        if isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
            items = document.get("items") or []
            if not isinstance(items, list):
                raise Misuse(f"{where}, document {place}: items of a list must be a list")
            yield from ((f"{where}, document {place}", item) for item in items)
        else:
            yield f"{where}, document {place}", document


def _name(obj: Obj) -> str:
    metadata = obj.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def _in_namespace(obj: Obj) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], "namespace": obj["metadata"].get("namespace") or "default"}}
