"""Kustomizations, built by `kubectl kustomize` on files that are all there: nothing is fetched."""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hanse.kube.manifest import Obj
from hanse.kube.runtime import Runtime
from hanse.rollouts.sources.confinement import Confinement, ProgramProblem
from hanse.rollouts.sources.documents import read_documents, read_mapping
from hanse.rollouts.sources.helm import shortened
from hanse.rollouts.sources.ordering import install_order
from hanse.rollouts.sources.problem import BROKEN_CHART_SPEC, CHART_ERROR, CHART_REPO_INTERNAL, SourceProblem
from hanse.rollouts.sources.programs import find_program
from hanse.rollouts.sources.settings import SourceSettings
from hanse.rollouts.sources.trees import write_tree

_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
# Fields whose entries may be files, folders or addresses of either.
_PLACES = ("resources", "bases", "components", "generators", "transformers", "validators")
_FORBIDDEN = ("helmCharts", "helmChartInflationGenerator")
_REMOTE = ("http://", "https://")


class Kustomize:
    """Builds kustomizations; who calls it bounds how many at once."""

    def __init__(self, settings: SourceSettings, runtime: Runtime) -> None:
        self._settings = settings
        self._runtime = runtime

    async def build(self, tree: Mapping[str, bytes], path: str, where: str) -> list[Obj]:
        """Return the manifests of the kustomization in a folder of the tree; raises SourceProblem."""
        program = await self._runtime.in_thread(self._program)
        await self._runtime.in_thread(lambda: refuse_remote(tree, path, where))
        folder = await self._runtime.in_thread(lambda: _private_folder(tree))
        try:
            confinement = Confinement(Path(folder.name), self._settings.limits)
            output = await confinement.run([program, "kustomize", posixpath.join("files", path.strip("/"))])
            return await self._runtime.in_thread(
                lambda: install_order(read_documents(output.decode(errors="replace"), f"what {where} builds"))
            )
        except ProgramProblem as problem:
            if not problem.complaint:
                stopped = f"building {where} was stopped: {problem}"
                raise SourceProblem(CHART_ERROR, stopped, transient=problem.transient) from problem
            told = shortened(problem.complaint, f"{folder.name}/files")
            raise SourceProblem(CHART_ERROR, f"{where} cannot be built: {told}") from problem
        finally:
            await self._runtime.in_thread(folder.cleanup)

    def _program(self) -> str:
        found = find_program("kubectl", self._settings.kubectl, "HANSE_KUBECTL")
        if found is None:
            raise SourceProblem(
                CHART_REPO_INTERNAL,
                "kubectl is not installed where the control plane runs; put it on PATH, or let HANSE_KUBECTL name it",
                transient=True,
            )
        return found


def refuse_remote(tree: Mapping[str, bytes], path: str, where: str) -> None:
    """Raise SourceProblem where there is no kustomization, or where one asks for what is not among the files."""
    top = path.strip("/")
    if not any(posixpath.join(top, name) in tree for name in _NAMES):
        raise SourceProblem(BROKEN_CHART_SPEC, f"{where} has no kustomization.yaml in {top or 'its top folder'}")
    folders = {parent for name in tree for parent in _parents(name)}
    for name, content in tree.items():
        folder, _, file = name.rpartition("/")
        if file in _NAMES:
            written = read_mapping(content.decode(errors="replace"), f"{name} of {where}")
            for entry in _outside(written, folder, tree, folders):
                raise SourceProblem(
                    CHART_ERROR, f"{name} of {where} names {entry!r}, which is not among its files; nothing is fetched"
                )


def _outside(written: Obj, folder: str, tree: Mapping[str, bytes], folders: set[str]) -> Iterator[str]:
    yield from (field for field in _FORBIDDEN if written.get(field))
    for field in _PLACES:
        for entry in written.get(field) or ():
            place = posixpath.normpath(posixpath.join(folder, str(entry)))
            written_out = "\n" in str(entry)
            if not written_out and place not in tree and place not in folders:
                yield str(entry)
    for field, value in written.items():
        if field not in _PLACES:
            yield from _addresses(value)


def _addresses(value: Any) -> Iterator[str]:
    """Yield what a field names over HTTP where a file may be named: a text of its own, `path`, `files`, `envs`."""
    if isinstance(value, str):
        if value.startswith(_REMOTE):
            yield value
    elif isinstance(value, list):
        for each in value:
            yield from _addresses(each)
    elif isinstance(value, dict):
        for field in ("path", "files", "envs", "env"):
            for entry in _listed(value.get(field)):
                text = str(entry)
                if text.startswith(_REMOTE) or text.partition("=")[2].startswith(_REMOTE):
                    yield text


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _parents(name: str) -> Iterator[str]:
    parent = posixpath.dirname(name)
    while parent:
        yield parent
        parent = posixpath.dirname(parent)
    yield "."


def _private_folder(tree: Mapping[str, bytes]) -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="hanse-kustomization-", ignore_cleanup_errors=True)
    try:
        write_tree(tree, Path(folder.name, "files"))
    except BaseException:
        folder.cleanup()
        raise
    return folder
