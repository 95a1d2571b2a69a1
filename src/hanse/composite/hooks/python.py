"""Hooks that are Python functions: in a file, a ConfigMap, the controller object, or an installed module."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.composite.hooks.calling import HookParts, HookUnusable
from hanse.composite.hooks.sources import OnDisk, Sent, Source
from hanse.composite.hooks.worker import Allowance
from hanse.composite.hooks.worker_hook import WorkerHook
from hanse.composite.hooks.workers import Workers
from hanse.composite.spec import PythonSpec
from hanse.kube.manifest import Obj

PROGRAM = "hanse.composite.hooks.python_worker"


def python_hook(spec: PythonSpec, parts: HookParts) -> WorkerHook:
    """Make a hook of a Python function; raises HookUnusable. No process is started before the first call."""
    if not parts.trusted:
        raise HookUnusable(
            "a Python hook would run beside the control plane, which controllers of this cluster may not: "
            "use a webhook or Jsonnet, or put the controller on the federation"
        )
    sources = [] if spec.source is None else [Source(spec.source, parts.objects, "inline.py")]

    def head(code: Sequence[OnDisk | Sent]) -> Obj:
        asked: Obj = {"function": spec.function, "folders": parts.folders}
        match list(code):
            case [OnDisk(path)]:
                return {**asked, "path": path}
            case [Sent(files)]:
                return {**asked, "files": files}
            case _:
                return {**asked, "module": spec.module}

    place = sources[0].title if sources else f"module {spec.module}"
    workers = Workers(PROGRAM, Allowance(spec.timeout, spec.memory), parts)
    return WorkerHook(f'the Python function "{spec.function}" of {place}', workers, sources, head)
