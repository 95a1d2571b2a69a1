"""Charts rendered by the real Helm, which only reads files here: no cluster, no repository, no network."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from hanse.kube.manifest import Obj
from hanse.kube.runtime import Runtime
from hanse.rollouts.sources.confinement import Confinement, ProgramProblem
from hanse.rollouts.sources.documents import read_documents
from hanse.rollouts.sources.ordering import install_order
from hanse.rollouts.sources.problem import BROKEN_CHART_SPEC, CHART_ERROR, CHART_REPO_INTERNAL, SourceProblem
from hanse.rollouts.sources.programs import find_program
from hanse.rollouts.sources.settings import MEGABYTE, SourceSettings
from hanse.rollouts.sources.trees import write_tree

_LONGEST_RELEASE = 53
_LONGEST_COMPLAINT = 400
_OWN_SCHEMAS = re.compile(r"https?://json-schema\.org/")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class Helm:
    """Renders charts; who calls it bounds how many at once."""

    def __init__(self, settings: SourceSettings, runtime: Runtime) -> None:
        self._settings = settings
        self._runtime = runtime

    async def render(
        self, tree: Mapping[str, bytes], values: Obj, *, chart: str, release: str, namespace: str
    ) -> list[Obj]:
        """Return a chart's manifests in Helm's order; `chart` names it in the sentence of a SourceProblem."""
        program = await self._runtime.in_thread(self._program)
        written = orjson.dumps(values)
        self._refuse_at_once(chart, release, len(written))
        await self._runtime.in_thread(lambda: refuse_remote_schemas(tree, chart))
        folder = await self._runtime.in_thread(lambda: _private_folder(tree, written))
        try:
            confinement = Confinement(Path(folder.name), self._settings.limits)
            output = await confinement.run(self._command(program, release, namespace), {"HELM_NO_PLUGINS": "1"})
            return await self._runtime.in_thread(lambda: _manifests(output, chart))
        except ProgramProblem as problem:
            raise _problem(problem, chart, folder.name) from problem
        finally:
            await self._runtime.in_thread(folder.cleanup)

    def _program(self) -> str:
        found = find_program("helm", self._settings.helm, "HANSE_HELM")
        if found is None:
            raise SourceProblem(
                CHART_REPO_INTERNAL,
                "helm is not installed where the control plane runs; run `make helm`, put it on PATH, or let "
                "HANSE_HELM name it",
                transient=True,
            )
        return found

    def _refuse_at_once(self, chart: str, release: str, values_bytes: int) -> None:
        if len(release) > _LONGEST_RELEASE:
            raise SourceProblem(
                CHART_ERROR,
                f'the release\'s name "{release}" has {len(release)} characters and Helm takes at most '
                f"{_LONGEST_RELEASE}; give the application a shorter name",
            )
        most = self._settings.limits.values_bytes
        if values_bytes > most:
            raise SourceProblem(
                BROKEN_CHART_SPEC,
                f"the values for {chart} are {values_bytes / MEGABYTE:.1f} MB and must not be more than "
                f"{most / MEGABYTE:g} MB; put large texts into ConfigMaps of their own",
            )

    def _command(self, program: str, release: str, namespace: str) -> list[str]:
        return [
            program,
            "template",
            release,
            "chart",
            f"--namespace={namespace}",
            "--values=values.json",
            "--include-crds",
            "--skip-tests",
            f"--kube-version={self._settings.kube_version}",
        ]


def refuse_remote_schemas(tree: Mapping[str, bytes], chart: str) -> None:
    """Raise SourceProblem where a schema of values refers to anything outside of itself: Helm would go and read it."""
    for path, content in tree.items():
        if path.rpartition("/")[2] != "values.schema.json":
            continue
        try:
            schema = orjson.loads(content)
        except orjson.JSONDecodeError:
            continue  # Helm says what is wrong with it
        named = {str(value) for field, value in _strings(schema) if field == "$id"}
        for field, value in _strings(schema):
            remote = field == "$schema" or (field in _REFERENCES and value.partition("#")[0] not in named | {""})
            if remote and not _OWN_SCHEMAS.match(value):
                raise SourceProblem(
                    CHART_ERROR,
                    f"{path} of {chart} refers to {value!r}, which is not read; put it into the schema itself",
                )


def _strings(value: Any) -> Iterator[tuple[str, str]]:
    """Yield every field that holds a text, at any depth."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            yield from ((field, each) for field, each in current.items() if isinstance(each, str))
            waiting += current.values()
        elif isinstance(current, list):
            waiting += current


def _private_folder(tree: Mapping[str, bytes], values: bytes) -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="hanse-chart-", ignore_cleanup_errors=True)
    try:
        write_tree(tree, Path(folder.name, "chart"))
        Path(folder.name, "values.json").write_bytes(values)
    except BaseException:
        folder.cleanup()
        raise
    return folder


def _manifests(output: bytes, chart: str) -> list[Obj]:
    return install_order(read_documents(output.decode(errors="replace"), f"what {chart} renders"))


def _problem(problem: ProgramProblem, chart: str, folder: str) -> SourceProblem:
    if not problem.complaint:
        return SourceProblem(CHART_ERROR, f"rendering {chart} was stopped: {problem}", transient=problem.transient)
    return SourceProblem(CHART_ERROR, f"{chart} cannot be rendered: {shortened(problem.complaint, folder)}")


def shortened(complaint: str, folder: str) -> str:
    """Return what a program complains about, in one line and without the names of private folders."""
    lines = [line.strip() for line in complaint.replace(f"{folder}/", "").splitlines() if line.strip()]
    begins = next((number for number, line in enumerate(lines) if line.lower().startswith("error:")), len(lines) - 1)
    # What may be warned of before is not the reason, and the advice behind is for people at a terminal.
    told = " ".join(line for line in lines[max(0, begins) :] if not line.startswith("Use --debug"))
    told = re.sub(r"^(?i:error:)\s*", "", told)
    # The place is told first and the cause last.
    half = _LONGEST_COMPLAINT // 2
    return told if len(told) <= _LONGEST_COMPLAINT else f"{told[:half]} … {told[-half:]}"
