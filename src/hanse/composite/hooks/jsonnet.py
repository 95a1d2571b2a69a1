"""Hooks that are Jsonnet functions of one argument, the request, with libraries that they may import."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from hanse.composite.hooks.calling import HookParts, HookUnusable
from hanse.composite.hooks.sources import OnDisk, Sent, Source
from hanse.composite.hooks.worker import Allowance
from hanse.composite.hooks.worker_hook import WorkerHook
from hanse.composite.hooks.workers import Workers
from hanse.composite.spec import JsonnetSpec, SourceSpec
from hanse.kube.manifest import Obj

PROGRAM = "hanse.composite.hooks.jsonnet_worker"


def jsonnet_hook(spec: JsonnetSpec, parts: HookParts) -> WorkerHook:
    """Make a hook of a Jsonnet function; raises HookUnusable. No process is started before the first call."""
    if find_spec("_gojsonnet") is None:
        raise HookUnusable('Jsonnet hooks need the extra "jsonnet" of Hanse: pip install "hanse[jsonnet]"')
    for index, library in enumerate(spec.libraries):
        if library.inline:
            raise HookUnusable(f"libraries[{index}].inline has no name to be imported by: put it into a ConfigMap")
    wanted: tuple[SourceSpec, ...] = (spec.source, *spec.libraries)
    if not parts.trusted and any(source.path for source in wanted):
        raise HookUnusable(
            "a Jsonnet hook may not name files of the control plane's machine for controllers of this cluster: "
            "put them into a ConfigMap"
        )
    sources = [Source(source, parts.objects, "inline.jsonnet") for source in wanted]
    workers = Workers(PROGRAM, Allowance(spec.timeout, spec.memory), parts)
    return WorkerHook(f"the Jsonnet function of {sources[0].title}", workers, sources, _head)


def _head(code: Sequence[OnDisk | Sent]) -> Obj:
    files: dict[str, str] = {}
    # The hook's own files come last: a library does not take their place.
    for part in reversed(code):
        if isinstance(part, Sent):
            files.update(part.files)
    libraries = [part.path for part in code[1:] if isinstance(part, OnDisk)]
    first = code[0]
    return {
        "main": first.path if isinstance(first, OnDisk) else first.files[0][0],
        "files": files,
        "libraries": libraries,
    }
